"""Bellet et al. 2018, private coordinate descent: sweeps, bounds, and a second implementation."""
