"""Kalinin and Lampert 2024, noise correlated over rounds: sweeps."""
