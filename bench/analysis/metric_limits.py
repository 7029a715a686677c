"""The values that a metric can have. Figures and tables cut intervals to them, CSV files keep the whole intervals."""

import math

import numpy as np
import pandas as pd

FROM_0 = ("excess_", "squared_error", "rmse")  # in the names of metrics that are never negative


def limits(metric: str) -> tuple[float, float]:
    """Return the smallest and the largest possible value of a metric, by its name; infinite where the name does not
    tell."""
    if any(fragment in metric for fragment in FROM_0):
        return 0.0, math.inf
    return (0.0, 1.0) if "accuracy" in metric or metric.endswith("error") else (-math.inf, math.inf)


def can_diverge(metric: str) -> bool:
    """Return whether a metric, by its name, is never negative and has no largest value: risks, losses, squared
    errors."""
    return limits(metric) == (0.0, math.inf) or metric.endswith("loss")


def are_shares(values: pd.Series) -> bool:
    """Return whether a column has shares: its name is that of a share, and no value lies beyond 0 and 1."""
    finite = values[np.isfinite(values)]
    return limits(str(values.name)) == (0.0, 1.0) and bool(finite.between(0.0, 1.0).all())


def cut(value, low, high, metric: str):
    """Return the ends of a mean's interval, cut to the limits of its metric; unchanged where the mean is beyond them.

    Args:
        value, low, high: numbers, or columns of them.
        metric: its name.
    """
    smallest, largest = limits(metric)
    fits = (smallest <= value) & (value <= largest)
    return tuple(np.where(fits, np.clip(end, smallest, largest), end) for end in (low, high))


def within(table: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return a table of means with their intervals "low" and "high", which are `cut`."""
    low, high = cut(table[metric], table["low"], table["high"], metric)
    return table.assign(low=low, high=high)
