"""Privacy loss distributions of dp_accounting, pessimistic (Doroshenko et al. 2022): an upper bound on epsilon, too
large by about 0.2 % at most, at deltas from `smallest_delta` on and sampling rates from 0.001 on: at smaller rates the
grid, of 1e5 points at most, is coarse beside what one round loses. Plain Gaussians and Laplace, also mixed;
Poisson-sampled Gaussians under "add-or-remove one", also of groups, as mixtures of Gaussians.

Laplace noise of scale 1 in each coordinate, on a sum that moves by at most e in L1, is accounted as one
coordinate that moves by e, for which delta(eps) = 1 - exp((eps - e) / 2), 0 <= eps <= e. Movements a >= b in two
coordinates are dominated by a + b in one: the loss of the second coordinate is L_b <= b, so at eps >= 0 the pair
has 1 - delta = E min(1, exp((eps - L_b - a) / 2)) >= exp((eps - a - b) / 2), and eps < 0 follows by symmetry;
more coordinates by induction. (tests/privacy/accounting/test_pld.py compares the curves.)
"""

import math
from collections.abc import Sequence
from functools import lru_cache, reduce
from typing import Any

import dp_accounting.dp_event as dp
import numpy as np
from dp_accounting.pld import privacy_loss_distribution
from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution
from scipy.special import logsumexp

from bench.errors import InputError
from bench.privacy.accounting.atoms import Atoms
from bench.privacy.accounting.rdp import rdp_epsilon
from bench.privacy.events.release import ADD_OR_REMOVE

PLD_LIMIT = 200.0  # above this RDP value a PLD takes millions of points, for an epsilon that means no privacy
# Below these deltas, the second for each round, the library's transforms lose the tail: epsilon is 0.7 % too small
# after 5,000 rounds at 1e-12, and after a million at 1e-10.
SMALLEST_DELTA, SMALLEST_BY_ROUND = 1e-10, 1e-14
SMALLEST_RATE = 1e-10  # below it the losses of one round are nearly one number in floating point
LEAST_CHANCE = 1e-15  # of a sum that counts for the grid of a mixture of Gaussians
PLD_LAPLACE = 32.0  # pure epsilon above this cap is added to the result; the cap costs e^-32 in delta


def pld_epsilon(atoms: Atoms, neighbors: str, delta: float) -> float:
    """Return the epsilon at delta of a composition; NaN where the RDP value of its Gaussians exceeds PLD_LIMIT,
    below `smallest_delta`, and below SMALLEST_RATE.

    Raises:
        InputError: for a component that is not known under this relation.
    """
    for atom in atoms:
        if not knows(atom, neighbors):
            raise InputError(f"accountant pld does not know {atom} under {neighbors}: take rdp.")
    rates = [atom.sampling_probability for atom in atoms if isinstance(atom, dp.PoissonSampledDpEvent)]
    if delta < smallest_delta(sum(atoms.values())) or 0 < min(rates, default=1) < SMALLEST_RATE:
        return math.nan
    by_pld_alone = (dp.LaplaceDpEvent, dp.MixtureOfGaussiansDpEvent)
    gaussians = {atom: times for atom, times in atoms.items() if not isinstance(atom, by_pld_alone)}
    if gaussians and rdp_epsilon(gaussians, neighbors, delta) > PLD_LIMIT:
        return math.nan
    return _composed_epsilon(frozenset(atoms.items()), delta)


def smallest_delta(rounds: int) -> float:
    """Return the smallest delta at which the epsilon of so many rounds is computed."""
    return max(SMALLEST_DELTA, SMALLEST_BY_ROUND * rounds)


def knows(atom: Any, neighbors: str) -> bool:
    """Return whether a component is known under this relation. Multipliers are relative to the movement, so a component
    without sampling is the same under both relations.
    """
    sampled = isinstance(atom, dp.PoissonSampledDpEvent) and isinstance(atom.event, dp.GaussianDpEvent)
    sampled = sampled or isinstance(atom, dp.MixtureOfGaussiansDpEvent)
    return isinstance(atom, (dp.GaussianDpEvent, dp.LaplaceDpEvent)) or (sampled and neighbors == ADD_OR_REMOVE)


@lru_cache(maxsize=16384)
def _composed_epsilon(atoms: frozenset[tuple[Any, int]], delta: float) -> float:
    """Return the epsilon of composed Gaussian and Laplace releases.

    The loss of a Laplace release of pure epsilon e is e - min(Z, 2 e), where Z is 0 or exponential with mean 2 with
    even odds. Lowering e to a cap c and adding e - c to the result gives an upper bound. The sum of the pure epsilons
    is another upper bound, and the smaller one where the grid is coarser than what composition saves.
    """
    components: list[tuple[Any, int]] = []
    above = capped = 0.0
    for atom, times in sorted(atoms, key=repr):
        if isinstance(atom, dp.LaplaceDpEvent):
            e = min(1 / atom.noise_multiplier, PLD_LAPLACE)
            above += times * (1 / atom.noise_multiplier - e)
            capped += times * e
            components.append((dp.LaplaceDpEvent(1 / e), times))
        else:
            components.append((atom, times))
    interval = _interval(components)
    losses = [_loss(atom, interval).self_compose(times) for atom, times in components]
    composed = reduce(lambda loss, further: loss.compose(further), losses)
    epsilon = above + _epsilon_at(composed, delta, capped, interval)
    only_laplace = all(isinstance(atom, dp.LaplaceDpEvent) for atom, _ in atoms)
    return min(epsilon, above + capped) if only_laplace else epsilon


def _epsilon_at(composed: PrivacyLossDistribution, delta: float, largest: float, step: float) -> float:
    """Return the epsilon at which delta(epsilon) falls to delta.

    The library finds it, but its search overflows at losses of 700; there a bisection from above finds it to `step`.

    Args:
        largest: the largest loss of the Laplace releases.
    """
    if largest < 500:
        return float(composed.get_epsilon_for_delta(delta))
    if composed.get_delta_for_epsilon(math.inf) > delta:
        return math.inf
    low, high = 0.0, largest
    while composed.get_delta_for_epsilon(high) > delta:
        low, high = high, 2 * high
    while high - low > step:
        middle = (low + high) / 2
        low, high = (middle, high) if composed.get_delta_for_epsilon(middle) > delta else (low, middle)
    return high


@lru_cache(maxsize=64)
def _loss(atom: Any, interval: float) -> PrivacyLossDistribution:
    """Return the privacy loss of one release, on a grid of that interval."""
    if isinstance(atom, dp.LaplaceDpEvent):
        return privacy_loss_distribution.from_laplace_mechanism(
            atom.noise_multiplier, value_discretization_interval=interval
        )
    if isinstance(atom, dp.MixtureOfGaussiansDpEvent):
        return privacy_loss_distribution.from_mixture_gaussian_mechanism(
            atom.standard_deviation,
            atom.sensitivities,
            atom.sampling_probs,
            value_discretization_interval=interval,
        )
    sigma, rate = _gaussian_parameters(atom)
    return privacy_loss_distribution.from_gaussian_mechanism(
        sigma, sampling_prob=rate, value_discretization_interval=interval
    )


def _gaussian_parameters(atom: Any) -> tuple[float, float]:
    """Return (noise multiplier, sampling rate)."""
    sampled = isinstance(atom, dp.PoissonSampledDpEvent)
    gaussian: Any = atom.event if sampled else atom
    return gaussian.noise_multiplier, atom.sampling_probability if sampled else 1.0


def _interval(components: Sequence[tuple[Any, int]]) -> float:
    """Return the discretisation of the privacy loss: a tenth of the standard deviation of one round's loss.

    A fixed 1e-4 (dp_accounting's default) is too fine for little noise and 10 % off for much noise. The error grows
    with the square of interval / deviation; a tenth gives an epsilon about 0.1 % too large. Laplace noise, whose loss
    has an edge, takes a hundredth. The smallest interval is used, but each component keeps within 1e5 points.
    """
    intervals, largest = [], []
    for atom, times in components:
        if isinstance(atom, dp.LaplaceDpEvent):
            e = 1 / atom.noise_multiplier
            deviation = min(e, math.sqrt(3.0))  # of e - min(Z, 2 e), for small and for large e
            intervals.append(deviation / 100)
            largest.append(max(2 * e, 16 * deviation * math.sqrt(times)))
            continue
        if isinstance(atom, dp.MixtureOfGaussiansDpEvent):
            deviation, most = _of_mixture(atom)
        else:
            sigma, rate = _gaussian_parameters(atom)
            deviation = rate * math.sqrt(math.expm1(min(sigma**-2, 50.0)))
            most = math.log1p(rate * math.expm1(min((10 * sigma + 0.5) / sigma**2, 700.0)))
        intervals.append(min(deviation / 10, 2e-3))
        largest.append(most)
    return max(min(intervals), max(largest) / 1e5)


def _of_mixture(atom: Any) -> tuple[float, float]:
    """Return the standard deviation of the likelihood ratio of a mixture, and its log ten deviations of the noise above
    the largest sum that is at all likely.
    """
    sigma, sums, chances = atom.standard_deviation, np.array(atom.sensitivities), np.array(atom.sampling_probs)
    sums, chances = sums[chances > LEAST_CHANCE], chances[chances > LEAST_CHANCE]
    log_square = float(np.asarray(logsumexp(np.outer(sums, sums) / sigma**2, b=np.outer(chances, chances))))
    most = np.asarray(logsumexp(sums * (sums.max() + 10 * sigma - sums / 2) / sigma**2, b=chances))
    return math.sqrt(math.expm1(min(log_square, 50.0))), float(most)
