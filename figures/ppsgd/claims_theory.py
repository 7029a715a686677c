"""How runs under Theorem 4.5 of Bietti et al. 2022 decide what the theory says."""

import numpy as np
import pandas as pd

from bench.analysis import select
from figures.ppsgd import theory
from figures.shared.margins import BEYOND, Margin, apart, measured
from figures.shared.verdicts import NotTestable, Verdict, repeated, verdict

POINT = ["target_epsilon", "samples"]


def bound_holds(runs: pd.DataFrame) -> Verdict:
    """The upper end of the interval of the mean risk lies under the bound at every point, and nothing was clipped."""
    table = theory.table(runs)
    repeated(table["repetitions"].min())
    loose = table["bound"] / table["excess_risk"]
    worst = select.row(table, (table["high"] / table["bound"]).idxmax())
    if (clipped := table["clipped"].max()) > 0:
        raise NotTestable(f"up to {clipped:.2g} of the gradients were clipped, which the theorem excludes")
    tightest, loosest = select.row(table, loose.idxmin()), select.row(table, loose.idxmax())
    return verdict(
        bool((table["high"] < table["bound"]).all()),
        f"{len(table)} points, nothing clipped; the bound is {loose.min():.3g} times the risk at the least "
        f"({_point(tightest)}), {loose.median():.3g} in the median, {loose.max():.3g} at most ({_point(loosest)}); "
        f"the interval comes nearest to it at {_point(worst)}",
        [measured(room, "of the bound", BEYOND) for room in 1 - table["high"] / table["bound"]],
    )


def best_alpha_changes(runs: pd.DataFrame) -> Verdict:
    """At every budget: the alpha Q of lowest mean risk is 0 at the numbers of samples from the threshold on and above 0
    at those below it."""
    table = theory.table(runs)
    best = theory.best(table)
    budgets = best[np.isfinite(best["target_epsilon"])]
    if budgets.empty or budgets["local_is_better"].nunique() < 2:
        raise NotTestable("no budget with numbers of samples on both sides of the threshold")
    parts = []
    for target, rows in budgets.groupby("target_epsilon"):
        said = ", ".join(f"n = {row.samples:g}: alpha Q = {row.measured:g}" for row in rows.itertuples())
        first = rows.loc[rows["local_is_better"] == 1, "samples"].min()
        parts.append(f"epsilon {target:g}, threshold by n = {first:g}: {said}")
    right = (budgets["measured"] == 0) == (budgets["local_is_better"] == 1)
    margins = [_ahead(rows) for _, rows in table[np.isfinite(table["target_epsilon"])].groupby(POINT)]
    return verdict(bool(right.all()), "; ".join(parts), margins)


def _ahead(rows: pd.DataFrame) -> Margin:
    """By how much the best alpha Q on the side that the lemma names has a lower risk than the best other."""
    local = rows["personalization"] == 0
    named = local if rows["local_is_better"].iloc[0] == 1 else ~local
    one, other = (select.row(side, side["excess_risk"].idxmin()) for side in (rows[named], rows[~named]))
    half, other_half = ((row["high"] - row["low"]) / 2 for row in (one, other))
    return apart(other["excess_risk"] - one["excess_risk"], half, other_half, "of excess risk")


def _point(row: pd.Series) -> str:
    return f"alpha Q = {row['personalization']:g}, n = {row['samples']:g}, epsilon {row['target_epsilon']:g}"
