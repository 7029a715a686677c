"""From scores of runs with and without a canary to lower bounds on epsilon.

A threshold and, where it is free, delta are chosen on pilot runs, and the bound is taken on other runs: one test, no
correction for the choice. The intervals are Clopper and Pearson's, those of jax_privacy, half of the significance for
each of the two error rates, so that both directions (the canary more likely, or less) hold at once.
"""

import math
from collections.abc import Mapping

import dp_accounting as dp
import numpy as np
from jax_privacy import auditing
from scipy import stats

Scores = tuple[np.ndarray, np.ndarray]  # of the runs (with, without the canary), each [run]

THRESHOLDS = 200
SMALLEST = 1e-9  # of a declared epsilon, where a part of it is asked for


def thresholds(ins: np.ndarray, outs: np.ndarray) -> np.ndarray:
    """Places between the scores, at quantiles of all of them."""
    values = np.unique(np.quantile(np.concatenate([ins, outs]), np.linspace(0, 1, THRESHOLDS), method="nearest"))
    return (values[1:] + values[:-1]) / 2 if len(values) > 1 else values


def error_rates(ins: np.ndarray, outs: np.ndarray, places, significance: float) -> tuple[np.ndarray, np.ndarray]:
    """Upper bounds on the rates of misses and of false alarms of "the canary is in, if the score is at least this".

    Each holds with probability 1 - significance / 2.
    """
    misses = np.searchsorted(np.sort(ins), places, side="left")
    alarms = len(outs) - np.searchsorted(np.sort(outs), places, side="left")

    def upper(count, number):
        bound = stats.beta.ppf(1 - significance / 2, count + 1, np.maximum(number - count, 1))
        return np.where(count < number, bound, 1.0)

    return upper(misses, len(ins)), upper(alarms, len(outs))


def epsilon_at(delta: float, misses, alarms):
    """The epsilon that error rates prove: hits <= exp(epsilon) alarms + delta, in both directions; 0 for nothing."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ways = [np.log(1 - one - delta) - np.log(other) for one, other in ((misses, alarms), (alarms, misses))]
    return np.fmax(np.fmax(*ways), 0.0)


def counted(pilot: Scores, scores: Scores, declared: Mapping[float, float], significance: float) -> tuple[float, float]:
    """(delta, epsilon proven there), at the delta where the pilot runs prove the largest part of what is declared.

    Args:
        pilot, scores: (with, without the canary), each [run].
        declared: delta -> epsilon.
    """
    places = thresholds(*pilot)
    rates = error_rates(*pilot, places, significance)
    proven = {delta: epsilon_at(delta, *rates) for delta in declared}
    delta = max(declared, key=lambda one: proven[one].max() / max(declared[one], SMALLEST))
    place = auditing.Explicit(float(places[np.argmax(proven[delta])]))
    auditor = auditing.CanaryScoreAuditor(*scores)
    found = auditor.epsilon_clopper_pearson(significance, delta, one_sided=False, threshold_strategy=place)
    return delta, float(found)


def gaussian(pilot: Scores, scores: Scores, delta: float, significance: float) -> float:
    """Epsilon at delta, of a mechanism whose trade-off of errors is that of Gaussians (Dong, Roth, Su 2022).

    Valid for Gaussian noise without sampling alone: two error rates then give mu = Phi^-1(1 - alarms) - Phi^-1(misses),
    and mu the whole curve, also where no run ever comes. (`epsilon_from_gdp` of jax_privacy 2.0 is no lower bound: it
    takes the absolute value of mu, and so an interval that is too wide to say anything for evidence.)
    """

    def separation(misses, alarms):
        return stats.norm.isf(alarms) - stats.norm.ppf(misses)

    places = thresholds(*pilot)
    best = np.argmax(separation(*error_rates(*pilot, places, significance)))
    mu = float(separation(*error_rates(*scores, places[[best]], significance))[0])
    return float(dp.get_epsilon_gaussian(1 / mu, delta)) if mu > 0 else 0.0


def separating_direction(ins: np.ndarray, outs: np.ndarray) -> np.ndarray:
    """Fisher's linear discriminant of runs [run, feature]: of all linear scores the one that separates them best.

    For Gaussian noise and a canary that moves the mean it is the likelihood ratio. What is constant counts nothing;
    a feature that tells the two apart without noise counts nearly everything.
    """
    scale = np.concatenate([ins, outs]).std(0)
    used = scale > 0
    scale = np.where(used, scale, 1.0)
    ins, outs = ins / scale * used, outs / scale * used
    within = (np.atleast_2d(np.cov(ins.T)) + np.atleast_2d(np.cov(outs.T))) / 2 if ins.shape[1] else np.zeros((0, 0))
    difference = ins.mean(0) - outs.mean(0)
    return np.linalg.solve(within + 1e-9 * np.eye(len(within)), difference) / scale * used


def is_declared(epsilon: float) -> bool:
    """Whether a bound could exceed this epsilon."""
    return not math.isnan(epsilon) and epsilon < math.inf
