"""Bhaskar et al. 2025, DP-SGD with federated averaging: sweeps."""
