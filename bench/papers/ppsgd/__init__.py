"""Bietti et al. 2022, personalised private SGD: sweeps, bounds, and a second implementation."""
