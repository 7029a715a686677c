"""Epsilon from the scores of canaries that are in and of others that are not, as if both were Gaussian.

Andrew, Kairouz, Oh, Oprea, McMahan, Suriyakumar, "One-shot Empirical Privacy Estimation for Federated Learning", ICLR
2024. What is found is an estimate. It is no bound: the scores need not be Gaussian, and other canaries or another score
may reveal more.
"""

from typing import NamedTuple

import numpy as np
from scipy import special

LARGEST = 1e4  # epsilon; what is larger is infinite
DRAWS = 200  # of the parametric bootstrap
LEVEL = 0.95


class Estimate(NamedTuple):
    """An estimated epsilon with its 95 % interval, which only covers that there were finitely many canaries."""

    epsilon: float
    low: float
    high: float


def epsilon_between(first, second, delta: float) -> np.ndarray:
    """Return the least epsilon at which two Gaussians are (epsilon, delta)-indistinguishable, in both directions.

    Args:
        first, second: (mean, standard deviation), each a number or an array; deviations > 0.
        delta: in (0, 1).

    Returns:
        float64, shaped as the means; inf above 10,000.
    """
    first, second = (tuple(np.asarray(part, np.float64) for part in gaussian) for gaussian in (first, second))
    low = np.zeros(np.broadcast_shapes(*(part.shape for part in (*first, *second))))

    def exceeds(epsilon):
        return np.maximum(_delta(epsilon, first, second), _delta(epsilon, second, first)) > delta

    high = np.full_like(low, LARGEST)
    above, some = exceeds(high), exceeds(low)
    for _ in range(50):
        middle = (low + high) / 2
        larger = exceeds(middle)
        low, high = np.where(larger, middle, low), np.where(larger, high, middle)
    return np.where(above, np.inf, np.where(some, high, 0.0))


def _delta(epsilon, p, q):
    """Return P(A) - e^epsilon Q(A) for A = {log p / q > epsilon}, where p / q of two Gaussians is quadratic."""
    (mean, std), (other, other_std) = p, q
    # In units of q: x = other + other_std z. log p / q = a z^2 + b z + c.
    shift, ratio = (mean - other) / other_std, std / other_std
    a = 0.5 - 0.5 / ratio**2
    b = shift / ratio**2
    c = -np.log(ratio) - 0.5 * (shift / ratio) ** 2 - epsilon
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        root = np.sqrt(np.maximum(b**2 - 4 * a * c, 0.0))
        half = -0.5 * (b + np.where(b >= 0, root, -root))
        one, two = half / a, c / half  # the two roots, without cancellation
        lower, upper = np.minimum(one, two), np.maximum(one, two)
        straight = np.abs(a) * np.square(np.abs(shift) + epsilon + 40) < 1e-9  # A is a half-line
        there = b**2 - 4 * a * c > 0

    def mass(shift, ratio):
        """Return log P(A) for the Gaussian with this mean and deviation in units of q."""
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            left, right = (lower - shift) / ratio, (upper - shift) / ratio
            outside = np.logaddexp(special.log_ndtr(left), special.log_ndtr(-right))
            flip = left > 0  # both in the upper tail, where differences of the lower one lose digits
            big = np.where(flip, special.log_ndtr(-left), special.log_ndtr(right))
            small = np.where(flip, special.log_ndtr(-right), special.log_ndtr(left))
            between = big + np.log1p(-np.exp(np.minimum(small - big, 0.0)))
            end = -c / b
            line = special.log_ndtr(np.where(b > 0, 1.0, -1.0) * (shift - end) / ratio)
            line = np.where(b == 0, np.where(c > 0, 0.0, -np.inf), line)
        curved = np.where(a > 0, np.where(there, outside, 0.0), np.where(there, between, -np.inf))
        return np.where(straight, line, curved)

    with np.errstate(invalid="ignore", over="ignore"):
        of_p, of_q = mass(shift, ratio), mass(0.0, 1.0)
        difference = np.exp(of_p) - np.exp(np.minimum(epsilon + of_q, 700.0))
    return np.nan_to_num(np.maximum(difference, 0.0))


def estimate(inside: np.ndarray, outside: np.ndarray, delta: float, *, seed: int) -> Estimate:
    """Return the epsilon of the two Gaussians fitted to scores.

    Deviations that differ by chance look like privacy loss in the tails: with 100 canaries that reveal nothing, at
    delta = 1e-4, the epsilon of the fits is 1.4 on average. So the bias that a parametric bootstrap finds is
    subtracted, and the interval is the reflected one of the bootstrap. Both end at 0.

    Args:
        inside: scores of the canaries, [canary].
        outside: of directions that were not used, [direction].
        delta: at which epsilon is stated.
        seed: of the bootstrap.
    """
    fits = [
        (scores.mean(), scores.std(ddof=1), len(scores))
        for scores in (inside.astype(np.float64), outside.astype(np.float64))
    ]
    scale = max(fits[1][1], 1e-12 * max(np.abs(inside).max(), np.abs(outside).max(), 1e-300))
    fits = [(mean / scale, max(std / scale, 1e-6), count) for mean, std, count in fits]
    found = min(float(epsilon_between(fits[0][:2], fits[1][:2], delta)), LARGEST)
    rng = np.random.default_rng([seed, 0xCA7A])
    drawn = []
    for mean, std, count in fits:
        spread = std * np.sqrt(rng.chisquare(count - 1, DRAWS) / (count - 1))
        drawn.append((mean + std / np.sqrt(count) * rng.standard_normal(DRAWS), spread))
    again = np.minimum(epsilon_between(drawn[0], drawn[1], delta), LARGEST)
    middle, low, high = again.mean(), *np.quantile(again, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Estimate(*(_at_least_0(2 * found - value) for value in (middle, high, low)))


def _at_least_0(epsilon: float) -> float:
    """Return an epsilon that is not negative; inf from LARGEST on."""
    return np.inf if epsilon >= LARGEST else max(float(epsilon), 0.0)
