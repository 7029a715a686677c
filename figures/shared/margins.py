"""By how much a claim is met or missed, against the noise over repetitions."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from bench.analysis.select import half_width

PAIRED = "paired over repetitions"
APART = "intervals of two means, as if independent"
MEAN = "interval of the mean"
BEYOND = "the intervals are counted in"
EACH = "in the repetition where it is smallest, all must meet it"
ONE = "one repetition"
OF_MEANS = "read off means; the numbers say what chance leaves open"
COUNTED = "a count"
COMPUTED = "computed, no chance in it"


class Margin(NamedTuple):
    """How far a comparison is from turning.

    value: by how much it is met; negative where it is missed, -inf where what should win diverged.
    unit: of value and half.
    basis: what the noise was taken from, or why there is none: one of the constants above.
    half: half of the 95 % interval of value; NaN where there is none.
    among: how many comparisons the claim consists of, of which this is the tightest.
    """

    value: float
    unit: str
    basis: str
    half: float = np.nan
    among: int = 1

    @property
    def clear(self) -> bool | None:
        """Whether chance over repetitions is unlikely to turn it (95 %); None where that cannot be said."""
        return bool(abs(self.value) > self.half) if np.isfinite(self.half) else None

    def __str__(self) -> str:
        if not np.isfinite(self.value):
            size = "missed without bound" if np.isneginf(self.value) else "met without bound"
        else:
            interval = f" ± {self.half:.2g}" if np.isfinite(self.half) else ""
            size = f"{self.value:+.3g}{interval} {self.unit}"
        chance = {True: ", beyond chance", False: ", within chance", None: ""}[self.clear]
        tightest = f"tightest of {self.among}; " if self.among > 1 else ""
        return f"{size}{chance} ({tightest}{self.basis})"


def measured(value: float, unit: str, basis: str, half: float = np.nan) -> Margin:
    """Of one comparison; no number is one that diverged, and misses."""
    return Margin(-np.inf if np.isnan(value) else float(value), unit, basis, float(half))


def paired(values, unit: str) -> Margin:
    """Of differences, one a repetition, that must be above 0 on average; -inf or NaN is one that diverged."""
    values = np.asarray(values, float)
    if not len(values):
        return Margin(np.nan, unit, PAIRED)
    if not np.isfinite(values).all():
        return Margin(np.inf if np.isposinf(values[~np.isfinite(values)]).all() else -np.inf, unit, PAIRED)
    if len(values) < 2:
        return Margin(float(values[0]), unit, ONE)
    return Margin(float(values.mean()), unit, PAIRED, float(half_width(values.std(ddof=1), len(values))))


def apart(difference: float, first_half: float, second_half: float, unit: str) -> Margin:
    """Of the difference of two means that are there with their intervals alone.

    The two are added as if independent; repetitions that share their data, as most do, make the true interval smaller.
    """
    return measured(difference, unit, APART, np.hypot(first_half, second_half))


def tightest(margins: Iterable[Margin]) -> Margin | None:
    """The comparison that decides: the most clearly missed or, where all are met, the one least clear of chance."""
    margins = [margin for margin in margins if not np.isnan(margin.value)]
    if not margins:
        return None
    return min(margins, key=_clearance)._replace(among=sum(margin.among for margin in margins))


def _clearance(margin: Margin) -> tuple[bool, float]:
    measure = margin.half if np.isfinite(margin.half) and margin.half > 0 else 1.0
    return margin.value > 0, margin.value / measure
