"""Gao et al. 2024, localized minibatch SGD: sweeps, formulas, and a second implementation."""
