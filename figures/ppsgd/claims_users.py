"""Checks of claims of ours on accuracy by user, which the pooled accuracy of the paper leaves open."""

from collections.abc import Callable
from functools import wraps

import pandas as pd

from figures.ppsgd import claims_digits as digits
from figures.ppsgd.claims_digits import POINTS, by_each_tuning, final_accuracy, percent, silent
from figures.shared.derived import derived
from figures.shared.margins import Margin, paired
from figures.shared.verdicts import NotTestable, Verdict

SMALL, LARGE = "test_accuracy_small_users", "test_accuracy_large_users"


def by(column: str, check: Callable[[pd.DataFrame], Verdict]) -> Callable[[pd.DataFrame], Verdict]:
    """Return a check of pooled test accuracy, applied to another accuracy.

    Args:
        column: the column of the other accuracy.
        check: a check of runs with test_accuracy.
    """

    @wraps(check)
    def of_users(runs: pd.DataFrame) -> Verdict:
        return check(_with(runs, column))

    return of_users


@derived
def _with(runs: pd.DataFrame, column: str) -> pd.DataFrame:
    if column not in runs or runs[column].isna().all():
        raise NotTestable("the runs have no accuracy by user")
    return runs.assign(test_accuracy=runs[column])


def small_gain_more(runs: pd.DataFrame) -> Verdict:
    """No noise: users with few examples gain more from global over local learning than users with many."""
    tables = [_with(runs, column) for column in (SMALL, LARGE)]

    def decide(tuning: str) -> tuple[Margin, str]:
        gains, words, edges = [], [], []
        for name, table in zip(("few", "many"), tables, strict=True):
            local, shared, _ = silent(final_accuracy(table, tuning))
            gains.append(shared["by_repetition"] - local["by_repetition"])
            words.append(f"{name} examples: local {percent(local)}, global {percent(shared)}")
            edges += digits.lead(shared, local).edges
        return paired(100 * (gains[0] - gains[1]).dropna(), POINTS).on(*edges), "; ".join(words)

    return by_each_tuning(decide)
