"""Margins of claims: by how much a claim is met or missed, and whether chance over repetitions can explain it.

A margin is one comparison, or several of which `every` one, `some`, or `at_least` a number must be met. It has two
p-values, one for "it is met" and one for "it is missed": a claim holds or fails where one of them is small, and is
undecided where neither is. Each comparison uses Student's test, one-sided at 2.5 %: the 95 % interval is on one side of
0. The test takes differences to be normal. Those that are skewed towards the side of a verdict are decided too often.
"""

import functools
import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit

LEVEL = 0.025  # one-sided: a 95 % interval on one side of 0
MOST_REPETITIONS = 10_000

PAIRED = "paired over repetitions"
APART = "two means, as if independent"
MEAN = "interval of the mean"
ONE = "one repetition"
COMPUTED = "computed, without randomness"


class NotTestable(Exception):
    """Runs that a claim needs are missing; the message says which."""


class Margin(NamedTuple):
    """The margin of a comparison, or of several.

    value: by how much it is met; negative where it is missed, -inf where what should win diverged.
    unit: of value and half.
    basis: what the spread was estimated from, or why there is none.
    p_holds, p_fails: probability of a value at least as large if the comparison were not met, and at least as small
        if it were met; 1 where the spread is not known.
    half: half of the 95 % interval of value; NaN where there is none.
    repetitions: number of repetitions that value is the mean of.
    needed: repetitions at which a value of this size would decide, at the observed spread; NaN where none would.
    among: number of comparisons of which this is the deciding one.
    corrected: factor by which the level is divided for their number.
    edges: settings behind it that are the smallest or largest tried, "alpha Q = 1: step_size = 5, the smallest tried".
    deviation: standard deviation of value from one repetition, from which `needed` follows; NaN where it is not known.
    fixed: standard error of value that no repetition reduces, such as that of a published number.
    comparison: what is compared, in words, by which the deciding one of several is told.
    """

    value: float
    unit: str
    basis: str
    p_holds: float = 1.0
    p_fails: float = 1.0
    half: float = math.nan
    repetitions: int = 0
    needed: float = math.nan
    among: int = 1
    corrected: int = 1
    edges: tuple[str, ...] = ()
    deviation: float = math.nan
    fixed: float = 0.0
    comparison: str = ""

    @property
    def decided(self) -> bool:
        """Whether chance over repetitions is unlikely to explain it, one way or the other."""
        return min(self.p_holds, self.p_fails) < LEVEL

    def on(self, *edges: str) -> "Margin":
        """Return the same margin with these edges of grids; empty names are ignored."""
        return self._replace(edges=tuple(sorted({*self.edges, *filter(None, edges)})))

    def named(self, *words: str) -> "Margin":
        """Return the same margin with words, if not empty, before those that say what is compared."""
        return self._replace(comparison=", ".join(filter(None, [*words, self.comparison])))

    def __str__(self) -> str:
        if not np.isfinite(self.value):
            size = "missed without bound" if np.isneginf(self.value) else "met without bound"
        else:
            interval = f" ± {self.half:.2g}" if np.isfinite(self.half) else ""
            size = f"{self.value:+.3g}{interval} {self.unit}"
        which = f"the deciding one of {self.among}" + f": {self.comparison}" * bool(self.comparison)
        number = f", {self.repetitions}" if self.repetitions > 1 else ""
        return f"{size} ({f'{which}; ' * (self.among > 1)}{self.basis}{number})"

    @property
    def to_decide(self) -> str:
        """What would decide it, as text; empty where it is decided."""
        if self.decided:
            return ""
        if not np.isfinite(self.half):
            return "further repetitions"
        if not self.needed <= MOST_REPETITIONS:
            return f"more than {MOST_REPETITIONS:,} repetitions"
        return f"about {self.needed:,.0f} repetitions"

    @property
    def rests_on(self) -> str:
        """The edges as text, similar ones joined."""
        alike: dict[str, list[str]] = {}
        for edge in self.edges:
            *what, which = edge.split(": ", 1)
            alike.setdefault(which, []).extend(what)
        return "; ".join(which + _listed(whats) for which, whats in alike.items())


def _listed(names: list[str], most: int = 3) -> str:
    """Names in brackets, the first few of many; nothing where there are none."""
    more = [f"{len(names) - most} more"] if len(names) > most + 1 else []
    return f" ({', '.join([*names[:most], *more] if more else names)})" if names else ""


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


def paired(values: Iterable[float], unit: str, grid: float = 0.0) -> Margin:
    """Return the margin of differences, one per repetition, that must be above 0 on average.

    Args:
        values: -inf or NaN means that what should win diverged, which misses. inf means that what it is compared with
            diverged: in all of several repetitions, which meets; in some, which are left out, so that only the others
            can meet it, and nothing can miss it.
        unit: of the values, and of the grid.
        grid: what the values are rounded to, which is their least standard deviation: a few rounded values may be equal
            by chance.
    """
    values = np.asarray(values, float)
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
        rest = paired(values[~without], unit, grid)
        basis = f"{rest.basis}, without {without.sum()} of {count} in which the other diverged"
        return rest._replace(p_fails=1.0, basis=basis)
    error = max(values.std(ddof=1), grid) / math.sqrt(count)
    return estimated(values.mean(), error, count - 1, count, unit, PAIRED)


def apart(difference: float, first: tuple[float, int], second: tuple[float, int], unit: str) -> Margin:
    """Return the margin of a difference of two means by Welch's test, from half of each 95 % interval and the
    repetitions.

    The means are taken as independent. Where repetitions share their data, as most do, the true interval is smaller,
    and `paired` is preferable if the single repetitions are available.
    """
    count = min(first[1], second[1])
    if count < 2:
        return Margin(_or_missed(difference), unit, ONE, repetitions=count)
    parts = [_error(half, number) ** 2 for half, number in (first, second)]
    if not sum(parts) > 0:
        return estimated(difference, 0.0 if sum(parts) == 0 else math.nan, 1, count, unit, APART)
    freedom = sum(parts) ** 2 / (parts[0] ** 2 / (first[1] - 1) + parts[1] ** 2 / (second[1] - 1))
    return estimated(difference, math.sqrt(sum(parts)), freedom, count, unit, APART)


def of_mean(value: float, half: float, count: int, unit: str) -> Margin:
    """Return the margin of a mean that must be above 0, from half of its 95 % interval."""
    if count < 2:
        return Margin(_or_missed(value), unit, ONE, repetitions=int(count))
    return estimated(value, _error(half, count), count - 1, count, unit, MEAN)


def within(difference: float, half: float, count: int, tolerance: float, unit: str) -> Margin:
    """Return the margin of a mean difference that must be within a tolerance: two one-sided tests.

    Args:
        difference: mean over repetitions.
        half: half of its 95 % interval.
        count: of repetitions.
        tolerance: above which the two count as different.
        unit: of all of these.
    """
    both = every([of_mean(tolerance + sign * difference, half, count, unit) for sign in (1, -1)])
    return both._replace(among=1)


def computed(value: float, unit: str, basis: str = COMPUTED) -> Margin:
    """Return the margin of a comparison without randomness; a missing number means diverged, and counts as missed."""
    value = _or_missed(value)
    return Margin(value, unit, basis, p_holds=float(value <= 0), p_fails=float(value > 0))


def _or_missed(value: float) -> float:
    return -math.inf if np.isnan(value) else float(value)


def _error(half: float, count: int) -> float:
    return half / float(stdtrit(count - 1, 1 - LEVEL))


# ---- Several ----


def at_least(count: int, margins: Iterable[Margin]) -> Margin:
    """Return the margin where at least `count` of several comparisons must be met.

    Its p-values are those of Benjamini and Heller 2008 for partial conjunctions, after Bonferroni, which are valid
    under any dependence of the m comparisons. p_holds is m - count + 1 times the count-th smallest p_holds. The whole
    is missed where m - count + 1 comparisons are, so p_fails is count times the (m - count + 1)-th smallest p_fails.

    Raises:
        ValueError: where fewer than count margins have a value.
    """
    margins = _present(margins)
    others = len(margins) - count + 1
    if not 1 <= count <= len(margins):
        raise ValueError(f"{count} of {len(margins)} comparisons cannot be met")
    surest = sorted(margins, key=lambda margin: (margin.p_holds, -margin.value))
    most_missed = sorted(margins, key=lambda margin: (margin.p_fails, margin.value))
    met, missed = [m for m in surest if m.value > 0], [m for m in most_missed if m.value <= 0]
    if len(met) >= count:
        one, times = met[count - 1], others
        needed = sorted((_needed(m, m.p_holds, times) for m in met), key=_unknown_last)[count - 1]
    else:
        one, times = missed[others - 1], count
        needed = sorted((_needed(m, m.p_fails, times) for m in missed), key=_unknown_last)[others - 1]
    resting = [one] if count == 1 and met else margins  # the others are not needed
    return one._replace(
        p_holds=min(1.0, others * surest[count - 1].p_holds),
        p_fails=min(1.0, count * most_missed[others - 1].p_fails),
        needed=needed,
        among=sum(margin.among for margin in margins),
        corrected=times * one.corrected,
    ).on(*(edge for margin in resting for edge in margin.edges))


def every(margins: Iterable[Margin]) -> Margin:
    """Return the margin where all must be met: its p-value is the largest; missed where one is, after Holm's
    correction."""
    margins = _present(margins)
    return at_least(len(margins), margins)


def some(margins: Iterable[Margin]) -> Margin:
    """Return the margin where one must be met: met where one is met, after Holm's correction; missed where all are
    missed."""
    return at_least(1, margins)


def _present(margins: Iterable[Margin]) -> list[Margin]:
    """Return the margins with a value; margins without repetitions have none.

    Raises:
        NotTestable: where no margin has a value.
    """
    present = [margin for margin in margins if not np.isnan(margin.value)]
    if not present:
        raise NotTestable("no repetition has everything that is compared")
    return present


def _needed(margin: Margin, p: float, count: int) -> float:
    """Return the repetitions that would decide a margin as one of `count`; its own number where it is decided."""
    if count * p < LEVEL:
        return float(margin.repetitions)
    if np.isnan(margin.deviation):
        return margin.needed
    return repetitions_needed(margin.value, margin.deviation, LEVEL / (count * margin.corrected), margin.fixed)


def _unknown_last(needed: float) -> float:
    return math.inf if np.isnan(needed) else needed
