"""The likelihood-ratio membership attack (LiRA; Carlini, Chien, Nasr, Song, Terzis, Tramer 2022), and its error rates.

The attacker has the score of every unit in many runs, each of which had about half of the units. For a unit it fits one
Gaussian to the scores of the runs that had the unit (in) and another to those of the others (out), always without the
run that it judges, and decides by the logarithm of the ratio of the two densities.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import special, stats

FEWEST = 3  # runs with and as many without a unit, so that two of each are left when one run is left out
OWN_VARIANCE = 64  # from so many runs on, every unit has its own variances, as in the paper
DRAWS = 200  # of the bootstrap
LEVEL = 0.95


class Rate(NamedTuple):
    """A share of decisions with its interval."""

    share: float
    low: float
    high: float


class Rates(NamedTuple):
    """The result of an attack.

    at: the true-positive rate at each false-positive rate that was asked for.
    auc: the area under the curve of these two rates; 1/2 is guessing.
    units: number of units that were judged.
    """

    at: dict[float, Rate]
    auc: Rate
    units: int


def likelihood_ratios(scores: np.ndarray, members: np.ndarray, *, own_variance: bool | None = None) -> np.ndarray:
    """Return log N(score; in) - log N(score; out) of every unit in every run, from the other runs.

    Args:
        scores: of every unit, [run, unit]; larger where a unit looks more like a member.
        members: whether the run had the unit, [run, unit].
        own_variance: whether a unit has variances of its own; otherwise the two are those of all units together. The
            default follows the paper: with fewer than 64 runs a unit's own variances are too uncertain.

    Returns:
        float64 [run, unit]; NaN for units with fewer than three runs of either kind.
    """
    own_variance = len(scores) >= OWN_VARIANCE if own_variance is None else own_variance
    centred = scores.astype(np.float64) - scores.mean(axis=0, dtype=np.float64)
    # A floor that only matters where the scores of a unit do not vary at all.
    floor = (1e-9 * np.maximum(np.abs(scores).max(initial=0.0), 1.0)) ** 2

    def log_density(presence: np.ndarray) -> np.ndarray:
        """Return the log-density of every score under the Gaussian of the other runs of one kind."""
        sums = np.where(presence, centred, 0.0)
        others = presence.sum(axis=0) - presence
        counts = np.where(others >= FEWEST - 1, others, np.nan)
        mean = (sums.sum(axis=0) - sums) / counts
        squares = (np.square(sums).sum(axis=0) - np.square(sums)) - counts * np.square(mean)
        if own_variance:
            variance = squares / (counts - 1)
        else:
            pooled = np.nansum(squares, axis=1, keepdims=True) / np.nansum(counts - 1, axis=1, keepdims=True)
            variance = np.broadcast_to(pooled, scores.shape)
        variance = np.maximum(variance, floor)
        return -0.5 * (np.square(centred - mean) / variance + np.log(2 * np.pi * variance))

    with np.errstate(invalid="ignore", divide="ignore"):
        ratios = log_density(members) - log_density(~members)
    judgeable = (members.sum(axis=0) >= FEWEST) & ((~members).sum(axis=0) >= FEWEST)
    return np.where(judgeable, ratios, np.nan)


def rates(ratios: np.ndarray, members: np.ndarray, at: Sequence[float], *, seed: int, draws: int = DRAWS) -> Rates:
    """Return the attack's rates with 95 % intervals.

    One threshold serves all units and runs. It is the smallest that keeps the false-positive rate, so that ties and
    steps never favour the attack.

    Decisions on the same run share its noise, and decisions on the same unit share its Gaussians and its data, so they
    count for less than as many independent ones. The variance of a rate, with that of its threshold, is found by a
    bootstrap that draws runs and units again at once (Owen 2007), and is rather too large than too small. The interval
    is that of Clopper and Pearson for the number of independent decisions that would have this variance (Korn and
    Graubard 1998). Where the variance is found to be 0, only as many decisions as runs are counted.

    Args:
        ratios: [run, unit]; units that are NaN somewhere are left out.
        members: [run, unit].
        at: false-positive rates.
        seed: of the bootstrap.
        draws: of the bootstrap.
    """
    judgeable = ~np.isnan(ratios).any(axis=0)
    ratios, members = ratios[:, judgeable], members[:, judgeable]
    runs, units = ratios.shape
    if not (units and members.any() and not members.all()):
        undefined = Rate(np.nan, np.nan, np.nan)
        return Rates(dict.fromkeys(at, undefined), undefined, units)
    order = np.argsort(-ratios, axis=None, kind="stable")
    ranked = ratios.ravel()[order]
    ends = np.append(ranked[1:] != ranked[:-1], True)  # where a group of equal ratios ends
    is_member = members.ravel()[order]

    def rates_and_area(weight: np.ndarray) -> np.ndarray:
        """Return the true-positive rates and the area, for weights of the decisions in their order."""
        member_weight = np.append(0.0, np.cumsum(np.where(is_member, weight, 0.0))[ends])
        other_weight = np.append(0.0, np.cumsum(np.where(is_member, 0.0, weight))[ends])
        if not (member_weight[-1] and other_weight[-1]):
            return np.full(len(at) + 1, np.nan)
        tpr, fpr = member_weight / member_weight[-1], other_weight / other_weight[-1]
        places = [np.searchsorted(fpr, rate * (1 + 1e-12), side="right") - 1 for rate in at]
        return np.append(tpr[places], np.trapezoid(tpr, fpr))

    estimates = rates_and_area(np.ones(runs * units))
    rng = np.random.default_rng([seed, 0xA77AC])
    resampled = []
    for _ in range(draws):
        by_run = rng.multinomial(runs, np.full(runs, 1 / runs))
        by_unit = rng.multinomial(units, np.full(units, 1 / units))
        resampled.append(rates_and_area(np.outer(by_run, by_unit).ravel()[order].astype(np.float64)))
    deviations = np.nanstd(np.array(resampled), axis=0, ddof=1)
    num_members = int(members.sum())
    by_rate = {
        rate: _clopper_pearson(estimates[place], deviations[place], num_members, runs) for place, rate in enumerate(at)
    }
    width = stats.t.ppf((1 + LEVEL) / 2, max(runs - 1, 1)) * deviations[-1]
    return Rates(by_rate, Rate(estimates[-1], max(estimates[-1] - width, 0.0), min(estimates[-1] + width, 1.0)), units)


def _clopper_pearson(share: float, deviation: float, limit: int, runs: int) -> Rate:
    """Return the interval of a share of `limit` decisions whose standard deviation is known."""
    tail = (1 - LEVEL) / 2
    number = min(share * (1 - share) / deviation**2, limit) if deviation > 0 and 0 < share < 1 else runs
    # The deviation is itself uncertain, as one of `runs` draws.
    number *= (stats.norm.ppf(tail) / stats.t.ppf(tail, max(runs - 1, 1))) ** 2
    hits = share * number
    low = special.betaincinv(hits, number - hits + 1, tail) if hits > 0 else 0.0
    high = special.betaincinv(hits + 1, number - hits, 1 - tail) if hits < number else 1.0
    return Rate(float(share), float(low), float(high))


def largest_rate(epsilon: float, delta: float, fpr: float) -> float:
    """Return the largest true-positive rate that (epsilon, delta)-DP allows at a false-positive rate, at most 1."""
    true_negative = 1 - fpr
    with np.errstate(over="ignore"):
        return float(min(np.exp(epsilon) * fpr + delta, 1 - np.exp(-epsilon) * (true_negative - delta), 1.0))
