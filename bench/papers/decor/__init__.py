"""Allouah et al. 2024, noise shared by neighbours: sweeps."""
