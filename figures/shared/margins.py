"""Margins of claims: by how much a claim is met or missed, and whether chance over repetitions can explain it.

A margin is one comparison, or several of which `every` one or `some` must be met. It has two p-values, one for "it is
met" and one for "it is missed": a claim is decided where one of them is small, and open where neither is. Each
comparison uses Student's test, one-sided at 2.5 %: the 95 % interval is on one side of the threshold. The test takes
differences to be normal. Those that are skewed towards the side of a verdict are decided too often.
"""

import functools
import math
import operator
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit

from bench.errors import InputError

LEVEL = 0.025  # one-sided: a 95 % interval on one side of 0
MOST_REPETITIONS = 10_000

PAIRED = "paired over repetitions"
APART = "two means, as if independent"
ONE = "one repetition"
COMPUTED = "computed, without randomness"


class NotTestable(InputError):
    """Runs that a figure or claim needs are missing; the message says which."""


def need(there: Any, missing: str) -> None:
    """Raise NotTestable, which says what is missing, unless it is there."""
    if not there:
        raise NotTestable(missing)


class Margin(NamedTuple):
    """The margin of a comparison, or of several.

    value: by how much it is met; negative where it is missed, -inf where what should win diverged.
    unit: of value, half and threshold.
    basis: what the spread was estimated from, or why there is none.
    p_holds, p_fails: probability of a value at least as large if the comparison were not met, and at least as small
        if it were met; 1 where the spread is not known.
    half: half of the 95 % interval of value; NaN where there is none.
    repetitions: number of repetitions that value is the mean of.
    needed: repetitions at which a value of this size would decide, at the observed spread; NaN where none would.
    corrected: factor by which the level is divided for the number of comparisons.
    edges: settings behind it that are the smallest or largest tried, "alpha Q = 1: step_size = 5, the smallest tried".
    deviation: standard deviation of value from one repetition, from which `needed` follows; NaN where it is not known.
    fixed: standard error of value that no repetition reduces, such as that of a published number.
    comparison: what is compared, in words, by which the deciding one of several is told.
    threshold: what the estimate must be above.
    parts: the comparisons of which this is the deciding one; empty for a single one.
    """

    value: float
    unit: str
    basis: str
    p_holds: float = 1.0
    p_fails: float = 1.0
    half: float = math.nan
    repetitions: int = 0
    needed: float = math.nan
    corrected: int = 1
    edges: tuple[str, ...] = ()
    deviation: float = math.nan
    fixed: float = 0.0
    comparison: str = ""
    threshold: float = 0.0
    parts: tuple["Margin", ...] = ()

    @property
    def estimate(self) -> float:
        """The number that must be above the threshold."""
        return self.value + self.threshold

    @property
    def all(self) -> tuple["Margin", ...]:
        """The single comparisons."""
        return self.parts or (self,)

    def on(self, *edges: str) -> "Margin":
        """Return this margin with these edges of grids; empty names are ignored."""
        return self._replace(edges=tuple(sorted({*self.edges, *filter(None, edges)})))

    def named(self, *words: str) -> "Margin":
        """Return this margin with words, if not empty, before those that say what is compared."""
        parts = tuple(part.named(*words) for part in self.parts)
        return self._replace(comparison=", ".join(filter(None, [*words, self.comparison])), parts=parts)


# ---- One comparison ----


def estimated(
    value: float, error: float, freedom: float, repetitions: float, unit: str, basis: str, fixed: float = 0.0
) -> Margin:
    """Return the margin of an estimate, tested against 0 with its standard error by Student's distribution.

    Args:
        value: must be above 0; NaN means diverged, and counts as missed.
        error: its standard error; 0 where the value is the same in all repetitions, which then counts as computed.
        freedom: degrees of freedom of that error.
        repetitions: behind the value; for unequal groups, the number that would have this error.
        unit: of value and error.
        basis: what the error was estimated from.
        fixed: the part of the error that no repetition reduces.
    """
    if not np.isfinite(value) or error == 0:
        return computed(value, unit, basis)._replace(repetitions=int(repetitions))
    ratio = value / error
    deviation = math.sqrt(max(error**2 - fixed**2, 0.0) * repetitions)
    return Margin(
        value=float(value),
        unit=unit,
        basis=basis,
        p_holds=float(stdtr(freedom, -ratio)),
        p_fails=float(stdtr(freedom, ratio)),
        half=float(stdtrit(freedom, 1 - LEVEL) * error),
        repetitions=int(repetitions),
        needed=repetitions_needed(value, deviation, fixed=fixed),
        deviation=deviation,
        fixed=fixed,
    )


def repetitions_needed(value: float, deviation: float, level: float = LEVEL, fixed: float = 0.0) -> float:
    """Return the fewest repetitions at which a mean of this size and standard deviation differs from 0; NaN at a mean
    of 0.

    fixed: a standard error that remains with any number of repetitions.
    """
    if value == 0:
        return math.nan
    counts = np.arange(2, MOST_REPETITIONS + 1)
    enough = _quantiles(level) * np.sqrt(deviation**2 / counts + fixed**2) < abs(value)
    return float(counts[enough.argmax()]) if enough.any() else math.inf


@functools.cache
def _quantiles(level: float) -> np.ndarray:
    """Quantiles of Student's distribution, for means of 2, 3, ... repetitions."""
    return stdtrit(np.arange(1, MOST_REPETITIONS), 1 - level)


def paired(values: Iterable[float], unit: str, threshold: float = 0.0) -> Margin:
    """Return the margin of differences, one per repetition, that must be above a threshold on average.

    Args:
        values: -inf or NaN means that what should win diverged, which misses. inf means that what it is compared with
            diverged: in all of several repetitions, which meets; in some, which are left out, so that only the others
            can meet it, and nothing can miss it.
        unit: of the values and of the threshold.
        threshold: what their mean must be above.
    """
    values = np.asarray(values, float) - threshold
    return _paired(values, unit)._replace(threshold=threshold)


def _paired(values: np.ndarray, unit: str) -> Margin:
    count, without = len(values), np.isposinf(values)
    if not count:
        return Margin(math.nan, unit, PAIRED)
    if not (np.isfinite(values) | without).all():
        return computed(-math.inf, unit, PAIRED)._replace(repetitions=count)
    if count < 2:
        return Margin(float(values[0]), unit, ONE, repetitions=1)
    if without.all():
        return computed(math.inf, unit, PAIRED)._replace(repetitions=count)
    if without.any():
        rest = _paired(values[~without], unit)
        basis = f"{rest.basis}, without {without.sum()} of {count} in which the other diverged"
        return rest._replace(p_fails=1.0, basis=basis)
    return estimated(values.mean(), values.std(ddof=1) / math.sqrt(count), count - 1, count, unit, PAIRED)


def computed(value: float, unit: str, basis: str = COMPUTED) -> Margin:
    """Return the margin of a comparison without randomness; a missing number means diverged, and counts as missed."""
    value = -math.inf if np.isnan(value) else float(value)
    return Margin(value, unit, basis, p_holds=float(value <= 0), p_fails=float(value > 0))


# ---- Several ----


def every(margins: Iterable[Margin]) -> Margin:
    """Return the margin where all must be met: its p-value is the largest; missed where one is, after Holm's
    correction."""
    return _combined(margins, 1)


def some(margins: Iterable[Margin]) -> Margin:
    """Return the margin where one must be met: met where one is met, after Holm's correction; missed where all are
    missed."""
    return _combined(margins, -1)


def under_each(margins: Iterable[Margin]) -> Margin:
    """Return the margin of the same comparison under several guesses at a setting that the paper leaves open: met where
    it is met under each of them, missed where it is missed under each, and open where they differ."""
    met, missed = every(margins := list(margins)), some(margins)
    shown = met if missed.value > 0 else missed
    differ = met.value <= 0 < missed.value
    return shown._replace(
        p_holds=met.p_holds, p_fails=missed.p_fails, parts=met.parts, needed=math.nan if differ else shown.needed
    )


def _combined(margins: Iterable[Margin], sign: int) -> Margin:
    """Return the margin of several comparisons of which all (sign 1) or one (sign -1) must be met.

    One comparison on the other side decides against it, with a p-value times their number; for it, the p-value is the
    largest. Margins without repetitions have no value, and are left out.

    Raises:
        NotTestable: where no margin has a value.
    """
    margins = [margin for margin in margins if not np.isnan(margin.value)]
    need(margins, "no repetition has everything that is compared")
    p_for, p_against = map(operator.attrgetter, ("p_holds", "p_fails") if sign > 0 else ("p_fails", "p_holds"))
    against, count = [m for m in margins if (m.value > 0) == (sign < 0)], len(margins)
    if against:
        one, times = min(against, key=lambda m: (p_against(m), sign * m.value)), count
        needed = min((_needed(m, p_against(m), times) for m in against), key=_unknown_last)
    else:
        one, times = max(margins, key=lambda m: (p_for(m), -sign * m.value)), 1
        needed = max((_needed(m, p_for(m), times) for m in margins), key=_unknown_last)
    p_values = max(map(p_for, margins)), min(1.0, count * min(map(p_against, margins)))
    resting = [one] if against and sign < 0 else margins  # the others are not needed
    return one._replace(
        p_holds=p_values[sign < 0],
        p_fails=p_values[sign > 0],
        needed=needed,
        corrected=times * one.corrected,
        parts=tuple(part for margin in margins for part in margin.all),
    ).on(*(edge for margin in resting for edge in margin.edges))


def _needed(margin: Margin, p: float, count: int) -> float:
    """Return the repetitions that would decide a margin as one of `count`; its own number where it is decided."""
    if count * p < LEVEL:
        return float(margin.repetitions)
    if np.isnan(margin.deviation):
        return margin.needed
    return repetitions_needed(margin.value, margin.deviation, LEVEL / (count * margin.corrected), margin.fixed)


def _unknown_last(needed: float) -> float:
    return math.inf if np.isnan(needed) else needed
