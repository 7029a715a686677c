"""Balls in bins: a unit is in one of G bins, drawn uniformly, and takes part in the rounds of its bin alone, which come
up in turn. Upper bounds on epsilon. For one draw the bound is too large by about 0.1 % for up to 1,000 bins, epsilon
above 0.01, and exp(epsilon) up to 1e11 delta (epsilon 14 at delta = 1e-5). Beyond that, and where bins are drawn anew
with noise multipliers below 0.5, it may be too large by what it helps to know the bin.

Let the unit be removed, with all others fixed, and let L be the likelihood ratio of what is released with the unit over
what is released without it. In bin j the unit would have added v_t, |v_t| <= C, to each of its k rounds t, whose noise
is sigma C Z_t. With u_t = v_t / (sigma C),

    L = (1 / G) sum_j Y_j,   Y_j = exp(sum over the rounds t of bin j of <u_t, Z_t> - |u_t|^2 / 2).

A message v_t may depend on what was released before, but given that, <u_t, Z_t> is normal. So where all |v_t| = C, the
Y_j are independent and log-normal, exp(a N - a^2 / 2) with a = sqrt(k) / sigma, whatever the messages are. Shorter
messages make a conditional mean of such an L. Both deltas are means of convex functions of L,

    removed: E (L - exp(eps))_+ = 1 - exp(eps) + E (exp(eps) - L)_+,   added: E (1 - exp(eps) L)_+,

so they are the largest where all |v_t| = C. (Chua et al. 2025, arXiv 2412.16802, and Choquette-Choo et al. 2025, arXiv
2410.06266, estimate the same by Monte Carlo; Feldman and Shenfeld 2025, "Efficient privacy loss accounting for
subsampling and random allocation", compute it numerically, as here.)

Here each Y_j is rounded at random to one of its two neighbours on a grid, without a change of its mean. This makes the
mean of a convex function larger, so any grid gives an upper bound. G of them are added by Fourier transforms. The
difference of 1 - exp(eps) and the mean beside it is why large epsilons have no tight bound.

Where bins are drawn anew, once for each turn (random allocation: a unit is in one of G rounds of each), turns compose.
Here the rounded L on one grid is a pair of laws, without the unit and with it, that dominates the true pair at every
epsilon, of either sign, and so do their compositions. What lies beyond the grid counts as revealed. The law is then one
of privacy losses, which dp_accounting composes. A unit in k of t rounds, drawn at random, reveals at most what k such
turns of floor(t / k) rounds do (Feldman and Shenfeld 2025, arXiv 2502.08202).
"""

import math
from collections import Counter
from collections.abc import Callable
from functools import lru_cache, reduce

import dp_accounting.dp_event as dp
import numpy as np
from dp_accounting.pld import pld_pmf
from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution
from scipy.special import ndtr, ndtri

from bench.errors import InputError
from bench.privacy.accounting.atoms import Atoms
from bench.privacy.accounting.exact import NO_NOISE, gdp_epsilon
from bench.privacy.events import ADD_OR_REMOVE, BallsInBinsDpEvent

POINTS = [2**power for power in range(12, 19)]  # of the grids that are tried
CHANGE = 1e-3  # share of delta by which a grid of half as many points differs at most, where no finer one is tried
STEP = 1e-4  # share of epsilon to which it is found
SMALL = 1e-3  # an epsilon that is not made smaller, though the bin is unknown
BEYOND = 1e-2  # share of delta that all turns together may have beyond their grids, which counts as revealed
LOST = 1e-2  # of the probability with the unit: a grid that misses it by more says nothing
LEAST = 1e-15  # of the probability; what has smaller losses counts as if it had this one
MOST_LOSSES = 1e5  # on the grid of the privacy losses of a turn


def bins_epsilon(atoms: Atoms, neighbors: str, delta: float) -> float:
    """Return the epsilon at delta of one run whose units are in bins, or of turns for each of which they draw a bin.

    Raises:
        InputError: for anything else, and for another relation than "add-or-remove one".
    """
    alone = sum(atoms.values()) == 1
    for atom in atoms:
        if not isinstance(atom, BallsInBinsDpEvent) or neighbors != ADD_OR_REMOVE or not (alone or atom.afresh):
            raise InputError(
                f"accountant bins knows one run in bins under {ADD_OR_REMOVE!r}, not {atom}: take another."
            )
    if any(atom.noise_multiplier < NO_NOISE for atom in atoms):
        return math.inf
    if alone:
        (atom,) = atoms
        return _epsilon(1 / atom.noise_multiplier, atom.num_bins, delta)
    return _composed_epsilon(frozenset(atoms.items()), delta)


@lru_cache(maxsize=1024)
def _composed_epsilon(atoms: frozenset[tuple[BallsInBinsDpEvent, int]], delta: float) -> float:
    """Return the least epsilon at delta that is known for bins drawn anew; see the module's docstring."""
    known_bins = Counter()
    for atom, times in atoms:
        known_bins[dp.GaussianDpEvent(atom.noise_multiplier)] += times
    high = gdp_epsilon(known_bins, delta)
    if high <= SMALL or all(atom.num_bins == 1 for atom, _ in atoms):
        return high
    beyond = BEYOND * delta / sum(times for _, times in atoms)
    laws = {atom: _law_of_ratio(1 / atom.noise_multiplier, atom.num_bins, beyond) for atom, _ in atoms}
    if not all(abs(float(ratio @ law) - 1) < LOST for ratio, law in laws.values()):
        return high  # there is so little noise that the grid has no place for what is likely without the unit
    spreads = [math.sqrt(float(law @ np.square(ratio - 1))) for ratio, law in laws.values()]
    longest = max(math.log(ratio[-1]) for ratio, _ in laws.values())
    step = max(min(min(spreads) / 10, 2e-3), longest / MOST_LOSSES)
    losses = [_loss(*laws[atom], atom.num_bins, step).self_compose(times) for atom, times in atoms]
    composed = reduce(lambda loss, further: loss.compose(further), losses)
    return min(high, float(composed.get_epsilon_for_delta(delta)))


def _law_of_ratio(shift: float, num_bins: int, beyond: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of a rounded likelihood ratio L, from 0 on, and their probabilities without the unit; with it,
    about `beyond` is missing.
    """
    longest = math.exp(min(shift**2 / 2 - shift * float(ndtri(beyond)), 500.0))  # of the unit's own bin, with the unit
    others = num_bins - 1 + 8 * math.sqrt((num_bins - 1) * math.expm1(min(shift**2, 500.0)))
    points = POINTS[-1]
    step = (longest + others) / points
    law = np.maximum(_power(_rounded_law(step * np.arange(points + 1), shift), num_bins), 0.0)
    return step / num_bins * np.arange(points), law


def _loss(ratio: np.ndarray, law: np.ndarray, num_bins: int, step: float) -> PrivacyLossDistribution:
    """Return the privacy losses of a law of L, on a grid of that step, for units that are removed and added."""
    with_unit = ratio * law
    beyond = max(1 - float(with_unit.sum()), 0.0) + _rounding(ratio[-1], num_bins)
    above = np.append(np.cumsum(law[::-1])[::-1], 0.0), np.append(np.cumsum(with_unit[::-1])[::-1], 0.0)
    below = np.append(0.0, np.cumsum(law)), np.append(0.0, np.cumsum(with_unit))
    least = ratio[np.searchsorted(below[1], LEAST)]
    ends = math.floor(math.log(least) / step), math.ceil(math.log(ratio[-1]) / step)
    strike = np.exp(step * np.arange(ends[0], ends[1] + 1))
    place = np.searchsorted(ratio, strike)
    removed = above[1][place] - strike * above[0][place] + beyond
    strike = np.exp(step * np.arange(-ends[1], -ends[0] + 1))
    place = np.searchsorted(ratio, 1 / strike)
    added = below[0][place] - strike * below[1][place]
    losses = [
        pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(step, first, last, _falling(deltas))
        for deltas, (first, last) in ((removed, ends), (added, (-ends[1], -ends[0])))
    ]
    return PrivacyLossDistribution(*losses)


def _falling(deltas: np.ndarray) -> np.ndarray:
    """Return deltas that fall, in [0, 1], and are at least those given, which do but for rounding."""
    return np.clip(np.maximum.accumulate(deltas[::-1])[::-1], 0.0, 1.0)


@lru_cache(maxsize=1024)
def _epsilon(shift: float, num_bins: int, delta: float) -> float:
    """Return the least epsilon, to STEP, whose delta is known to be at most `delta`.

    A unit's bin, if known, reveals more, so the closed form for one bin is an upper bound.
    """
    low, high = 0.0, gdp_epsilon({dp.GaussianDpEvent(1 / shift): 1}, delta)
    if num_bins == 1 or high <= SMALL:
        return high
    if bins_delta(low, shift, num_bins, delta) <= delta:
        return low
    while high - low > STEP * high:
        middle = (low + high) / 2
        low, high = (low, middle) if bins_delta(middle, shift, num_bins, delta) <= delta else (middle, high)
    return high


def bins_delta(epsilon: float, shift: float, num_bins: int, enough: float = 0.0) -> float:
    """Return an upper bound on the delta at epsilon >= 0 of G bins, for a unit that is added or removed.

    Args:
        shift: a = sqrt(k) / sigma, of a unit in the k rounds of its bin together, over the noise.
        num_bins: G.
        enough: a bound of at most this is not made tighter.
    """
    strike = math.exp(min(epsilon, 500.0))
    if _rounding(strike, num_bins) > enough > 0:
        return 1.0

    def removed(points):
        return 1 - strike + _below(strike, shift, num_bins, points)

    def added(points):
        return strike * _below(1 / strike, shift, num_bins, points)

    return min(max(_refined(removed, enough), _refined(added, enough)), 1.0)


def _refined(bound: Callable[[int], float], enough: float) -> float:
    """Return the bound on the first grid where it is at most `enough`, or where finer grids would hardly change it or
    are not expected to make it as small as `enough`: once each change is at most half of the one before, all further
    changes together are no larger than the last.
    """
    value = change = math.inf
    for points in POINTS:
        previous, value = value, bound(points)
        before, change = change, abs(previous - value)
        if value <= enough or change <= CHANGE * abs(value):
            break
        if change <= before / 2 < math.inf and value - change > enough > 0:
            break
    return value


def _below(strike: float, shift: float, num_bins: int, points: int) -> float:
    """Return an upper bound on E (strike - L)_+, of L as in the module's docstring.

    What is at or above the end of the grid, G times the strike, adds nothing. So the grid needs no more than that.
    """
    edges = num_bins * strike / points * np.arange(points + 1)
    law = _power(_rounded_law(edges, shift), num_bins)
    return float(law @ (strike - edges[:-1] / num_bins)) + _rounding(strike, num_bins)


def _rounded_law(edges: np.ndarray, shift: float) -> np.ndarray:
    """Return the law of a Y_j that is rounded to one of its two neighbours on a grid, but for the last edge."""
    with np.errstate(divide="ignore"):
        z = (np.log(edges) + shift**2 / 2) / shift
    mass = np.diff(ndtr(z))
    up = np.clip((np.diff(ndtr(z - shift)) - edges[:-1] * mass) / edges[1], 0.0, mass)  # share of the upper neighbour
    law = mass - up
    law[1:] += up[:-1]
    return law


def _rounding(strike: float, num_bins: int) -> float:
    """Return the allowance for rounding in the law and its Fourier transforms; tests find less than half of it, for 3
    to 10,000 bins.
    """
    return (1e-13 + 1e-15 * num_bins) * strike


def _power(law: np.ndarray, times: int) -> np.ndarray:
    """Return the law of the sum of independent variables with this law, as far as the grid reaches."""
    power = None
    while True:
        spectrum = np.fft.rfft(law, 2 * len(law))
        if times % 2:
            power = law if power is None else _cut(np.fft.rfft(power, 2 * len(law)) * spectrum, len(law))
        times //= 2
        if not times:
            assert power is not None
            return power
        law = _cut(spectrum**2, len(law))


def _cut(spectrum: np.ndarray, points: int) -> np.ndarray:
    """Return the first half of a convolution. Numbers below 0 by rounding stay, since to raise them adds up."""
    return np.fft.irfft(spectrum, 2 * points)[:points]
