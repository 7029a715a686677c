"""Gao et al. 2024: localized minibatch SGD without a trusted server."""
