"""The smallest noise multiplier that suffices, as a bisection defines it, found with few evaluations of the accountant.

The bisection doubles or halves from 1 until it has the root between two powers of 2, and then takes geometric means
until its two ends differ by less than 0.05 %. Every possible result is a node of one fixed tree. So the result is known
as soon as two neighbouring nodes are found of which one suffices and the other does not. Here a guess replaces the
accountant in the walk down the tree, and the accountant is evaluated at the two nodes where the walk ends; every answer
corrects the guess. Where more noise costs less, the result is exactly the float of the bisection.

The first guess, scaled by the first answer, is the central limit of composition (Dong, Roth and Su 2022; Bu et al.
2020), in which the releases are about one Gaussian mechanism with

    mu^2 = sum q^2 (exp(1 / sigma^2) - 1)  at sampling rates q < 1,   sum 1 / sigma^2  without sampling.

From the second answer on the guess is the line through the two answers nearest to the target, in log epsilon against
log sigma.
"""

import functools
import math
from collections.abc import Callable, Mapping

import dp_accounting.dp_event as dp

from bench.privacy.accounting.atoms import Atoms
from bench.privacy.events import BallsInBinsDpEvent, require

RATIO = 1.0005  # ratio of the two ends at which the bisection stops
TRUSTED = 10  # answers after which the plain bisection replaces guessing
FAR = 4.0  # replaces epsilon / target where epsilon is infinite or not computed
TINY = 2.0**-38  # outside this number and its inverse, nothing is guessed
FLATTEST = -0.1  # slope of log epsilon against log sigma; 1 to 4 in size except where a conversion has its floor
LARGE_MU = 20.0  # from here on the Gaussian's upper bound is used, because the exact form would overflow


def bisect(target: float, enough: Callable[[float], bool]) -> tuple[float, float]:
    """Return the ends of the bisection: too little noise, and noise that suffices.

    Args:
        target: epsilon, for the messages.
        enough: whether a noise multiplier suffices.

    Raises:
        InputError: where no multiplier from 2^-40 to 2^40 is the smallest.
    """
    high = 1.0
    while not enough(high):
        high *= 2
        require("epsilon", target, high < 2.0**40, "no noise attains it at this delta; take a larger one")
    low = high / 2
    while enough(low):
        low, high = low / 2, low
        require("epsilon", target, low > 2.0**-40, "it holds without noise; take a smaller one")
    while high / low > RATIO:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return low, high


def smallest(target: float, spent: Callable[[float], float], model: Callable[[float], float]) -> float:
    """Return the upper end of the bisection for `spent(sigma) <= target`; NaN counts as too much.

    Args:
        target: epsilon, above 0 and finite.
        spent: noise multiplier -> epsilon by the accountant; falls.
        model: noise multiplier -> an approximation of it; falls, above 0 and finite.

    Raises:
        InputError: as `bisect`.
    """
    spent = functools.cache(spent)
    answers: dict[float, float] = {}  # log sigma -> log(epsilon / target)
    too_little, suffices = 0.0, math.inf
    while len(answers) < TRUSTED:
        low, high = _guessed(target, answers, model, too_little, suffices)
        if (too_little, suffices) == (low, high):
            return high
        sigma = high if high < suffices else low
        epsilon = spent(sigma)
        if epsilon == 0:  # too small for the accountant, whose results near here may rise with the noise
            break
        if epsilon <= target:
            suffices = sigma
        else:
            too_little = sigma
        ratio = epsilon / target if epsilon < math.inf else FAR
        answers[math.log(sigma)] = math.log(ratio)
    return bisect(target, lambda sigma: spent(sigma) <= target)[1]


def _guessed(
    target: float, answers: Mapping[float, float], model: Callable[[float], float], too_little: float, suffices: float
) -> tuple[float, float]:
    """Return the expected ends of the bisection, from the answers, the two known ends, and the model."""
    guess, scale = _root(answers), 1.0
    if len(answers) == 1:
        ((position, value),) = answers.items()
        scale = target * math.exp(value) / model(math.exp(position))

    def enough(sigma: float) -> bool:
        if sigma <= too_little or sigma >= suffices or not TINY < sigma < 1 / TINY:
            return sigma >= min(suffices, 1 / TINY)
        return model(sigma) * scale <= target if guess is None else math.log(sigma) >= guess

    return bisect(target, enough)


def _root(answers: Mapping[float, float]) -> float | None:
    """Return the zero of the line through the two answers nearest to 0; None for fewer than two."""
    if len(answers) < 2:
        return None
    (first, value), (second, second_value) = sorted(answers.items(), key=lambda answer: abs(answer[1]))[:2]
    slope = (second_value - value) / (second - first)
    return first - value / min(slope, FLATTEST)


def central_limit(atoms: Atoms, delta: float) -> float:
    """Return the epsilon at delta of the Gaussian mechanism that approximates a composition; above 0."""
    mu = math.sqrt(sum(times * _precision(atom) for atom, times in atoms.items()))
    upper_bound = mu**2 / 2 + mu * math.sqrt(2 * math.log(1 / delta))
    if mu > LARGE_MU:
        return upper_bound

    def exceeds(epsilon: float) -> bool:
        """Return whether the delta of that epsilon is larger (Balle and Wang 2018, Theorem 8)."""
        below, above = (math.erfc((epsilon / mu + sign * mu / 2) / math.sqrt(2)) / 2 for sign in (-1, 1))
        return below - math.exp(epsilon) * above > delta

    low, high = 0.0, upper_bound
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if exceeds(middle) else (low, middle)
    return high


def _precision(atom: dp.DpEvent) -> float:
    """Return the mu^2 of one release, as in the module's docstring; Laplace noise is treated as Gaussian."""
    if isinstance(atom, BallsInBinsDpEvent):  # the variance of the likelihood ratio
        return math.expm1(min(atom.noise_multiplier**-2, 500.0)) / atom.num_bins
    rate = 1.0
    if isinstance(atom, dp.PoissonSampledDpEvent):
        rate, atom = atom.sampling_probability, atom.event
    elif isinstance(atom, dp.SampledWithoutReplacementDpEvent):
        rate, atom = atom.sample_size / atom.source_dataset_size, atom.event
    sigma = getattr(atom, "noise_multiplier", 1.0)  # an unknown event is refused by its accountant
    return rate**2 * math.expm1(min(sigma**-2, 500.0)) if rate < 1 else sigma**-2
