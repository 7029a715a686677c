"""Liu et al. 2022, mean-regularised multi-task learning: a sweep."""
