"""A second implementation of the accountants, which shares no code with `bench.privacy`.

- composed Gaussians: the closed form of delta (Balle and Wang 2018, Theorem 8), solved by bisection;
- Poisson-sampled Gaussians: the privacy loss distribution on a grid whose error in the mean is taken out, composed by
  one Fourier transform (Gopi, Lee and Wutschitz 2021), an estimate and no bound;
- Renyi DP of Poisson-sampled Gaussians: the binomial sum at integer orders and Gauss-Legendre quadrature between them
  (Mironov, Talwar and Zhang 2019);
- Renyi DP of samples of fixed size: the binomial sums of Wang, Balle and Kasiviswanathan 2019, Theorem 27, in decimal
  arithmetic of 200 digits, so that nothing cancels.

Here `sigma` is relative to the movement of the sum between neighbours: the noise multiplier under "add-or-remove one",
half of it under "replace one".
"""

import math
from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from functools import cache
from typing import cast

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaln, log_ndtr, logsumexp, ndtr

DIGITS = 200
PER_DEVIATION = 40  # points of the grid in a standard deviation of one round's loss
LOST_MASS = 1e-12  # probability near the ends of the grid, above which the grid is made longer
LONGEST_GRID = 2**25  # points of a grid


def gaussian_epsilon(sigma: float, delta: float) -> float:
    """Return the epsilon of one Gaussian release, exactly; composed ones have 1 / sigma^2 = sum 1 / sigma_t^2."""
    mu = 1 / sigma

    def spent(epsilon: float) -> float:
        below, above = log_ndtr(mu / 2 - epsilon / mu), epsilon + log_ndtr(-mu / 2 - epsilon / mu)
        return math.exp(below) * -math.expm1(min(above - below, 0.0))

    return _root_of(spent, delta)


def _root_of(spent: Callable[[float], float], delta: float) -> float:
    """Return the epsilon at which a delta that falls with epsilon is as given; 0 where it is smaller everywhere."""
    if spent(0.0) <= delta:
        return 0.0
    high = 1.0
    while spent(high) > delta:
        high *= 2
    low = 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if spent(middle) > delta else (low, middle)
    return high


def poisson_epsilon(rate: float, sigma: float, rounds: int, delta: float) -> float:
    """Return the epsilon of composed Gaussians on Poisson samples, one unit added or removed, within about 0.05 %."""
    return max(_composed_epsilon(rate, sigma, rounds, delta, removed) for removed in (True, False))


def _composed_epsilon(rate: float, sigma: float, rounds: int, delta: float, removed: bool) -> float:
    mean, deviation = _moments(rate, sigma, removed)
    step = min(deviation / PER_DEVIATION, 2e-3)
    reach = max(4 * abs(rounds * mean), 16 * deviation * math.sqrt(rounds), 4.0 * step)
    while True:
        half = 2 ** math.ceil(math.log2(reach / step))
        grid = np.arange(-half, half) * step
        below, above = _tails(np.append(grid, half * step) - step / 2, rate, sigma, removed)
        mass = np.where(grid > 0, -np.diff(above), np.diff(below))  # differences of what is small, on either side
        shift = mean - float(mass @ grid)
        composed = np.fft.irfft(np.fft.rfft(np.fft.ifftshift(mass)) ** rounds, 2 * half)
        composed = np.fft.fftshift(composed)  # rounding leaves values below 0, which average out and must stay
        end_mass = abs(float(composed[: half // 8].sum())) + abs(float(composed[-half // 8 :].sum()))
        if end_mass < LOST_MASS and above[-1] * rounds < delta * 1e-4:
            break
        reach *= 2
        if 2 * reach / step > LONGEST_GRID:
            raise ValueError(f"rate {rate}, sigma {sigma}, {rounds} rounds: the grid would be too long")
    losses = grid + rounds * shift

    def spent(epsilon: float) -> float:
        first = int(np.searchsorted(losses, epsilon))
        return float(composed[first:] @ -np.expm1(epsilon - losses[first:]))

    return _root_of(spent, delta)


def _moments(rate: float, sigma: float, removed: bool) -> tuple[float, float]:
    """Return the mean and the standard deviation of one round's privacy loss."""
    x = np.linspace(-14 * sigma, 1 + 14 * sigma, 40_001)
    density = np.exp(-(x**2) / (2 * sigma**2)) * (x[1] - x[0]) / (sigma * math.sqrt(2 * math.pi))
    loss = np.logaddexp(math.log1p(-rate), math.log(rate) + (2 * x - 1) / (2 * sigma**2))
    if removed:
        density = density * np.exp(loss)
    else:
        loss = -loss
    mean = float(density @ loss)
    return mean, math.sqrt(float(density @ (loss - mean) ** 2))


def _tails(loss: np.ndarray, rate: float, sigma: float, removed: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the probabilities that one round's loss is at most, and is more than, `loss`."""
    signed = loss if removed else -loss
    with np.errstate(divide="ignore"):
        log_argument = np.log(np.maximum(np.expm1(np.minimum(signed, 700.0)) + rate, 0.0))
    x = sigma**2 * (log_argument - math.log(rate)) + 0.5
    if removed:
        below, above = ((1 - rate) * ndtr(sign * x / sigma) + rate * ndtr(sign * (x - 1) / sigma) for sign in (1, -1))
        return below, above
    return ndtr(-x / sigma), ndtr(x / sigma)


def poisson_rdp(rate: float, sigma: float, orders: Sequence[float]) -> np.ndarray:
    """Return the Renyi DP of a Gaussian on a Poisson sample at these orders, one unit added or removed."""
    return np.array([_poisson_moment(rate, sigma, a) / (a - 1) for a in orders])


def _poisson_moment(rate: float, sigma: float, order: float) -> float:
    if order == int(order):
        k = np.arange(int(order) + 1)
        log_binomial = gammaln(order + 1) - gammaln(k + 1) - gammaln(order - k + 1)
        terms = log_binomial + k * math.log(rate) + (order - k) * math.log1p(-rate) + k * (k - 1) / (2 * sigma**2)
        return float(np.asarray(logsumexp(terms)))
    nodes, weights = _quadrature()
    edges = np.linspace(-14 * sigma, order + 14 * sigma, 41)
    width = (edges[1] - edges[0]) / 2
    x = (edges[:-1, None] + width * (nodes + 1)).ravel()
    log_density = -(x**2) / (2 * sigma**2) - math.log(sigma * math.sqrt(2 * math.pi))
    log_ratio = np.logaddexp(math.log1p(-rate), math.log(rate) + (2 * x - 1) / (2 * sigma**2))
    log_weight = np.log(np.tile(weights * width, len(edges) - 1))
    return float(np.asarray(logsumexp(log_weight + log_density + order * log_ratio)))


@cache
def _quadrature() -> tuple[np.ndarray, np.ndarray]:
    """Return the nodes and weights of the Gauss-Legendre rule, which take most of the time of one order."""
    return np.polynomial.legendre.leggauss(40)


def fixed_size_rdp(rate: float, sigma: float, orders: Sequence[float]) -> np.ndarray:
    """Return the Renyi DP of a Gaussian on a sample of fixed size at these orders, one unit replaced.

    Between integer orders a, (a - 1) rdp(a) is interpolated linearly. It is never more than without sampling.
    """
    top = math.ceil(max(orders))
    with localcontext() as context:
        context.prec = DIGITS
        scale = Decimal(1) / (2 * Decimal(sigma) ** 2)
        powers = [(k * (k - 1) * scale).exp() for k in range(top + 2)]  # E L^k
        central = [
            sum(((-1) ** (l - k) * math.comb(l, k) * powers[k] for k in range(l + 1)), Decimal(0))
            for l in range(top + 2)
        ]
        moments = [Decimal(0)] * (top + 1)
        for j in range(2, top + 1):
            ghost = 4 * (central[2 * (j // 2)] * central[2 * ((j + 1) // 2)]).sqrt()
            moments[j] = min(ghost, 2 * powers[j])
        cumulants = [0.0, 0.0]
        for a in range(2, top + 1):
            terms = (math.comb(a, j) * Decimal(rate) ** j * moments[j] for j in range(2, a + 1))
            total = sum(terms, Decimal(1))
            cumulants.append(float(total.ln()))
    order = np.asarray(orders, dtype=np.float64)
    bound = np.interp(order, np.arange(top + 1), cumulants) / (order - 1)
    return np.minimum(bound, order / (2 * sigma**2))


def epsilon_of_rdp(orders: Sequence[float], rdp: np.ndarray, delta: float) -> float:
    """Return the epsilon at delta (Canonne, Kamath and Steinke 2020, Proposition 12); 0 or more."""
    epsilons = (r + math.log1p(-1 / a) - math.log(delta * a) / (a - 1) for a, r in zip(orders, rdp, strict=True))
    return max(0.0, min(epsilons))


def noise_for(target: float, spent: Callable[[float], float]) -> float:
    """Return the noise multiplier at which an epsilon that falls with it is the target, to a relative 1e-6."""

    def above(log_sigma: float) -> float:
        return math.log(max(spent(math.exp(log_sigma)), 1e-12) / target)

    low = high = 0.0
    while above(high) > 0:
        high += 1
    while above(low) <= 0:
        low -= 1
    return math.exp(cast(float, brentq(above, low, high, xtol=1e-6)))
