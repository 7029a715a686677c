"""Checks of the claims of Bietti et al. 2022 on Figures 1c and 2, by runs on digits by client.

A claim must come out the same with the step size chosen on test data, as in the paper, and on held-out data.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from bench.analysis import select
from figures.ppsgd import common
from figures.ppsgd import digits as digits
from figures.ppsgd.common import GLOBAL, LOCAL, ppsgd_runs
from figures.shared.derived import derived
from figures.shared.margins import LEVEL, Margin, every, paired, some
from figures.shared.verdicts import NotTestable, Verdict, require, verdict

NEAR_ONE = (0.5, 2.0)  # epsilon
PRIVATE = 10.0  # the largest epsilon that is called private
POINTS = "points of accuracy"


@derived
def final_accuracy(runs: pd.DataFrame, tuning: str, further: bool = True) -> pd.DataFrame:
    """Final test accuracy with its interval, and epsilon; index (noise_multiplier, personalization).

    The column "by_repetition" has a Series of the accuracies behind the mean.

    Args:
        runs: of one sweep.
        tuning: a key of `digits.TUNINGS`.
        further: whether step sizes beyond the published grid count as well.

    Raises:
        NotTestable: where local or global learning is missing.
    """
    runs = ppsgd_runs(runs, further=further)
    runs = runs[runs["rounds"] == runs["num_rounds"]]
    require(runs["personalization"], [LOCAL, GLOBAL], "alpha Q", " at the last round")
    by = ["noise_multiplier", "personalization"]
    table = tuned_cells(runs, tuning, by)
    table["test_accuracy"] = table["test_accuracy"].fillna(-np.inf)  # diverged: worse than anything
    return with_repetitions(table, runs, by)


def tuned_cells(runs: pd.DataFrame, tuning: str, by: list[str]) -> pd.DataFrame:
    """Return the test accuracy of every cell at its best step size by `tuning`, a key of `digits.TUNINGS`."""
    return select.tuned_curves(
        runs,
        by=by,
        value="test_accuracy",
        best="max",
        tunings={tuning: digits.TUNINGS[tuning]},
        carry=["epsilon"],
    )


def with_repetitions(table: pd.DataFrame, runs: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Return a table of tuned cells, by cell, with the test accuracies of their repetitions in "by_repetition"."""
    rows = runs.merge(table[[*by, "step_size"]], on=[*by, "step_size"])
    rows = rows.sort_values(select.REPETITION, kind="stable")  # in one order, so that cells need no aligning
    accuracy = rows.set_index(select.REPETITION)["test_accuracy"].astype(float)
    single = {cell: accuracy.iloc[places] for cell, places in rows.groupby(by).indices.items()}
    table = table.set_index(by).sort_index()
    return table.assign(by_repetition=pd.Series(single).reindex(table.index))


def by_each_tuning(decide: Callable) -> Verdict:
    """Return the verdict on the margins and evidence that `decide` returns for each way of tuning."""
    decided = {tuning: verdict(*decide(tuning)) for tuning in digits.TUNINGS}
    evidence = [f"step by {tuning}: {found.outcome}, {found.evidence}" for tuning, found in decided.items()]
    margins = [found.margin.named(f"step by {tuning}") for tuning, found in decided.items() if found.margin]
    return verdict(every(margins), "; ".join(evidence))


def both_tunings(decide: Callable, further: bool = True) -> Callable:
    """Return a check that must come out the same with the step size chosen on test and on held-out data.

    Args:
        decide: table of `final_accuracy` -> margin and evidence.
        further: whether step sizes beyond the published grid count as well.
    """

    def check(runs: pd.DataFrame) -> Verdict:
        return by_each_tuning(lambda tuning: decide(final_accuracy(runs, tuning, further)))

    check.__doc__, check.__name__ = decide.__doc__, decide.__name__
    return check


def percent(row: pd.Series) -> str:
    """Return an accuracy with its interval, in words."""
    if not np.isfinite(row["test_accuracy"]):
        return "diverged"
    if not np.isfinite(row["low"]):
        return f"{100 * row['test_accuracy']:.2f} %, one repetition"
    low, high = np.clip([row["low"], row["high"]], 0, 1)  # Student's t knows no bounds
    return f"{100 * row['test_accuracy']:.2f} % [{100 * low:.2f}, {100 * high:.2f}]"


def lead(first: pd.Series, second: pd.Series, by: float = 0.0) -> Margin:
    """Return the lead of one cell of the table over another in points, by repetition, as cells share the users.

    Args:
        first, second: cells, each with the edge of the grid of steps that it rests on.
        by: accuracy that must be exceeded.
    """
    edges = [f"{cell_name(cell)}: {cell['edge']}" for cell in (first, second) if cell["edge"]]
    margin = paired(100 * (_difference(first["by_repetition"], second["by_repetition"]) - by), POINTS)
    return margin.on(*edges).named(f"{_side(first)} over {_side(second)}")


def _side(cell: pd.Series) -> str:
    """Return a cell in words, local and global learning by name."""
    sigma, a = cell.name if isinstance(cell.name, tuple) else (0.0, cell.name)
    if a not in (LOCAL, GLOBAL):
        return cell_name(cell)
    return ("local" if a == LOCAL else "global") + (f", sigma = {sigma:g}" if sigma else "")


def _difference(first: pd.Series, second: pd.Series) -> np.ndarray:
    """Return the differences by repetition, of the repetitions that both have; -inf where the first diverged, and else
    inf where the second did."""
    if not first.index.equals(second.index):  # aligning takes fifty times as long as the subtraction
        first, second = first.align(second, join="inner")
    one, other = first.to_numpy(float), second.to_numpy(float)
    both = np.isfinite(one) & np.isfinite(other)
    return np.subtract(one, other, out=np.where(np.isfinite(one), np.inf, -np.inf), where=both)


def cell_name(cell: pd.Series) -> str:
    """Return a cell in words: its alpha Q, and its sigma where there are several."""
    if not isinstance(cell.name, tuple):
        return f"alpha Q = {cell.name:g}" if isinstance(cell.name, float) else common.ALONE
    sigma, a = cell.name
    return f"alpha Q = {a:g}, sigma = {sigma:g}"


def sharing(table: pd.DataFrame, sigma: float) -> pd.DataFrame:
    """Return the rows of one noise level with alpha Q > 0, by alpha Q."""
    rows = table[table.index.get_level_values("noise_multiplier") == sigma].droplevel("noise_multiplier")
    return rows[rows.index > LOCAL]


def private(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows whose epsilon, as the paper counts it, is called private."""
    return rows[rows["epsilon"] <= PRIVATE]


def cells(rows: pd.DataFrame) -> list[pd.Series]:
    """Return the rows of a table as a list."""
    return [row for _, row in rows.iterrows()]


def silent(table: pd.DataFrame) -> tuple[pd.Series, pd.Series, pd.DataFrame]:
    """Without noise: local learning, global learning, and the values of alpha Q in between."""
    local, silent = select.row(table, (0.0, LOCAL)), sharing(table, 0.0)
    require(silent.index, [GLOBAL], "alpha Q", " and sigma = 0")
    return local, select.row(silent, GLOBAL), silent.drop(GLOBAL)


@both_tunings
def without_noise(table: pd.DataFrame):
    """No noise: global beats local."""
    local, shared, _ = silent(table)
    return lead(shared, local), f"local {percent(local)}, global {percent(shared)}"


@both_tunings
def between_without_noise(table: pd.DataFrame):
    """No noise: some alpha Q in between beats both local and global."""
    local, shared, between = silent(table)
    if between.empty:
        raise NotTestable("no alpha Q in between without noise")
    a: Any = between["test_accuracy"].idxmax()
    best = select.row(between, a)
    evidence = f"alpha Q = {a:g} {percent(best)}, global {percent(shared)}, local {percent(local)}"
    return some(every([lead(cell, local), lead(cell, shared)]) for cell in cells(between)), evidence


@both_tunings
def strong_privacy(table: pd.DataFrame):
    """At the noise whose epsilon is nearest to 1, the smallest alpha Q > 0 beats every other alpha Q > 0."""
    sigma, epsilon = near_one(table)
    margin, evidence = smallest_is_best(table, sigma)
    return margin, f"sigma {sigma:g}, epsilon {epsilon:.2f}: {evidence}"


def near_one(table: pd.DataFrame) -> tuple[float, float]:
    """Return the noise whose epsilon is nearest to 1, by their ratio, and that epsilon.

    Raises:
        NotTestable: where it is not near 1.
    """
    epsilon = table.loc[table.index.get_level_values("personalization") > LOCAL, "epsilon"]
    epsilon = epsilon[np.isfinite(epsilon) & (epsilon > 0)].groupby(level="noise_multiplier").mean()
    if epsilon.empty:
        raise NotTestable("no runs with noise")
    sigma: Any = epsilon.apply(np.log).abs().idxmin()
    if not NEAR_ONE[0] < epsilon[sigma] < NEAR_ONE[1]:
        raise NotTestable(f"the nearest epsilon to 1 is {epsilon[sigma]:.2g}")
    return sigma, float(epsilon[sigma])


def smallest_is_best(table: pd.DataFrame, sigma: float) -> tuple[Margin, str]:
    """Return the lead of the smallest alpha Q > 0 over every other at one noise level, and the evidence.

    Raises:
        NotTestable: where there are fewer than two alpha Q > 0.
    """
    rows = sharing(table, sigma).sort_index()
    if len(rows) < 2:
        raise NotTestable(f"two values of alpha Q > 0 are needed at sigma = {sigma:g}")
    smallest, others = rows.iloc[0], rows.iloc[1:]
    other: Any = others["test_accuracy"].idxmax()
    evidence = (
        f"alpha Q = {rows.index[0]:g} {percent(smallest)}, "
        f"best other alpha Q = {other:g} {percent(others.loc[other])}, "
        f"for comparison local {percent(select.row(table, (0.0, LOCAL)))}"
    )
    return every(lead(smallest, cell) for cell in cells(others)), evidence


@both_tunings
def strict_gain(table: pd.DataFrame):
    """At some epsilon of at most 10, an alpha Q in between beats local and global."""
    local, margins, gains = select.row(table, (0.0, LOCAL)), [], []
    for sigma in table.index.get_level_values("noise_multiplier").unique():
        rows = private(sharing(table, sigma))
        between = rows.drop(GLOBAL, errors="ignore")
        if GLOBAL in rows.index and len(between):
            shared = select.row(rows, GLOBAL)
            best = select.row(between, between["test_accuracy"].idxmax())
            margin = some(every([lead(cell, local), lead(cell, shared)]) for cell in cells(between))
            margins.append(margin.named(f"sigma = {sigma:g}"))
            scores = [float(cell["test_accuracy"]) for cell in (best, local, shared)]
            gain = scores[0] - max(scores[1:]) if np.isfinite(scores).all() else -math.inf  # some diverged
            gains.append((gain, sigma, shared, best))
    if not gains:
        raise NotTestable(
            f"no noise of an epsilon of {PRIVATE:g} or less has both global learning and an alpha Q in between"
        )
    _, sigma, shared, best = max(gains, key=lambda gain: gain[0])
    evidence = (
        f"largest gain at sigma {sigma:g}, epsilon {best['epsilon']:.3g}: alpha Q = {best.name:g} {percent(best)}, "
        f"global {percent(shared)}, local {percent(local)}"
    )
    return some(margins), evidence


def over_learning_alone(runs: pd.DataFrame) -> Verdict:
    """At an epsilon of 10 or less, some alpha Q > 0 beats users who learn alone for longer; epsilon as the paper counts
    it."""

    def decide(tuning: str):
        table, alone = final_accuracy(runs, tuning), common.alone(runs, {tuning: digits.TUNINGS[tuning]})
        if alone.empty:
            raise NotTestable(f"no runs of {common.ALONE}")
        final = runs[(runs["algorithm"] == common.ALONE) & (runs["rounds"] == runs["num_rounds"])]
        bar = with_repetitions(alone, final, ["num_rounds"]).iloc[0]
        shared = table[table.index.get_level_values("personalization") > LOCAL]
        few = private(shared)
        if few.empty:
            raise NotTestable(f"no runs with an epsilon of {PRIVATE:g} or less")
        at: Any = few["test_accuracy"].idxmax()
        best = select.row(few, at)
        beyond = [row["epsilon"] for row in cells(shared) if lead(row, bar).p_holds < LEVEL]
        reached = [epsilon for epsilon in beyond if np.isfinite(epsilon)]
        least = f"from epsilon {min(reached):.3g} on" if reached else "at no finite epsilon"
        evidence = (
            f"{bar.name:g} steps alone {percent(bar)}, best at epsilon {best['epsilon']:.3g} "
            f"alpha Q = {at[1]:g} {percent(best)}, some alpha Q is beyond them {least}"
        )
        return some(lead(row, bar) for row in cells(few)), evidence

    return by_each_tuning(decide)
