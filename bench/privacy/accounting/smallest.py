"""The smallest noise multiplier that suffices, as a bisection defines it, found with few evaluations of the accountant.

The bisection doubles or halves from 1 until it has the root between two powers of 2, and then takes geometric middles
until its two ends differ by less than 0.05 %. All that it can end with are the nodes of one fixed tree. So its result
is known as soon as two neighbouring nodes are, of which one suffices and the other does not, in whatever way they were
found. Here a model walks down the tree in place of the accountant, which is asked at the two nodes where the walk ends;
every answer corrects the model. Where more noise costs less, the result is the very float of the bisection.

The model is the central limit of composition (Dong, Roth and Su 2022; Bu et al. 2020): the releases are about one
Gaussian mechanism with

    mu^2 = sum q^2 (exp(1 / sigma^2) - 1)  at sampling rates q < 1,   sum 1 / sigma^2  without sampling,

times a correction that is linear in log sigma on the log scale, through the two answers nearest to the target.
"""

import functools
import math
from collections.abc import Callable

import dp_accounting as dp

from bench.privacy.accounting.atoms import Atoms
from bench.privacy.events.release import require

RATIO = 1.0005  # of the two ends when the bisection stops
TRUSTED = 8  # answers after which the model is given up, and the bisection goes on by itself
FAR = 4.0  # by which an answer is taken to miss the target that is no positive number
LARGE_MU = 20.0  # from which on the Gaussian is taken by its upper bound: the exact form would overflow


def bisect(target: float, enough: Callable[[float], bool]) -> tuple[float, float]:
    """The ends of the bisection: too little noise, and noise that suffices.

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
    """The upper end of the bisection for `spent(sigma) <= target`, NaN being too much.

    Args:
        target: epsilon, above 0 and finite.
        spent: noise multiplier -> epsilon by the accountant; falls.
        model: noise multiplier -> about that; falls, above 0 and finite.

    Raises:
        InputError: as `bisect`.
    """
    model = functools.cache(model)
    answers: dict[float, float] = {}  # log sigma -> log of (epsilon over the model's)
    too_little, suffices = 0.0, math.inf

    def ask(sigma: float) -> bool:
        nonlocal too_little, suffices
        epsilon = spent(sigma)
        if epsilon <= target:
            suffices = sigma
        else:
            too_little = sigma
        if not 0 < epsilon < math.inf:
            epsilon = target / FAR if epsilon <= target else target * FAR
        answers[math.log(sigma)] = math.log(epsilon / model(sigma))
        return epsilon <= target

    def enough(sigma: float) -> bool:
        if sigma <= too_little or sigma >= suffices:
            return sigma >= suffices
        if len(answers) >= TRUSTED or not 2.0**-30 < sigma < 2.0**30:
            return ask(sigma)
        return math.log(model(sigma)) + _correction(math.log(sigma), nearest) <= math.log(target)

    while True:
        missed = {at: abs(ratio + math.log(model(math.exp(at)) / target)) for at, ratio in answers.items()}
        nearest = [(at, answers[at]) for at in sorted(missed, key=missed.__getitem__)[:2]]
        low, high = bisect(target, enough)
        if high < suffices:
            ask(high)
        elif low > too_little:
            ask(low)
        else:
            return high


def _correction(at: float, answers: list[tuple[float, float]]) -> float:
    """The line through at most two answers, at the logarithm of a noise multiplier."""
    if len(answers) < 2:
        return answers[0][1] if answers else 0.0
    (first, value), (second, other) = answers
    return value + (other - value) / (second - first) * (at - first)


def central_limit(atoms: Atoms, delta: float) -> float:
    """Epsilon at delta of the Gaussian mechanism that a composition is about; above 0."""
    mu = math.sqrt(sum(times * _precision(atom) for atom, times in atoms.items()))
    most = mu**2 / 2 + mu * math.sqrt(2 * math.log(1 / delta))
    if mu > LARGE_MU:
        return most

    def exceeds(epsilon: float) -> bool:
        """Whether the delta of that epsilon is larger (Balle and Wang 2018, Theorem 8)."""
        below, above = (math.erfc((epsilon / mu + sign * mu / 2) / math.sqrt(2)) / 2 for sign in (-1, 1))
        return below - math.exp(epsilon) * above > delta

    low, high = 0.0, most
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if exceeds(middle) else (low, middle)
    return high


def _precision(atom: dp.DpEvent) -> float:
    """The mu^2 of one release, as in the module's docstring; Laplace noise as if it were Gaussian."""
    rate = 1.0
    if isinstance(atom, dp.PoissonSampledDpEvent):
        rate, atom = atom.sampling_probability, atom.event
    elif isinstance(atom, dp.SampledWithoutReplacementDpEvent):
        rate, atom = atom.sample_size / atom.source_dataset_size, atom.event
    sigma = getattr(atom, "noise_multiplier", 1.0)  # an unknown event is refused by its accountant
    return rate**2 * math.expm1(min(sigma**-2, 500.0)) if rate < 1 else sigma**-2
