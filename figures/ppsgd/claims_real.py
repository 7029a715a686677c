"""Checks of the claims of Bietti et al. 2022 on Figures 1b, 1d and 2, by runs on tags and with the network.

Claims about all data sets are checked in `figures.ppsgd.claims_digits`. As there, a claim must come out the same with
the step size chosen on test data, as in the paper, and on held-out data.
"""

from typing import Any

import numpy as np
import pandas as pd

from bench.analysis import select
from figures.ppsgd import digits as digits
from figures.ppsgd.claims_digits import (
    POINTS,
    both_tunings,
    by_each_tuning,
    cells,
    lead,
    percent,
    sharing,
    silent,
    smallest_is_best,
    with_repetitions,
)
from figures.ppsgd.common import GLOBAL, LOCAL, ppsgd_runs
from figures.shared.margins import Margin, every, paired, some
from figures.shared.verdicts import NotTestable, Verdict

DEGRADED = 0.01  # of accuracy: what may be lost during training without being said to degrade; a threshold of ours
FAR = 0.1  # of accuracy: what "far below" means
LARGE = 1.0  # the least alpha Q that is called large
STRONG = 1.0  # epsilon below which privacy is called strong
WEAK = 10.0  # epsilon from which privacy is called weak


def large_degrade(runs: pd.DataFrame) -> Verdict:
    """At some noise level global learning ends more than a point below an earlier accuracy of its own, and the smallest
    alpha Q > 0 ends less than a point below any earlier one of its own at all noise levels."""
    noisy = ppsgd_runs(runs, further=True)
    noisy = noisy[(noisy["noise_multiplier"] > 0) & (noisy["personalization"] > LOCAL) & (noisy["rounds"] > 0)]
    if GLOBAL not in set(noisy["personalization"]):
        raise NotTestable("no noisy runs of global learning")
    by = ["noise_multiplier", "personalization", "rounds"]
    small = noisy["personalization"].min()

    def decide(tuning: str):
        table = select.tuned_curves(
            noisy,
            by=by,
            value="test_accuracy",
            best="max",
            tunings={tuning: digits.TUNINGS[tuning]},
            carry=["epsilon"],
        )
        curves = with_repetitions(table, noisy, by)
        ratio = curves.index.get_level_values("personalization")
        large_falls, small_falls = (_falls(curves[ratio == a]) for a in (GLOBAL, small))
        margins = [
            some(paired(100 * (fall - DEGRADED), POINTS).named(f"alpha Q = inf, {at}") for fall, at, _ in large_falls),
            every(
                paired(100 * (DEGRADED - fall), POINTS).named(f"alpha Q = {small:g}, {at}")
                for fall, at, _ in small_falls
            ),
        ]
        worst = [max(falls, key=lambda fall: fall[0].mean())[2] for falls in (large_falls, small_falls)]
        return every(margins), f"alpha Q = inf {worst[0]}, alpha Q = {small:g} {worst[1]}"

    return by_each_tuning(decide)


def _falls(curves: pd.DataFrame) -> list[tuple[pd.Series, str, str]]:
    """By how much the last accuracy at each noise level lies below every earlier one, by repetition; at which noise and
    rounds; and both accuracies in words.

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


@both_tunings
def large_at_weak_privacy(table: pd.DataFrame):
    """Without noise, and at the least noise if its epsilon is above 10, some alpha Q >= 1 beats every one below 1."""
    margins: list[Margin] = []
    parts = []
    for sigma in sorted(set(table.index.get_level_values("noise_multiplier")))[:2]:
        rows = sharing(table, sigma)
        large, small = cells(rows[rows.index >= LARGE]), cells(rows[rows.index < LARGE])
        if not (large and small) or rows["epsilon"].min() < WEAK:
            continue
        best: Any = rows["test_accuracy"].idxmax()
        margins.append(some(every(lead(one, other) for other in small) for one in large).named(f"sigma = {sigma:g}"))
        weak = rows["epsilon"].min()
        parts.append(f"sigma {sigma:g} (epsilon {weak:.3g}): alpha Q = {best:g} {percent(rows.loc[best])}")
    if not margins:
        raise NotTestable("no runs at weak privacy")
    return every(margins), ", ".join(parts)


@both_tunings
def small_at_strong_privacy(table: pd.DataFrame):
    """At the smallest epsilon, if it is below 1, the smallest alpha Q > 0 beats every other alpha Q > 0."""
    spent = table.loc[table.index.get_level_values("personalization") > LOCAL, "epsilon"]
    smallest: Any = spent.idxmin()
    sigma, _ = smallest
    if spent.min() >= STRONG:
        raise NotTestable(f"the smallest epsilon is {spent.min():.2g}")
    margin, evidence = smallest_is_best(table, sigma)
    return margin, f"sigma {sigma:g} (epsilon {spent.min():.2g}): {evidence}"
