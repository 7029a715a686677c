"""Bietti et al. 2022: personalised private SGD."""
