"""Checks of Theorems 4.5, 5.2 and B.4 and of Lemma 4.6 of Bietti et al. 2022, by runs in their setting."""

import numpy as np
import pandas as pd

from bench.analysis import select
from figures.ppsgd import sampled_theory, theory
from figures.shared.margins import Margin, every, of_mean, paired, some
from figures.shared.verdicts import NotTestable, Verdict, verdict

POINT = ["target_epsilon", "samples"]


def bound_holds(runs: pd.DataFrame) -> Verdict:
    """The mean risk lies under the bound at every point, where nothing was clipped."""
    return _under_bound(theory.table(runs), "excess_risk")


def weighted_bound_holds(runs: pd.DataFrame) -> Verdict:
    """The same for Algorithm 2, users of unequal size, the risk weighted by their examples."""
    return _sampled(runs, "Algorithm 2")


def averaged_bound_holds(runs: pd.DataFrame) -> Verdict:
    """The same for Algorithm 3 and the risk averaged over users."""
    return _sampled(runs, "Algorithm 3")


def _sampled(runs: pd.DataFrame, algorithm: str) -> Verdict:
    table = sampled_theory.table(runs)
    table = table[table["algorithm"] == algorithm].reset_index(drop=True)
    if table.empty:
        raise NotTestable(f"no finished run of {algorithm}")
    return _under_bound(table, "risk")


def _under_bound(table: pd.DataFrame, risk: str) -> Verdict:
    """Whether the mean of the column `risk` is under the bound in every row."""
    loose = table["bound"] / table[risk]
    if (clipped := table["clipped"].max()) > 0:
        raise NotTestable(f"up to {clipped:.2g} of the gradients were clipped, which the theorem excludes")
    tightest, loosest = select.row(table, loose.idxmin()), select.row(table, loose.idxmax())
    halves = (table["high"] - table[risk]) / table["bound"]
    points = [_point(row) for _, row in table.iterrows()]
    rooms = zip(1 - 1 / loose, halves, table["repetitions"], points, strict=True)
    return verdict(
        every(of_mean(room, half, count, "of the bound").named(point) for room, half, count, point in rooms),
        f"{len(table)} points, nothing clipped; the bound is {loose.min():.3g} times the risk at the least "
        f"({_point(tightest)}), {loose.median():.3g} in the median, {loose.max():.3g} at most ({_point(loosest)})",
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
    last = runs[(runs["rounds"] == runs["num_rounds"]) & np.isfinite(runs["target_epsilon"])]
    return verdict(every(_ahead(rows) for _, rows in last.groupby(POINT)), "; ".join(parts))


def _ahead(rows: pd.DataFrame) -> Margin:
    """The margin by which some alpha Q on the side that the lemma names has a lower risk than all on the other side.

    Args:
        rows: of one budget and number of samples, after the last round.
    """
    risks = rows.set_index([*select.REPETITION, "personalization"])["excess_risk"].unstack()
    local = [a for a in risks if a == 0]
    sharing = [a for a in risks if a != 0]
    named, others = (local, sharing) if rows["local_is_better"].iloc[0] == 1 else (sharing, local)
    if not (named and others):
        raise NotTestable("alpha Q = 0 and some alpha Q > 0 are needed at every budget and number of samples")
    target, samples = rows[POINT].iloc[0]
    place = f"epsilon {target:g}, n = {samples:g}"
    return some(
        every(
            paired(risks[b] - risks[a], "of excess risk").named(place, f"alpha Q = {a:g} below {b:g}") for b in others
        )
        for a in named
    )


def _point(row: pd.Series) -> str:
    return f"alpha Q = {row['personalization']:g}, n = {row['samples']:g}, epsilon {row['target_epsilon']:g}"
