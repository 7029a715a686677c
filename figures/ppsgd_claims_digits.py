"""How runs on digits by client decide what Bietti et al. 2022 claim of Figures 1c and 2.

A claim must come out the same with the step size chosen on test data, as in the paper, and on held-out data.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd

from figures import ppsgd_digits as digits
from figures import select
from figures.ppsgd_runs import GLOBAL, LOCAL, shown
from figures.verdicts import FAILS, HOLDS, NotTestable, Verdict, repeated, require, verdict

NEAR_ONE = (0.5, 2.0)  # epsilon


def _final_accuracy(runs: pd.DataFrame, tuning: str) -> pd.DataFrame:
    """Final test accuracy with its interval, and epsilon; index (noise_multiplier, personalization).

    Raises:
        NotTestable: where local or global learning is missing, or there is one repetition.
    """
    runs = shown(runs)
    runs = runs[runs["rounds"] == runs["num_rounds"]]
    require(runs["personalization"], [LOCAL, GLOBAL], "a", " at the last round")
    table = select.tuned_curves(
        runs,
        by=["noise_multiplier", "personalization"],
        value="test_accuracy",
        best="max",
        tunings={tuning: digits.TUNINGS[tuning]},
        carry=["epsilon"],
    )
    repeated(table["repetitions"].min())
    measured = ["test_accuracy", "low", "high"]
    table[measured] = table[measured].fillna(-np.inf)  # diverged: worse than anything
    return table.set_index(["noise_multiplier", "personalization"]).sort_index()


def both_tunings(decide: Callable) -> Callable:
    """A check that must come out the same with the step size chosen on test and on held-out data."""

    def check(runs: pd.DataFrame) -> Verdict:
        outcomes = {tuning: decide(_final_accuracy(runs, tuning)) for tuning in digits.TUNINGS}
        evidence = [f"step by {t}: {HOLDS if holds else FAILS}, {e}" for t, (holds, e) in outcomes.items()]
        return verdict(all(holds for holds, _ in outcomes.values()), "; ".join(evidence))

    check.__doc__ = decide.__doc__
    return check


def percent(row: pd.Series) -> str:
    """An accuracy with its interval, in words."""
    if not np.isfinite(row["test_accuracy"]):
        return "diverged"
    return f"{100 * row['test_accuracy']:.2f} % [{100 * row['low']:.2f}, {100 * row['high']:.2f}]"


def sharing(table: pd.DataFrame, sigma: float) -> pd.DataFrame:
    """The rows of one noise level with a > 0, by a."""
    rows = table[table.index.get_level_values("noise_multiplier") == sigma].droplevel("noise_multiplier")
    return rows[rows.index > LOCAL]


def silent(table: pd.DataFrame) -> tuple[pd.Series, pd.Series, pd.DataFrame]:
    """Without noise: local, global, and what lies in between, by a."""
    local, silent = table.loc[(0.0, LOCAL)], sharing(table, 0.0)
    require(silent.index, [GLOBAL], "a", " and sigma = 0")
    return local, silent.loc[GLOBAL], silent.drop(GLOBAL)


@both_tunings
def without_noise(table: pd.DataFrame):
    """No noise: global beats local by more than the intervals over repetitions."""
    local, shared, _ = silent(table)
    return bool(shared["low"] > local["high"]), f"local {percent(local)}, global {percent(shared)}"


@both_tunings
def between_without_noise(table: pd.DataFrame):
    """No noise: some a in between beats both, by more than the intervals over repetitions."""
    local, shared, between = silent(table)
    if between.empty:
        raise NotTestable("no a in between without noise")
    a = between["low"].idxmax()
    return bool(between.loc[a, "low"] > max(local["high"], shared["high"])), (
        f"a = {a:g} {percent(between.loc[a])}, global {percent(shared)}, local {percent(local)}"
    )


@both_tunings
def strong_privacy(table: pd.DataFrame):
    """At the noise whose epsilon is nearest to 1, the smallest a > 0 is the best of all a > 0, on average."""
    epsilon = table.loc[table.index.get_level_values("personalization") > LOCAL, "epsilon"]
    epsilon = epsilon[np.isfinite(epsilon) & (epsilon > 0)].groupby(level="noise_multiplier").mean()
    if epsilon.empty:
        raise NotTestable("no runs with noise")
    sigma = np.log(epsilon).abs().idxmin()
    if not NEAR_ONE[0] < epsilon[sigma] < NEAR_ONE[1]:
        raise NotTestable(f"the nearest epsilon to 1 is {epsilon[sigma]:.2g}")
    rows = sharing(table, sigma).sort_index()
    if len(rows) < 2:
        raise NotTestable(f"two values of a > 0 are needed at sigma = {sigma:g}")
    smallest, others = rows.iloc[0], rows.iloc[1:]
    other = others["test_accuracy"].idxmax()
    return bool(smallest["test_accuracy"] > others.loc[other, "test_accuracy"]), (
        f"sigma {sigma:g}, epsilon {epsilon[sigma]:.2f}: a = {rows.index[0]:g} {percent(smallest)}, "
        f"best other a = {other:g} {percent(others.loc[other])}, "
        f"for comparison local {percent(table.loc[(0.0, LOCAL)])}"
    )


@both_tunings
def strict_gain(table: pd.DataFrame):
    """At some finite epsilon, an a in between beats local and global by more than the intervals over repetitions."""
    local, gains = table.loc[(0.0, LOCAL)], []
    for sigma in table.index.get_level_values("noise_multiplier").unique():
        rows = sharing(table, sigma)
        between = rows.drop(GLOBAL, errors="ignore")
        if sigma > 0 and GLOBAL in rows.index and len(between):
            a = between["low"].idxmax()
            bar = max(local["high"], rows.loc[GLOBAL, "high"])
            gains.append((between.loc[a, "low"] - bar, sigma, a, rows.loc[GLOBAL], between.loc[a]))
    if not gains:
        raise NotTestable("no noise level has both global learning and an a in between")
    gain, sigma, a, shared, best = max(gains, key=lambda item: np.nan_to_num(item[0], nan=-np.inf))
    return bool(gain > 0), (
        f"largest gap at sigma {sigma:g}, epsilon {best['epsilon']:.3g}: a = {a:g} {percent(best)}, "
        f"global {percent(shared)}, local {percent(local)}"
    )
