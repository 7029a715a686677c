"""Lower bounds on epsilon from scores of runs with and without a canary.

A threshold and, where it is free, delta are chosen on pilot runs, and the bound is taken on other runs, so there is one
test, and no correction for the choice. The intervals are Clopper and Pearson's, those of jax_privacy. Each of the two
error rates has half of the significance, so that both directions (the canary more likely, or less) hold at once.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import dp_accounting as dp
import numpy as np
from jax_privacy import auditing
from scipy import special, stats

Scores = tuple[np.ndarray, np.ndarray]  # of the runs (with, without the canary), each [run]


SHIFT, SCALE = "shift", "scale"  # what a score looks at: where what is public lies, or how large its changes are


class Test(NamedTuple):
    """The scores for one way of finding a canary.

    pilot: of the pilot runs, on which choices are made.
    scores: of the other runs, on which a bound is taken; or a function that computes them when they are asked for.
    kind: SHIFT or SCALE.
    """

    pilot: Scores
    scores: Scores | Callable[[], Scores]
    kind: str = SHIFT

    def held_out_scores(self) -> Scores:
        """Return the scores of the runs that are not the pilot."""
        return self.scores() if callable(self.scores) else self.scores


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


def choose(tests: Sequence[Test], declared: Mapping[float, float], significance: float) -> Choice:
    """Return the test, threshold and delta at which pilot runs prove the largest fraction of the declared epsilon.

    Args:
        declared: delta -> epsilon.
    """
    choice, largest_share = Choice(tests[0], 0.0, 0.0), -1.0
    for test in tests:
        grid = thresholds(*test.pilot)
        rates = error_rates(*test.pilot, grid, significance)
        for delta, epsilon in declared.items():
            epsilons = epsilon_at(delta, *rates)
            share = float(epsilons.max()) / max(epsilon, SMALLEST)
            if share > largest_share:
                choice, largest_share = Choice(test, float(grid[np.argmax(epsilons)]), delta), share
    return choice


def proven_epsilon(choice: Choice, scores: Scores, significance: float) -> float:
    """Return the epsilon that other runs than the pilot prove at the chosen delta and threshold."""
    auditor = auditing.CanaryScoreAuditor(*scores)
    strategy = auditing.Explicit(choice.threshold)
    return float(
        auditor.epsilon_clopper_pearson(significance, choice.delta, one_sided=False, threshold_strategy=strategy)
    )


def rate_bound(tests: Sequence[Test], declared: Mapping[float, float], significance: float) -> tuple[float, float]:
    """Return a delta and the epsilon proven at it, as `choose` and `proven_epsilon` find them.

    Args:
        declared: delta -> epsilon.
    """
    choice = choose(tests, declared, significance)
    return choice.delta, proven_epsilon(choice, choice.test.held_out_scores(), significance)


def separation(misses, alarms):
    """Return mu, by how many standard deviations two Gaussians with these error rates are apart."""
    return stats.norm.isf(alarms) - stats.norm.ppf(misses)


def choose_gaussian(tests: Sequence[Test], delta: float, significance: float) -> Choice:
    """Return the test and threshold at which pilot runs prove the largest mu."""
    choice, largest = Choice(tests[0], 0.0, delta), -math.inf
    for test in tests:
        grid = thresholds(*test.pilot)
        mus = separation(*error_rates(*test.pilot, grid, significance))
        if mus.max() > largest:
            choice, largest = Choice(test, float(grid[np.argmax(mus)]), delta), float(mus.max())
    return choice


def proven_gaussian_epsilon(choice: Choice, scores: Scores, significance: float) -> float:
    """Return the epsilon at the chosen delta of a mechanism whose trade-off of errors is that of Gaussians (Dong, Roth,
    Su 2022), which other runs than the pilot prove.

    It is valid only for Gaussian noise without sampling. There two error rates give
    mu = Phi^-1(1 - alarms) - Phi^-1(misses), and mu gives the whole curve, also where no run ever falls.
    (`epsilon_from_gdp` of jax_privacy 2.0 is no lower bound: it takes the absolute value of mu, and so treats an
    interval that is too wide to prove anything as evidence.)
    """
    mu = float(separation(*error_rates(*scores, [choice.threshold], significance))[0])
    return epsilon_of_mu(mu, choice.delta)


def epsilon_of_mu(mu: float, delta: float) -> float:
    """Return the epsilon at delta of Gaussians that are mu standard deviations apart."""
    return float(dp.get_epsilon_gaussian(1 / mu, delta)) if mu > 0 else 0.0


def gaussian_bound(tests: Sequence[Test], delta: float, significance: float) -> float:
    """Return the epsilon at delta that `choose_gaussian` and `proven_gaussian_epsilon` find."""
    choice = choose_gaussian(tests, delta, significance)
    return proven_gaussian_epsilon(choice, choice.test.held_out_scores(), significance)


class Likelihood(NamedTuple):
    """The score that separates best if a canary moves what is public as it did in simulated runs, under known noise.

    centre, scale: of what is public without the canary, [feature]; features are counted in units of scale.
    precision: inverse of the covariance without the canary, [feature, feature], which determines Gaussian noise.
    laplace: whether noise is independent Laplace noise instead.
    moves: how far the canary moved what is public, (in one world, in the other), each [simulated run, feature].
    """

    centre: np.ndarray
    scale: np.ndarray
    precision: np.ndarray
    laplace: bool
    moves: tuple[np.ndarray, np.ndarray]

    def __call__(self, outputs: np.ndarray) -> np.ndarray:
        """Return the log of the likelihood ratio of runs [run, feature], [run]."""
        outputs = (outputs - self.centre) / self.scale
        whitened = outputs @ self.precision

        def log_likelihood(moves: np.ndarray) -> np.ndarray:
            # Moves that differ only by rounding count as one, which is kept unrounded. What is public may hold a number
            # twice, and a move that differs between the two places would look like the move of a number without noise.
            rounded = np.round(moves / self.scale, 3)
            _, index, count = np.unique(rounded, axis=0, return_index=True, return_counts=True)
            distinct = moves[index] / self.scale
            if self.laplace:
                ratios = np.stack([_laplace_ratio(outputs[:, move != 0], move[move != 0]) for move in distinct], axis=1)
            else:
                ratios = whitened @ distinct.T - np.einsum("mf,fg,mg->m", distinct, self.precision, distinct) / 2
            return np.asarray(special.logsumexp(ratios, axis=1, b=count / len(moves)))

        return log_likelihood(self.moves[0]) - log_likelihood(self.moves[1])


def _laplace_ratio(outputs: np.ndarray, move: np.ndarray) -> np.ndarray:
    """Return the log of the likelihood ratio of runs [run, feature] with and without this move [feature], under Laplace
    noise of variance 1.
    """
    return 2**0.5 * (np.abs(outputs) - np.abs(outputs - move)).sum(1)


def likelihoods(reference: np.ndarray, moves: tuple[np.ndarray, np.ndarray]) -> tuple[Likelihood, Likelihood]:
    """Return scores for Gaussian and for Laplace noise, from runs without a canary [run, feature], and from how far a
    canary moves what is public.

    The covariance separates Gaussian noise that is correlated between rounds, such as that of prefix sums. Where the
    canary moves another round in every run, as with sampling, the likelihood averages over all of these moves. A
    feature without noise that the canary moves decides.
    """
    spread = np.abs(np.concatenate(moves)).max(0, initial=0.0)
    scale = np.maximum(reference.std(0), spread / 1e3)
    scale = np.where(scale > 0, scale, 1.0)
    centre = reference.mean(0)
    covariance = np.atleast_2d(np.cov(((reference - centre) / scale).T)) if len(scale) else np.zeros((0, 0))
    precision = np.linalg.inv(covariance + 1e-9 * np.eye(len(scale)))
    return Likelihood(centre, scale, precision, False, moves), Likelihood(centre, scale, precision, True, moves)
