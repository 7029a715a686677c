"""Checks of the claims of Bietti et al. 2022 on Figures 1b, 1d and 2, by runs on tags and with the network.

Claims about all data sets are checked in `figures.ppsgd.claims_digits`. As there, a claim must come out the same with
the step size chosen on test data, as in the paper, and on held-out data.
"""

from typing import Any

import numpy as np
import pandas as pd

from bench.analysis import select
from bench.analysis.select import half_width
from figures.ppsgd import digits as digits
from figures.ppsgd.claims_digits import (
    POINTS,
    both_tunings,
    by_each_tuning,
    cell_name,
    cells,
    final_accuracy,
    lead,
    near_one,
    percent,
    private,
    sharing,
    silent,
    tuned_cells,
    with_repetitions,
)
from figures.ppsgd.common import GLOBAL, LOCAL, at_step_without_noise, ppsgd_runs
from figures.shared.edges import distinct
from figures.shared.margins import Margin, apart, every, paired, some
from figures.shared.verdicts import NotTestable, Verdict, require

DEGRADED = 0.01  # of accuracy: what may be lost during training without being said to degrade; a threshold of ours
FAR = 0.1  # of accuracy: what "very poorly" and "quickly degrade" mean; a threshold of ours
TEN = 10.0  # the alpha Q that the paper names as the best
WEAK = 10.0  # epsilon from which privacy is called weak


def large_degrade(runs: pd.DataFrame) -> Verdict:
    """At some noise level global learning ends more than a point below an earlier accuracy of its own, and the smallest
    alpha Q > 0 ends less than a point below any earlier one of its own at all noise levels."""
    noisy = ppsgd_runs(runs, further=True)
    noisy = noisy[(noisy["noise_multiplier"] > 0) & (noisy["personalization"] > LOCAL) & (noisy["rounds"] > 0)]
    if GLOBAL not in set(noisy["personalization"]):
        raise NotTestable("no noisy runs of global learning")
    return by_each_tuning(lambda tuning: _large_falls(noisy, tuning))


def large_degrade_at_one_step(runs: pd.DataFrame) -> Verdict:
    """At the noise whose epsilon is nearest to 1, with the published step size that is the best without noise, global
    learning ends more than a point below an earlier accuracy of its own, and the smallest alpha Q > 0 less than a point
    below any earlier one of its own; the accuracy before the first round counts."""
    ours = ppsgd_runs(runs)
    ours = ours[ours["personalization"] > LOCAL]

    def decide(tuning: str):
        rows = at_step_without_noise(ours, digits.TUNINGS[tuning])
        ends = rows[rows["rounds"] == rows["num_rounds"]].set_index(["noise_multiplier", "personalization"])
        sigma, _ = near_one(ends)
        rows = rows[rows["noise_multiplier"] == sigma]
        large = rows[rows["personalization"] == GLOBAL]
        if large.empty:
            raise NotTestable(f"no runs of global learning without noise and at sigma = {sigma:g}")
        margin, evidence = _large_falls(rows, tuning)
        return margin.on(*(f"alpha Q = inf: {edge}" for edge in distinct(large))), evidence

    return by_each_tuning(decide)


def _large_falls(noisy: pd.DataFrame, tuning: str) -> tuple[Margin, str]:
    """Return the margin by which the curve of global learning falls at some noise level by more than a point, and that
    of the smallest alpha Q > 0 at none; and the largest fall of each in words."""
    by = ["noise_multiplier", "personalization", "rounds"]
    small = noisy["personalization"].min()
    curves = with_repetitions(tuned_cells(noisy, tuning, by), noisy, by)
    ratio = curves.index.get_level_values("personalization")
    large_falls, small_falls = (_falls(curves[ratio == a]) for a in (GLOBAL, small))
    margins = [
        some(paired(100 * (fall - DEGRADED), POINTS).named(f"alpha Q = inf, {at}") for fall, at, _ in large_falls),
        every(
            paired(100 * (DEGRADED - fall), POINTS).named(f"alpha Q = {small:g}, {at}") for fall, at, _ in small_falls
        ),
    ]
    worst = [max(falls, key=lambda fall: fall[0].mean())[2] for falls in (large_falls, small_falls)]
    return every(margins), f"alpha Q = inf {worst[0]}, alpha Q = {small:g} {worst[1]}"


def _falls(curves: pd.DataFrame) -> list[tuple[pd.Series, str, str]]:
    """Return by how much the last accuracy at each noise level lies below every earlier one, by repetition; at which
    noise and rounds; and both accuracies in words.

    A repetition that diverged counts as having fallen without bound.
    """
    falls = []
    for sigma, curve in curves.groupby(level="noise_multiplier"):
        *earlier, last = cells(curve.droplevel(["noise_multiplier", "personalization"]).sort_index())
        for row in earlier:
            fall = (row["by_repetition"] - last["by_repetition"]).fillna(np.inf)
            words = (
                f"at sigma {sigma:g} (epsilon {last['epsilon']:.2g}) {percent(row)} "
                f"in round {row.name:g} and {percent(last)} in round {last.name:g}"
            )
            falls.append((fall, f"sigma = {sigma:g}, round {row.name:g} to {last.name:g}", words))
    if not falls:
        raise NotTestable("one evaluation shows no course")
    return falls


@both_tunings
def local_far_below(table: pd.DataFrame):
    """No noise: local learning is ten points below every alpha Q > 0."""
    local, rows = silent(table)[0], sharing(table, 0.0)
    a: Any = rows["test_accuracy"].idxmin()
    evidence = f"local {percent(local)}, the lowest of alpha Q > 0 alpha Q = {a:g} {percent(select.row(rows, a))}"
    return every(lead(row, local, FAR) for row in cells(rows)), evidence


def _smallest_and_global(table: pd.DataFrame, sigma: float) -> tuple[pd.Series, pd.Series]:
    """At a noise level, the smallest alpha Q > 0 and global learning.

    Raises:
        NotTestable: where one of them is missing.
    """
    rows = sharing(table, sigma).sort_index()
    if GLOBAL not in rows.index or len(rows) < 2:
        raise NotTestable(f"global learning and an alpha Q below it are needed at sigma = {sigma:g}")
    return rows.iloc[0], select.row(rows, GLOBAL)


@both_tunings
def large_at_weak_privacy(table: pd.DataFrame):
    """Without noise, and at the least noise if its epsilon is above 10, global learning beats the smallest alpha Q >
    0."""
    margins: list[Margin] = []
    parts = []
    for sigma in sorted(set(table.index.get_level_values("noise_multiplier")))[:2]:
        small, large = _smallest_and_global(table, sigma)
        if large["epsilon"] < WEAK:
            continue
        margins.append(lead(large, small).named(f"sigma = {sigma:g}"))
        parts.append(
            f"sigma {sigma:g} (epsilon {large['epsilon']:.3g}): global {percent(large)}, "
            f"alpha Q = {small.name:g} {percent(small)}"
        )
    if not margins:
        raise NotTestable("no runs at weak privacy")
    return every(margins), ", ".join(parts)


@both_tunings
def small_at_strong_privacy(table: pd.DataFrame):
    """At the noise whose epsilon is nearest to 1, the smallest alpha Q > 0 beats global learning."""
    sigma, epsilon = near_one(table)
    small, large = _smallest_and_global(table, sigma)
    said = f"alpha Q = {small.name:g} {percent(small)}, global {percent(large)}"
    return lead(small, large), f"sigma {sigma:g}, epsilon {epsilon:.2f}: {said}"


@both_tunings
def large_loses_more(table: pd.DataFrame):
    """From no noise to that whose epsilon is nearest to 1, global learning loses more accuracy than the smallest alpha
    Q > 0, and more than ten points."""
    sigma, epsilon = near_one(table)
    losses, words = [], []
    for before, after in zip(_smallest_and_global(table, 0.0), _smallest_and_global(table, sigma), strict=True):
        losses.append(before["by_repetition"] - after["by_repetition"])
        words.append(f"alpha Q = {before.name:g} {percent(before)} to {percent(after)}")
    small, large = losses
    edges = [f"{cell_name(cell)}: {cell['edge']}" for cell in _smallest_and_global(table, sigma) if cell["edge"]]
    gaps = {"over the smallest": large - small, "over ten points": large - FAR}
    margins = [paired(100 * gap.dropna(), POINTS).on(*edges).named(name) for name, gap in gaps.items()]
    return every(margins), f"without noise and at sigma {sigma:g}, epsilon {epsilon:.2f}: {', '.join(words)}"


def ten_is_best(table: pd.DataFrame):
    """Without noise: alpha Q = 10 beats every other alpha Q, local learning among them."""
    local, rows = silent(table)[0], sharing(table, 0.0)
    require(rows.index, [TEN], "alpha Q", " and sigma = 0")
    ten, others = select.row(rows, TEN), [local, *cells(rows.drop(TEN))]
    best = max(others, key=lambda cell: cell["test_accuracy"])
    evidence = f"alpha Q = {TEN:g} {percent(ten)}, the best other {cell_name(best)} {percent(best)}"
    return every(lead(ten, cell) for cell in others), evidence


ten_is_best_as_published = both_tunings(ten_is_best, further=False)


def gains_more(runs: pd.DataFrame) -> Verdict:
    """Return the largest gain of an alpha Q in between on both local and global learning, at an epsilon of at
    most 10, is larger on tags than on digits."""
    tables = [runs[runs["sweep"] == sweep] for sweep in ("ppsgd_tags", "ppsgd_digits")]

    def decide(tuning: str):
        found = [_largest_gain(final_accuracy(table, tuning)) for table in tables]
        sizes = [(gains.mean(), half_width(gains.std(ddof=1), len(gains)), len(gains)) for gains, _ in found]
        (more, half, count), (less, other, number) = sizes
        margin = apart(more - less, (half, count), (other, number), POINTS)
        return margin, ", ".join(f"{name} {words}" for name, (_, words) in zip(("tags", "digits"), found, strict=True))

    return by_each_tuning(decide)


def _largest_gain(table: pd.DataFrame) -> tuple[pd.Series, str]:
    """Return by repetition, in points, the gain over the better of local and global learning at the noise and alpha Q
    where its mean is the largest; and in words.

    Raises:
        NotTestable: where no noise level has both global learning and an alpha Q in between.
    """
    local, gains = select.row(table, (0.0, LOCAL)), {}
    for sigma in table.index.get_level_values("noise_multiplier").unique():
        rows = private(sharing(table, sigma))
        if GLOBAL in rows.index:
            shared = select.row(rows, GLOBAL)
            bar = max(local, shared, key=lambda cell: cell["test_accuracy"])
            for cell in cells(rows.drop(GLOBAL)):
                gains[cell.name, sigma] = 100 * (cell["by_repetition"] - bar["by_repetition"]).dropna(), cell["epsilon"]
    if not gains:
        raise NotTestable("no noise of an epsilon of 10 or less has both global learning and an alpha Q in between")
    (a, sigma), (gain, epsilon) = max(gains.items(), key=lambda item: item[1][0].mean())
    return gain, f"{gain.mean():.1f} points at sigma {sigma:g}, epsilon {epsilon:.3g}, alpha Q = {a:g}"
