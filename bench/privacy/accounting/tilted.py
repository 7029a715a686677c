"""Composed privacy losses at small deltas, below what a Fourier transform in double precision leaves of a tail (about
1e-12): the losses are tilted before they are added, as in the theory of large deviations.

Let p be the masses of one round's loss on a grid. With K(l) = log sum p(x) e^(l x) the tilted masses
p(x) e^(l x - K(l)) add up to 1 as well, and T of them compose to

    tilted_T(x) = p_T(x) e^(l x - T K(l)),   so   delta(eps) = sum over x > eps of p_T(x) (1 - e^(eps - x))
                = e^(T K(l) - l eps) sum over x > eps of tilted_T(x) e^(-l (x - eps)) (1 - e^(eps - x)).

At the l that minimises (T K(l) - log delta) / l, the tilted sum has its mean just above eps, so that rounding is
relative to delta itself. What lies outside the window of the transform is at most what Chernoff's bound leaves there,
and is added, as is the rounding. So the result is an upper bound wherever the masses of a round are.

A round is discretised by connecting the dots (Doroshenko et al. 2022): the mass of the loss between two points of the
grid is divided among the two so that it is the same under both data sets. The masses are kept as logarithms, so that
they are exact to many digits however small they are.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_ndtr, logsumexp, softmax

OUTSIDE = 1e-13  # tilted mass that may lie outside the window, on either side
ROUNDING = 1e-12  # tilted mass that is added for the rounding of the transforms
LONGEST = 2**24  # points of the window
STEEPEST = (-12.0, 15.0)  # log l


class Losses(NamedTuple):
    """Masses of one round's privacy loss on a grid.

    first: index of the first point, whose loss is that times the step.
    log_mass: [point], -inf for none.
    infinite: mass of an infinite loss.
    """

    first: int
    log_mass: np.ndarray
    infinite: float

    def at(self, step: float) -> np.ndarray:
        """The loss at each point, [point]."""
        return (self.first + np.arange(len(self.log_mass))) * step


def gaussian_losses(sigma: float, rate: float, step: float, lost: float) -> list[Losses]:
    """Return the losses of a Gaussian on a Poisson sample where one unit is removed, and where it is added (the same
    without sampling).

    Args:
        sigma: noise multiplier.
        rate: of sampling, in (0, 1].
        step: of the grid.
        lost: mass that may be counted as an infinite loss, and at most what is moved up from far below.
    """
    reach = sigma * math.sqrt(2 * math.log(1 / lost))
    exponent = (2 * np.array([-reach, 1 + reach]) - 1) / (2 * sigma**2)
    least, most = np.logaddexp(math.log1p(-rate) if rate < 1 else -math.inf, math.log(rate) + exponent)
    ends = math.floor(least / step), math.ceil(most / step)
    removed = _connected(ends[0] + np.arange(ends[1] - ends[0] + 1), sigma, rate, step, added=False)
    if rate == 1:
        return [removed]
    return [removed, _connected(-ends[1] + np.arange(ends[1] - ends[0] + 1), sigma, rate, step, added=True)]


def _connected(index: np.ndarray, sigma: float, rate: float, step: float, *, added: bool) -> Losses:
    """Return the masses at consecutive points of the grid; what is below the first is moved up to it."""
    edges, sign = index * step, -1 if added else 1
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        log_ratio = np.log1p(-(1 - rate) * np.exp(-sign * edges)) + sign * edges - math.log(rate)
        z = np.where(np.isnan(log_ratio), -np.inf, sigma**2 * log_ratio + 0.5)  # where the loss is the edge
        z = np.concatenate([[-sign * np.inf], z, [sign * np.inf]])
        low, high = (z[1:], z[:-1]) if added else (z[:-1], z[1:])
        without, moved = (_log_mass((low - mean) / sigma, (high - mean) / sigma) for mean in (0.0, 1.0))
        with_unit = np.logaddexp(math.log1p(-rate) + without, math.log(rate) + moved) if rate < 1 else moved
        log_p, log_q = (without, with_unit) if added else (with_unit, without)
    return _dots(index, log_p[1:-1], log_q[1:-1], step, below=log_p[0])._replace(infinite=math.exp(log_p[-1]))


def laplace_losses(pure: float, step: float) -> Losses:
    """Return the losses of Laplace noise that is pure-DP by itself: e with probability 1/2, -e with e^-e / 2, and
    between them of density e^((x - e) / 2) / 4.
    """
    last = math.ceil(pure / step)
    index = np.arange(-last, last + 1)
    ends = np.clip(index * step, -pure, pure)
    widths = np.diff(ends) / 2
    with np.errstate(divide="ignore"):
        log_p = (ends[1:] - pure) / 2 + np.log(-np.expm1(-widths) / 2)
        log_q = (-ends[:-1] - pure) / 2 + np.log(-np.expm1(-widths) / 2)
    half = math.log(0.5)
    log_p[-1], log_q[-1] = np.logaddexp(log_p[-1], half), np.logaddexp(log_q[-1], half - pure)
    log_p[0], log_q[0] = np.logaddexp(log_p[0], half - pure), np.logaddexp(log_q[0], half)
    return _dots(index, log_p, log_q, step)


def _dots(index: np.ndarray, log_p: np.ndarray, log_q: np.ndarray, step: float, below: float = -math.inf) -> Losses:
    """Return masses at consecutive points, of intervals between them with these log masses under the two data sets,
    [interval].

    Args:
        below: log of the mass below the first point, which is moved up to it.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        upper = -np.expm1(log_q + index[:-1] * step - log_p) / -math.expm1(-step)  # the share of the upper point
        upper = np.clip(np.where(np.isnan(upper), 1.0, upper), 0.0, 1.0)
        to_lower, to_upper = log_p + np.log1p(-upper), log_p + np.log(upper)
        return Losses(int(index[0]), np.logaddexp(np.append(to_lower, -np.inf), np.append(below, to_upper)), 0.0)


def _log_mass(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the log of the standard normal mass between two ends, from the tail that is nearer."""
    right = low > 0
    less, more = log_ndtr(np.where(right, -high, low)), log_ndtr(np.where(right, -low, high))
    return np.where(more > less, more + np.log(-np.expm1(np.minimum(less - more, 0.0))), -np.inf)


def epsilon_at(parts: Sequence[tuple[Losses, int]], step: float, delta: float) -> float:
    """Return the epsilon at which the delta of composed losses falls to `delta`; NaN where the window is too long.

    Args:
        parts: losses on one grid, each with the number of its rounds.
    """
    infinite = sum(times * losses.infinite for losses, times in parts)
    if infinite >= delta:
        return math.inf
    tables = [(losses.log_mass, losses.at(step), times) for losses, times in parts]

    def cumulant(tilt: float) -> float:
        return math.fsum(times * np.asarray(logsumexp(log_mass + tilt * x)) for log_mass, x, times in tables)

    def chernoff(log_tilt: float) -> float:
        return (cumulant(math.exp(log_tilt)) - math.log(delta)) / math.exp(log_tilt)

    found: Any = minimize_scalar(chernoff, bounds=STEEPEST, method="bounded", options={"xatol": 1e-3})
    tilt: float = math.exp(found.x)
    high: float = chernoff(math.log(tilt))
    if high <= 0:
        return 0.0
    whole = cumulant(tilt)
    tilted = [np.asarray(softmax(log_mass + tilt * x)) for log_mass, x, _ in tables]
    mean = math.fsum(times * float(mass @ x) for mass, (_, x, times) in zip(tilted, tables, strict=True))
    length = _window(cumulant, tilt, mean, step)
    if length > LONGEST:
        return math.nan
    middle, spectrum, offset = round(mean / step), np.ones(length // 2 + 1, complex), 0
    for mass, (losses, times) in zip(tilted, parts, strict=True):
        around = losses.first + int(np.argmax(mass))
        place = (losses.first - around + np.arange(len(mass))) % length
        spectrum = spectrum * np.fft.rfft(np.bincount(place, mass, length)) ** times
        offset += times * around
    composed = np.roll(np.fft.irfft(spectrum, length), (offset - middle + length // 2) % length)
    losses_at = (middle - length // 2 + np.arange(length)) * step

    def spent(epsilon: float) -> float:
        first = int(np.searchsorted(losses_at, epsilon, side="right"))
        beyond = losses_at[first:] - epsilon
        inside = float(composed[first:] @ (np.exp(-tilt * beyond) * -np.expm1(-beyond)))
        return math.exp(min(whole - tilt * epsilon, 700.0)) * (inside + 2 * OUTSIDE + ROUNDING) + infinite

    low = 0.0
    if spent(low) <= delta:
        return low
    while high - low > 1e-9 * high:
        between = (low + high) / 2
        low, high = (low, between) if spent(between) <= delta else (between, high)
    return high


def _window(cumulant: Callable[[float], float], tilt: float, mean: float, step: float) -> int:
    """Return the points of a window around the mean outside which there is no more than OUTSIDE on either side, by
    Chernoff's bound; a power of 2."""
    whole, half = cumulant(tilt), 256
    shares = [2.0**power for power in range(-12, 4)]
    right = [(share * tilt, cumulant((1 + share) * tilt) - whole) for share in shares]
    left = [(share * tilt, cumulant((1 - share) * tilt) - whole) for share in shares]
    while half <= LONGEST:
        above = min(grown - more * (mean + half * step) for more, grown in right)
        below = min(grown + less * (mean - half * step) for less, grown in left)
        if max(above, below) <= math.log(OUTSIDE):
            break
        half *= 2
    return 2 * half
