"""How runs on digits by client decide what Bietti et al. 2022 claim of Figures 1c and 2.

A claim must come out the same with the step size chosen on test data, as in the paper, and on held-out data.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from bench.analysis import select
from figures.ppsgd import common
from figures.ppsgd import digits as digits
from figures.ppsgd.common import GLOBAL, LOCAL, ppsgd_runs
from figures.shared.derived import derived
from figures.shared.margins import BEYOND, Margin, measured, paired
from figures.shared.verdicts import FAILS, HOLDS, NotTestable, Verdict, repeated, require, verdict

NEAR_ONE = (0.5, 2.0)  # epsilon
PRIVATE = 10.0  # the largest epsilon that is called private
POINTS = "points of accuracy"


@derived
def _final_accuracy(runs: pd.DataFrame, tuning: str) -> pd.DataFrame:
    """Final test accuracy with its interval, and epsilon; index (noise_multiplier, personalization).

    "by_repetition" holds a Series of the accuracies that the mean is of.

    Raises:
        NotTestable: where local or global learning is missing, or there is one repetition.
    """
    runs = ppsgd_runs(runs)
    runs = runs[runs["rounds"] == runs["num_rounds"]]
    require(runs["personalization"], [LOCAL, GLOBAL], "alpha Q", " at the last round")
    by = ["noise_multiplier", "personalization"]
    table = select.tuned_curves(
        runs,
        by=by,
        value="test_accuracy",
        best="max",
        tunings={tuning: digits.TUNINGS[tuning]},
        carry=["epsilon"],
    )
    repeated(table["repetitions"].min())
    measured = ["test_accuracy", "low", "high"]
    table[measured] = table[measured].fillna(-np.inf)  # diverged: worse than anything
    table = table.set_index(by).sort_index()
    rows = runs.merge(table.reset_index()[[*by, "step_size"]], on=[*by, "step_size"])
    accuracy = rows.set_index(select.REPETITION)["test_accuracy"]
    single = {cell: accuracy.iloc[places] for cell, places in rows.groupby(by).indices.items()}
    return table.assign(by_repetition=pd.Series(single).reindex(table.index))


def _by_each_tuning(decide: Callable) -> Verdict:
    """The verdict on what `decide` says of each way of tuning: holds, evidence, margins."""
    outcomes = {tuning: decide(tuning) for tuning in digits.TUNINGS}
    evidence = [f"step by {t}: {HOLDS if holds else FAILS}, {e}" for t, (holds, e, _) in outcomes.items()]
    margins = [one for *_, found in outcomes.values() for one in found]
    return verdict(all(holds for holds, *_ in outcomes.values()), "; ".join(evidence), margins)


def both_tunings(decide: Callable) -> Callable:
    """A check that must come out the same with the step size chosen on test and on held-out data."""

    def check(runs: pd.DataFrame) -> Verdict:
        return _by_each_tuning(lambda tuning: decide(_final_accuracy(runs, tuning)))

    check.__doc__ = decide.__doc__
    return check


def percent(row: pd.Series) -> str:
    """An accuracy with its interval, in words."""
    if not np.isfinite(row["test_accuracy"]):
        return "diverged"
    return f"{100 * row['test_accuracy']:.2f} % [{100 * row['low']:.2f}, {100 * row['high']:.2f}]"


def lead(first: pd.Series, second: pd.Series) -> Margin:
    """By how many points one cell of the table is ahead of another, repetition by repetition; they share users."""
    gaps = 100 * (first["by_repetition"].astype(float) - second["by_repetition"].astype(float))
    if not np.isfinite([first["test_accuracy"], second["test_accuracy"]]).all():  # one of them diverged
        return gap(first["test_accuracy"], second["test_accuracy"])
    return paired(gaps.dropna(), POINTS)


def gap(low: float, high: float) -> Margin:
    """By how many points the lower end of an interval is above the upper end of another."""
    return measured(100 * (low - high) if low > -np.inf else -np.inf, POINTS, BEYOND)


def sharing(table: pd.DataFrame, sigma: float) -> pd.DataFrame:
    """The rows of one noise level with alpha Q > 0, by alpha Q."""
    rows = table[table.index.get_level_values("noise_multiplier") == sigma].droplevel("noise_multiplier")
    return rows[rows.index > LOCAL]


def silent(table: pd.DataFrame) -> tuple[pd.Series, pd.Series, pd.DataFrame]:
    """Without noise: local, global, and what lies in between, by alpha Q."""
    local, silent = select.row(table, (0.0, LOCAL)), sharing(table, 0.0)
    require(silent.index, [GLOBAL], "alpha Q", " and sigma = 0")
    return local, select.row(silent, GLOBAL), silent.drop(GLOBAL)


@both_tunings
def without_noise(table: pd.DataFrame):
    """No noise: global beats local by more than the intervals over repetitions."""
    local, shared, _ = silent(table)
    said = f"local {percent(local)}, global {percent(shared)}"
    return bool(shared["low"] > local["high"]), said, [gap(shared["low"], local["high"])]


@both_tunings
def between_without_noise(table: pd.DataFrame):
    """No noise: some alpha Q in between beats both, by more than the intervals over repetitions."""
    local, shared, between = silent(table)
    if between.empty:
        raise NotTestable("no alpha Q in between without noise")
    a = between["low"].idxmax()
    best, bar = select.row(between, a), max(local["high"], shared["high"])
    said = f"alpha Q = {a:g} {percent(best)}, global {percent(shared)}, local {percent(local)}"
    return bool(best["low"] > bar), said, [gap(best["low"], bar)]


@both_tunings
def strong_privacy(table: pd.DataFrame):
    """At the noise whose epsilon is nearest to 1, the smallest alpha Q > 0 has the best mean of all alpha Q > 0."""
    epsilon = table.loc[table.index.get_level_values("personalization") > LOCAL, "epsilon"]
    epsilon = epsilon[np.isfinite(epsilon) & (epsilon > 0)].groupby(level="noise_multiplier").mean()
    if epsilon.empty:
        raise NotTestable("no runs with noise")
    sigma: Any = epsilon.apply(np.log).abs().idxmin()
    if not NEAR_ONE[0] < epsilon[sigma] < NEAR_ONE[1]:
        raise NotTestable(f"the nearest epsilon to 1 is {epsilon[sigma]:.2g}")
    rows = sharing(table, sigma).sort_index()
    if len(rows) < 2:
        raise NotTestable(f"two values of alpha Q > 0 are needed at sigma = {sigma:g}")
    smallest, others = rows.iloc[0], rows.iloc[1:]
    other: Any = others["test_accuracy"].idxmax()
    said = (
        f"sigma {sigma:g}, epsilon {epsilon[sigma]:.2f}: alpha Q = {rows.index[0]:g} {percent(smallest)}, "
        f"best other alpha Q = {other:g} {percent(others.loc[other])}, "
        f"for comparison local {percent(select.row(table, (0.0, LOCAL)))}"
    )
    ahead = bool(smallest["test_accuracy"] > others.loc[other, "test_accuracy"])
    return ahead, said, [lead(smallest, others.loc[other])]


@both_tunings
def strict_gain(table: pd.DataFrame):
    """At some finite epsilon, an alpha Q in between beats local and global by more than the intervals."""
    local, gains = select.row(table, (0.0, LOCAL)), []
    for sigma in table.index.get_level_values("noise_multiplier").unique():
        rows = sharing(table, sigma)
        between = rows.drop(GLOBAL, errors="ignore")
        if sigma > 0 and GLOBAL in rows.index and len(between):
            a, shared = between["low"].idxmax(), select.row(rows, GLOBAL)
            best = select.row(between, a)
            gains.append((best["low"] - max(local["high"], shared["high"]), sigma, a, shared, best))
    if not gains:
        raise NotTestable("no noise level has both global learning and an alpha Q in between")
    gain, sigma, a, shared, best = max(gains, key=lambda item: np.nan_to_num(item[0], nan=-np.inf))
    said = (
        f"largest gap at sigma {sigma:g}, epsilon {best['epsilon']:.3g}: alpha Q = {a:g} {percent(best)}, "
        f"global {percent(shared)}, local {percent(local)}"
    )
    return bool(gain > 0), said, [gap(gain, 0.0)]


def over_learning_alone(runs: pd.DataFrame) -> Verdict:
    """At an epsilon of 10 or less, some alpha Q > 0 beats users who learn alone for longer, by more than the intervals
    over repetitions; epsilon as the paper counts it."""

    def decide(tuning: str):
        table, alone = _final_accuracy(runs, tuning), common.alone(runs, {tuning: digits.TUNINGS[tuning]})
        if alone.empty:
            raise NotTestable(f"no runs of {common.ALONE}")
        repeated(alone["repetitions"].min())
        bar = alone.iloc[0]
        shared = table[table.index.get_level_values("personalization") > LOCAL]
        private = shared[shared["epsilon"] <= PRIVATE]
        if private.empty:
            raise NotTestable(f"no runs with an epsilon of {PRIVATE:g} or less")
        at: Any = private["low"].idxmax()
        best = select.row(private, at)
        reached = shared.loc[(shared["low"] > bar["high"]) & np.isfinite(shared["epsilon"]), "epsilon"]
        least = f"from epsilon {reached.min():.3g} on" if len(reached) else "at no finite epsilon"
        said = (
            f"{bar['num_rounds']:g} steps alone {percent(bar)}, best at epsilon {best['epsilon']:.3g} "
            f"alpha Q = {at[1]:g} {percent(best)}, some alpha Q is beyond them {least}"
        )
        return bool(best["low"] > bar["high"]), said, [gap(best["low"], bar["high"])]

    return _by_each_tuning(decide)
