"""How runs on tags and with the convolutional network decide what Bietti et al. 2022 claim of Figures 1b, 1d and 2.

What is claimed of all data is in `ppsgd_claims_digits`. There as here a claim must come out the same with the step size
chosen on test data, as in the paper, and on held-out data.
"""

from typing import Any

import numpy as np
import pandas as pd

from bench.analysis import select
from figures.ppsgd import digits as digits
from figures.ppsgd.claims_digits import both_tunings, gap, lead, percent, sharing, silent
from figures.ppsgd.common import GLOBAL, LOCAL, ppsgd_runs
from figures.shared.verdicts import FAILS, HOLDS, NotTestable, Verdict, repeated, verdict

FAR = 0.1  # of accuracy: what "far below" means
LARGE = 1.0  # the least alpha Q that is called large
STRONG = 1.0  # epsilon below which privacy is called strong
WEAK = 10.0  # epsilon from which privacy is called weak


def large_degrade(runs: pd.DataFrame) -> Verdict:
    """At some noise level global learning ends below an earlier accuracy of its own by more than the intervals, and the
    smallest alpha Q > 0 does so at none."""
    parts, outcomes, margins = [], [], []
    for tuning, metric in digits.TUNINGS.items():
        noisy = ppsgd_runs(runs)
        noisy = noisy[(noisy["noise_multiplier"] > 0) & (noisy["personalization"] > LOCAL) & (noisy["rounds"] > 0)]
        if GLOBAL not in set(noisy["personalization"]):
            raise NotTestable("no noisy runs of global learning")
        curves = select.tuned_curves(
            noisy,
            by=["noise_multiplier", "personalization", "rounds"],
            value="test_accuracy",
            best="max",
            tunings={tuning: metric},
            carry=["epsilon"],
        )
        repeated(curves["repetitions"].min())
        falls = {
            a: max(
                (_fall(curve) for _, curve in curves[curves["personalization"] == a].groupby("noise_multiplier")),
                key=lambda fall: fall[0],
            )
            for a in (GLOBAL, curves["personalization"].min())
        }
        (large, said), (small, said_small) = falls.values()
        outcomes.append(large > 0 >= small)
        margins += [gap(large, 0.0), gap(0.0, small)]
        parts.append(
            f"step by {tuning}: {HOLDS if outcomes[-1] else FAILS}, alpha Q = inf {said}, "
            f"alpha Q = {min(falls):g} {said_small}"
        )
    return verdict(all(outcomes), "; ".join(parts), margins)


def _fall(curve: pd.DataFrame) -> tuple[float, str]:
    """By how much the last accuracy's interval lies below an earlier one's, and in words."""
    *earlier, last = (row for _, row in curve.sort_values("rounds").iterrows())
    if not earlier:
        raise NotTestable("one evaluation shows no course")
    highest = max(earlier, key=lambda row: row["low"])
    return highest["low"] - last["high"], (
        f"at sigma {last['noise_multiplier']:g} (epsilon {last['epsilon']:.2g}) {percent(highest)} "
        f"in round {highest['rounds']:g} and {percent(last)} in round {last['rounds']:g}"
    )


@both_tunings
def local_far_below(table: pd.DataFrame):
    """No noise: local learning is ten points below every alpha Q > 0, by more than the intervals over repetitions."""
    local, rows = silent(table)[0], sharing(table, 0.0)
    a = rows["low"].idxmin()
    lowest, bar = select.row(rows, a), local["high"] + FAR
    said = f"local {percent(local)}, the lowest of alpha Q > 0 alpha Q = {a:g} {percent(lowest)}"
    return bool(lowest["low"] > bar), said, [gap(lowest["low"], bar)]


@both_tunings
def large_at_weak_privacy(table: pd.DataFrame):
    """Without noise, and at the least noise if its epsilon is above 10, alpha Q >= 1 is the best of all alpha Q > 0."""
    holds, parts, margins = [], [], []
    for sigma in sorted(set(table.index.get_level_values("noise_multiplier")))[:2]:
        rows = sharing(table, sigma)
        if len(rows) < 2 or rows["epsilon"].min() < WEAK:
            continue
        best: Any = rows["test_accuracy"].idxmax()
        holds.append(best >= LARGE)
        large, small = (part["test_accuracy"] for part in (rows[rows.index >= LARGE], rows[rows.index < LARGE]))
        if len(large) and len(small):
            margins.append(lead(select.row(rows, large.idxmax()), select.row(rows, small.idxmax())))
        weak = rows["epsilon"].min()
        parts.append(f"sigma {sigma:g} (epsilon {weak:.3g}): alpha Q = {best:g} {percent(rows.loc[best])}")
    if not holds:
        raise NotTestable("no runs at weak privacy")
    return bool(np.all(holds)), ", ".join(parts), margins


@both_tunings
def small_at_strong_privacy(table: pd.DataFrame):
    """At the smallest epsilon, if it is below 1, the smallest alpha Q > 0 has the best mean of all alpha Q > 0."""
    spent = table.loc[table.index.get_level_values("personalization") > LOCAL, "epsilon"]
    smallest: Any = spent.idxmin()
    sigma, _ = smallest
    if spent.min() >= STRONG:
        raise NotTestable(f"the smallest epsilon is {spent.min():.2g}")
    rows = sharing(table, sigma).sort_index()
    if len(rows) < 2:
        raise NotTestable(f"two values of alpha Q > 0 are needed at sigma = {sigma:g}")
    best: Any = rows["test_accuracy"].idxmax()
    second: Any = rows["test_accuracy"].drop(best).idxmax()
    said = (
        f"sigma {sigma:g} (epsilon {spent.min():.2g}): alpha Q = {best:g} {percent(rows.loc[best])}, "
        f"then alpha Q = {second:g} {percent(rows.loc[second])}"
    )
    other: Any = rows["test_accuracy"].iloc[1:].idxmax()
    return bool(best == rows.index[0]), said, [lead(rows.iloc[0], rows.loc[other])]
