"""Bietti et al. 2022, personalised private SGD: sweeps, bounds, and a second implementation."""

NORMS_SHOWN = {"ppsgd_tags": 0.01, "ppsgd_tags_made_up": 0.01, "ppsgd_cnn": 0.1}  # shown, where it is not 10


def norm_shown(sweep: str) -> float:
    """Return the clipping norm at which the figures show a sweep."""
    return NORMS_SHOWN.get(sweep, 10.0)
