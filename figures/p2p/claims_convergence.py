"""How runs without privacy decide what Bellet et al. 2018 claim of Figure 1: coordinate descent against ADMM.

ADMM has the penalty that ends with the lowest objective, as in the figure; evidence says at which it would hold.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from bench.analysis import select
from figures.p2p import common
from figures.p2p import fig1 as fig1
from figures.shared.margins import MEAN, measured, paired
from figures.shared.verdicts import NotTestable, Verdict, repeated, require, spread, verdict

SIGN = {"objective": 1.0, "test_accuracy": -1.0}  # by which less is better
UNITS = {"objective": "of the objective", "test_accuracy": "of accuracy"}


def _leads(runs: pd.DataFrame, x: str, y: str) -> pd.DataFrame:
    """By how much CD is better than ADMM: rows x > 0, a column a repetition; -inf where CD diverged.

    Args:
        runs: of one start, CD and ADMM with one penalty, with "iterations" and "vectors_sent".
    """
    if x == "vectors_sent":
        runs = common.by_vectors(runs, [y])
    values = runs.assign(value=SIGN[y] * runs[y].astype(float)).set_index([x, *select.REPETITION, "series"])["value"]
    if values.index.has_duplicates:
        raise NotTestable("the results hold several runs of one repetition: which is meant is open")
    both = values.where(np.isfinite(values), np.inf).unstack("series").dropna()
    both = both[both.index.get_level_values(x) > 0]
    if both.empty:
        raise NotTestable("CD and ADMM were not evaluated at the same points")
    diverged = np.isinf(both["CD"])
    return (both["ADMM"] - both["CD"].where(~diverged, 0)).where(~diverged, -np.inf).unstack(select.REPETITION)


def _on_average(leads: pd.DataFrame) -> pd.Series:
    """Means over repetitions; -inf where CD diverged in one, whatever ADMM did in others."""
    return leads.where((leads != -np.inf).all(axis=1), -np.inf, axis=0).mean(axis=1)


def _of_start(runs: pd.DataFrame, variant: str) -> pd.DataFrame:
    """The runs of CD and of ADMM at its best penalty from one start.

    Raises:
        NotTestable: where one of the two is missing, or there is one repetition.
    """
    chosen = fig1.chosen(runs)
    chosen = chosen[chosen["variant"] == variant]
    for name in fig1.SERIES:
        if name not in set(chosen["series"]):
            raise NotTestable(f"no run of {name} from {variant}")
    repeated(len(chosen[select.REPETITION].drop_duplicates()))
    return chosen


def _always_ahead(runs: pd.DataFrame, variant: str, x: str, y: str) -> list[float]:
    """The penalties of ADMM at which CD is ahead everywhere."""
    runs = runs.assign(series=runs["algorithm"])
    runs = common.with_vectors(runs[runs["start"].map(fig1.STARTS) == variant])
    found = []
    for penalty in sorted(runs["penalty"].dropna().unique()):
        leads = _leads(runs[(runs["series"] == "CD") | (runs["penalty"] == penalty)], x, y)
        if (_on_average(leads) > 0).all():
            found.append(penalty)
    return found


def ahead(x: str, y: str) -> Callable[[pd.DataFrame], Verdict]:
    """A check that CD is ahead of ADMM on average at every x > 0, from either start."""

    def check(runs: pd.DataFrame) -> Verdict:
        holds, evidence, margins = True, [], []
        for variant in fig1.STARTS.values():
            chosen = _of_start(runs, variant)
            leads = _leads(chosen, x, y)
            means = _on_average(leads)
            smallest: Any = means.idxmin()
            behind = means.index[means <= 0]
            holds &= not len(behind)
            margins += [paired(row.dropna(), UNITS[y]) for _, row in leads.iterrows()]
            where = f"behind at {len(behind)} of {len(means)} points, the last at {max(behind, default=0):g}"
            always = ", ".join(f"{penalty:g}" for penalty in _always_ahead(runs, variant, x, y))
            evidence += [
                f"from {variant}, penalty {chosen['penalty'].max():g}: {where if len(behind) else 'always ahead'}, "
                f"smallest lead {spread(leads.loc[smallest])} at {smallest:g}",
                f"from {variant}, always ahead at penalties: {always or 'none'}",
            ]
        return verdict(holds, "; ".join(evidence), margins)

    check.__name__ = f"ahead_in_{y}_by_{x}"
    return check


def ends_ahead(runs: pd.DataFrame) -> Verdict:
    """CD is ahead of ADMM on average at the last point of all four panels, from either start."""
    holds, evidence, margins = True, [], []
    for variant in fig1.STARTS.values():
        chosen = _of_start(runs, variant)
        for x in fig1.AXES:
            for y in fig1.METRICS:
                leads = _leads(chosen, x, y)
                last = leads.iloc[-1]
                holds &= bool(_on_average(leads).iloc[-1] > 0)
                margins.append(paired(last.dropna(), UNITS[y]))
                evidence.append(f"from {variant}, {y} at {x} {last.name:g}: lead {spread(last)}")
    return verdict(holds, "; ".join(evidence), margins)


def ends_as_published(runs: pd.DataFrame) -> Verdict:
    """CD from the short descent, at which the published curves start, ends within tolerance of them."""
    table = fig1.table(runs)
    theirs = table[(table["origin"] != common.HERE) & (table["series"] == "CD") & (table["x_name"] == "iterations")]
    holds, evidence, margins = True, [], []
    for y, tolerance in (("objective", 0.05), ("test_accuracy", 0.015)):
        line = common.here(table, series="CD", variant=common.DESCENT, x_name="iterations", y_name=y)
        line = line.sort_values("x")
        repeated(line["repetitions"].min() if len(line) else 0)
        points = theirs[theirs["y_name"] == y].sort_values("x")
        require(line["x"], [round(points["x"].max(), -1)], "iterations")
        here, there = line["y"].iloc[-1], points["y"].iloc[-1]
        holds &= bool(abs(here - there) <= tolerance)
        half = (line["high"].iloc[-1] - line["low"].iloc[-1]) / 2
        margins.append(measured(tolerance - abs(here - there), UNITS[y], MEAN, half))
        evidence.append(f"{y} {here:.4f}, published {there:.4f}, tolerance {tolerance:g}")
    return verdict(holds, "; ".join(evidence), margins)
