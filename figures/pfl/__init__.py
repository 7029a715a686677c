"""Bhaskar et al. 2025: DP-SGD and federated averaging."""
