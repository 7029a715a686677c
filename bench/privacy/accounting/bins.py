"""Balls in bins: a unit is in one of G bins, drawn uniformly, and takes part in the rounds of its bin alone, which come
up in turn. An upper bound on epsilon. It is too large by about 0.1 % for up to 1,000 bins, epsilon above 0.01, and
exp(epsilon) up to 1e11 delta (epsilon 14 at delta = 1e-5). Beyond that it may be too large by what it helps to know the
bin.

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
"""

import math
from collections.abc import Callable
from functools import lru_cache

import dp_accounting.dp_event as dp
import numpy as np
from scipy.special import ndtr

from bench.errors import InputError
from bench.privacy.accounting.atoms import Atoms
from bench.privacy.accounting.exact import NO_NOISE, gdp_epsilon
from bench.privacy.events import ADD_OR_REMOVE, BallsInBinsDpEvent

POINTS = [2**power for power in range(12, 19)]  # of the grids that are tried
CHANGE = 1e-3  # share of delta by which a grid of half as many points differs at most, where no finer one is tried
STEP = 1e-4  # share of epsilon to which it is found
SMALL = 1e-3  # an epsilon that is not made smaller, though the bin is unknown


def bins_epsilon(atoms: Atoms, neighbors: str, delta: float) -> float:
    """Return the epsilon at delta of one run whose units are in bins.

    Raises:
        InputError: for anything else, and for another relation than "add-or-remove one".
    """
    for atom, times in atoms.items():
        if not isinstance(atom, BallsInBinsDpEvent) or len(atoms) > 1 or times > 1 or neighbors != ADD_OR_REMOVE:
            raise InputError(
                f"accountant bins knows one run in bins under {ADD_OR_REMOVE!r}, not {atom}: take another."
            )
    (atom,) = atoms
    sigma = atom.noise_multiplier
    return math.inf if sigma < NO_NOISE else _epsilon(1 / sigma, atom.num_bins, delta)


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
    step = num_bins * strike / points
    edges = step * np.arange(points + 1)
    with np.errstate(divide="ignore"):
        z = (np.log(edges) + shift**2 / 2) / shift
    mass = np.diff(ndtr(z))
    up = np.clip((np.diff(ndtr(z - shift)) - edges[:-1] * mass) / step, 0.0, mass)  # the share of the upper neighbour
    law = mass - up
    law[1:] += up[:-1]
    return float(_power(law, num_bins) @ (strike - edges[:-1] / num_bins)) + _rounding(strike, num_bins)


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
