"""How accuracy by user decides what pooled accuracy leaves open. Not in the paper, so these claims are ours."""

from collections.abc import Callable
from functools import wraps

import pandas as pd

from figures.ppsgd import claims_digits as digits
from figures.ppsgd.claims_digits import POINTS, by_each_tuning, final_accuracy, percent, silent
from figures.shared.margins import Margin, paired
from figures.shared.verdicts import NotTestable, Verdict

SMALL, LARGE = "test_accuracy_small_users", "test_accuracy_large_users"


def by(column: str, check: Callable[[pd.DataFrame], Verdict]) -> Callable[[pd.DataFrame], Verdict]:
    """A check of pooled test accuracy, on another accuracy in its place.

    Args:
        column: of that accuracy.
        check: of runs with test_accuracy.
    """

    @wraps(check)
    def of_users(runs: pd.DataFrame) -> Verdict:
        return check(_with(runs, column))

    return of_users


def _with(runs: pd.DataFrame, column: str) -> pd.DataFrame:
    if column not in runs or runs[column].isna().all():
        raise NotTestable("the runs have no accuracy by user")
    return runs.assign(test_accuracy=runs[column])


def small_gain_more(runs: pd.DataFrame) -> Verdict:
    """No noise: what users with few examples gain from global over local learning is more than users with many gain."""
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
