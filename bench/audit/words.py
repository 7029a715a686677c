"""Numbers of an audit as text."""

import math


def number(value: float) -> str:
    """Return an epsilon with three digits; NaN is one that the accountant does not give."""
    return "not computed" if math.isnan(value) else f"{value:.3g}"
