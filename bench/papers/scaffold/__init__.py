"""Noble et al. 2022, private SCAFFOLD: a sweep."""
