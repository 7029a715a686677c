"""Lower bounds on epsilon from scores of runs with and without a canary.

A threshold and, where it is free, delta are chosen on pilot runs, and the bound is taken on other runs, so there is one
test, and no correction for the choice. The intervals are Clopper and Pearson's, those of jax_privacy. Each of the two
error rates has half of the significance, so that both directions (the canary more likely, or less) hold at once.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import dp_accounting as dp
import numpy as np
from jax_privacy import auditing
from scipy import special, stats

Scores = tuple[np.ndarray, np.ndarray]  # of the runs (with, without the canary), each [run]
Score = Callable[[np.ndarray], np.ndarray]  # of runs [run, feature], [run]

SHIFT, SCALE = "shift", "scale"  # what a score looks at: where what is public lies, or how large its changes are


class Test(NamedTuple):
    """The scores for one way of finding a canary.

    pilot: of the pilot runs, on which choices are made.
    scores: gives those of the other runs, on which a bound is taken.
    kind: SHIFT or SCALE.
    """

    pilot: Scores
    scores: Callable[[], Scores]
    kind: str = SHIFT


class Choice(NamedTuple):
    """What pilot runs choose: a test, the threshold of its score, and the delta of the bound."""

    test: Test
    threshold: float
    delta: float


THRESHOLDS = 200
SMALLEST = 1e-9  # of a declared epsilon that a bound is divided by


def thresholds(ins: np.ndarray, outs: np.ndarray) -> np.ndarray:
    """Return thresholds between the scores, at quantiles of all of them."""
    scores = np.sort(np.concatenate([ins, outs]))
    values = np.unique(scores[np.rint(np.linspace(0, len(scores) - 1, THRESHOLDS)).astype(int)])
    return (values[1:] + values[:-1]) / 2 if len(values) > 1 else values


def error_rates(ins: np.ndarray, outs: np.ndarray, places, significance: float) -> tuple[np.ndarray, np.ndarray]:
    """Return upper bounds on the rates of misses and false alarms of "the canary is in, if the score is at least this".

    Each holds with probability 1 - significance / 2.
    """

    sorted_scores = np.sort(ins), np.sort(outs)
    misses = np.searchsorted(sorted_scores[0], places, side="left")
    alarms = len(outs) - np.searchsorted(sorted_scores[1], places, side="left")

    def upper_bound(count, number):
        bound = special.betaincinv(count + 1, np.maximum(number - count, 1), 1 - significance / 2)
        return np.where(count < number, bound, 1.0)

    return upper_bound(misses, len(ins)), upper_bound(alarms, len(outs))


def epsilon_at(delta: float, misses, alarms):
    """Return the epsilon proven by error rates: hits <= exp(epsilon) alarms + delta, in both directions; at least 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        pairs = (misses, alarms), (alarms, misses)
        epsilons = [np.log(1 - rate - delta) - np.log(converse) for rate, converse in pairs]
    return np.fmax(np.fmax(*epsilons), 0.0)


def choose(tests: Sequence[Test], declared: Mapping[float, float], significance: float, *, gaussian: bool) -> Choice:
    """Return the test, threshold and delta at which pilot runs prove the largest share of the declared epsilon, or, for
    Gaussian noise, the largest mu.

    Args:
        declared: delta -> epsilon; of a single delta any epsilon leads to the same choice.
        gaussian: whether all noise is Gaussian and nothing is sampled.
    """
    choice, largest = Choice(tests[0], 0.0, next(iter(declared))), -math.inf
    for test in tests:
        grid = thresholds(*test.pilot)
        rates = error_rates(*test.pilot, grid, significance)
        for delta, epsilon in declared.items():
            proven = separation(*rates) if gaussian else epsilon_at(delta, *rates)
            share = float(proven.max()) / max(epsilon, SMALLEST)
            if share > largest:
                choice, largest = Choice(test, float(grid[np.argmax(proven)]), delta), share
    return choice


def lower_bound(
    tests: Sequence[Test], declared: Mapping[float, float], significance: float, *, gaussian: bool = False
) -> tuple[Choice, float]:
    """Return what pilot runs choose, and the epsilon at the chosen delta that the other runs prove.

    For Gaussian noise without sampling, the trade-off of errors is that of two Gaussians (Dong, Roth, Su 2022). There
    two error rates give mu = Phi^-1(1 - alarms) - Phi^-1(misses), and mu gives the whole curve, also where no run ever
    falls. (`epsilon_from_gdp` of jax_privacy 2.0 is no lower bound: it takes the absolute value of mu, and so treats an
    interval that is too wide to prove anything as evidence.)

    Args:
        declared, gaussian: as for `choose`.
    """
    choice = choose(tests, declared, significance, gaussian=gaussian)
    scores = choice.test.scores()
    if gaussian:
        mu = float(separation(*error_rates(*scores, [choice.threshold], significance))[0])
        return choice, float(dp.get_epsilon_gaussian(1 / mu, choice.delta)) if mu > 0 else 0.0
    strategy = auditing.Explicit(choice.threshold)
    epsilon = auditing.CanaryScoreAuditor(*scores).epsilon_clopper_pearson(
        significance, choice.delta, one_sided=False, threshold_strategy=strategy
    )
    return choice, float(epsilon)


def separation(misses, alarms):
    """Return mu, by how many standard deviations two Gaussians with these error rates are apart."""
    return stats.norm.isf(alarms) - stats.norm.ppf(misses)


def likelihoods(reference: np.ndarray, moves: tuple[np.ndarray, np.ndarray]) -> tuple[Score, Score]:
    """Return the scores that separate best, for Gaussian and for independent Laplace noise, if a canary moves what is
    public as it did in simulated runs: the log of the likelihood ratio of runs [run, feature], [run].

    The covariance separates Gaussian noise that is correlated between rounds, such as that of prefix sums. Where the
    canary moves another round in every run, as with sampling, the likelihood averages over all of these moves. A
    feature without noise that the canary moves decides.

    Args:
        reference: runs without a canary, [run, feature].
        moves: how far the canary moved what is public, (in one world, in the other), each [simulated run, feature].
    """
    spread = np.abs(np.concatenate(moves)).max(0, initial=0.0)
    scale = np.maximum(reference.std(0), spread / 1e3)
    scale = np.where(scale > 0, scale, 1.0)
    centre = reference.mean(0)
    covariance = np.atleast_2d(np.cov(((reference - centre) / scale).T)) if len(scale) else np.zeros((0, 0))
    precision = np.linalg.inv(covariance + 1e-9 * np.eye(len(scale)))

    def ratio(outputs: np.ndarray, *, laplace: bool) -> np.ndarray:
        outputs = (outputs - centre) / scale
        whitened = outputs @ precision

        def log_likelihood(moves: np.ndarray) -> np.ndarray:
            # Moves that differ only by rounding count as one, which is kept unrounded. What is public may hold a number
            # twice, and a move that differs between the two places would look like the move of a number without noise.
            rounded = np.round(moves / scale, 3)
            _, index, count = np.unique(rounded, axis=0, return_index=True, return_counts=True)
            distinct = moves[index] / scale
            if laplace:
                ratios = np.stack([_laplace_ratio(outputs[:, move != 0], move[move != 0]) for move in distinct], axis=1)
            else:
                ratios = whitened @ distinct.T - np.einsum("mf,fg,mg->m", distinct, precision, distinct) / 2
            return np.asarray(special.logsumexp(ratios, axis=1, b=count / len(moves)))

        return log_likelihood(moves[0]) - log_likelihood(moves[1])

    return partial(ratio, laplace=False), partial(ratio, laplace=True)


def _laplace_ratio(outputs: np.ndarray, move: np.ndarray) -> np.ndarray:
    """Return the log of the likelihood ratio of runs [run, feature] with and without this move [feature], under Laplace
    noise of variance 1.
    """
    return 2**0.5 * (np.abs(outputs) - np.abs(outputs - move)).sum(1)
