"""The expected held-out score of a method's best setting as a function of the tuning budget.

The first settings of a search cover the whole space like random ones, so the expected best of k of them follows from
their scores (Dodge et al. 2019, drawn without replacement, which is unbiased). Settings near the best are tried after
all of these; each such refinement gives one further point, at the score that it reached.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.special import gammaln

from bench.analysis import select
from bench.ranking import SIGN

KEYS = ["algorithm", "target_epsilon"]


def expected_best(scores: Sequence[float] | np.ndarray, best: str) -> np.ndarray:
    """Return the expected best of k scores drawn at random without replacement, for every k from 1.

    Args:
        scores: one per setting, [setting]; a diverged one counts as the worst finite score.
        best: "max" or "min".

    Returns:
        (number of scores,); NaN where every setting diverged.
    """
    finite = np.where(np.isfinite(scores), np.asarray(scores, float), np.nan)
    if np.isnan(finite).all():
        return np.full(len(finite), np.nan)
    sign = SIGN[best]
    ordered = np.sort(sign * np.where(np.isnan(finite), sign * np.nanmin(sign * finite), finite))[::-1]
    n, k, place = len(ordered), np.arange(1, len(ordered) + 1)[:, None], np.arange(len(ordered))
    # A score is the best of k if it is drawn, none of the better ones is, and k - 1 of the worse ones are.
    with np.errstate(invalid="ignore"):
        log_share = _log_choose(n - 1 - place, k - 1) - _log_choose(n, k)
    return sign * np.exp(log_share) @ ordered


def _log_choose(n, k) -> np.ndarray:
    """Logarithm of n over k; -inf for k > n."""
    n, k = np.broadcast_arrays(n, k)
    possible = np.where(k <= n, k, 0)
    return np.where(k <= n, gammaln(n + 1) - gammaln(possible + 1) - gammaln(n - possible + 1), -np.inf)


def curves(tuning: pd.DataFrame, *, metric: str, best: str) -> pd.DataFrame:
    """Return the expected held-out score of the best setting against the number of settings tried.

    Args:
        tuning: runs of `bench.comparison.result.Tuning`; those of a setting with further seeds are left out.
        metric: the column by which settings are chosen.
        best: "max" or "min".

    Returns:
        algorithm, target_epsilon, num_settings, the metric with low, high (95 % interval over splits), repetitions and
        the kind of "mean"; "looks" is the number of refinements near the best setting that the budget includes.
    """
    rows = []
    tuning = tuning.sort_values("look", kind="stable").drop_duplicates([*KEYS, "trial", "setting"])
    for (label, epsilon, trial), tried in tuning.groupby([*KEYS, "trial"]):
        first = tried.loc[tried["look"] == 0, metric]
        of_split = {"algorithm": label, "target_epsilon": epsilon, "trial": trial}
        expected = expected_best(first.astype(float).to_numpy(), best)
        rows += [of_split | {"num_settings": k, metric: value, "looks": 0} for k, value in enumerate(expected, 1)]
        for look in sorted(set(tried["look"]) - {0}):
            until = tried.loc[tried["look"] <= look, metric].astype(float).replace([np.inf, -np.inf], np.nan)
            reached = SIGN[best] * (SIGN[best] * until).max()
            rows.append(of_split | {"num_settings": len(until), metric: reached, "looks": look})
    by = [*KEYS, "num_settings", "looks"]
    return select.averaged(pd.DataFrame(rows).assign(seed=0), by=by, value=metric)


def better_from(curves: pd.DataFrame, label: str, other: str, *, metric: str, best: str) -> float:
    """Return the smallest budget from which on a method is expected to beat another one with the same budget.

    The score of a method stays constant once all its settings have been tried.

    Args:
        curves: from `curves`, at one epsilon; a method that releases nothing may have another.
        label: name of the method that may be better.
        other: name of the method that it is compared with.
        metric: their column.
        best: "max" or "min".

    Returns:
        The number of settings; NaN where the method is not better at the largest budget.
    """
    lines = [curves[curves["algorithm"] == name].set_index("num_settings")[metric] for name in (label, other)]
    budgets = sorted(set().union(*(line.index for line in lines)))
    one, two = (SIGN[best] * line.astype(float).reindex(budgets).ffill() for line in lines)
    ahead = (one > two).to_numpy()
    if not ahead[-1]:
        return np.nan
    behind = np.flatnonzero(~ahead)
    return float(budgets[behind[-1] + 1] if len(behind) else budgets[0])


def all_better_from(curves: pd.DataFrame, table: pd.DataFrame, *, metric: str, best: str) -> list[float]:
    """`better_from` for every row of a table of methods, against the row's best baseline."""
    found = []
    for row in table.to_dict("records"):
        here = curves[curves["target_epsilon"].isin([0.0, row["target_epsilon"]])]
        found.append(better_from(here, row["algorithm"], row["best_baseline"], metric=metric, best=best))
    return found
