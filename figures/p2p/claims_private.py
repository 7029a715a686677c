"""How runs of private coordinate descent decide what Bellet et al. 2018 claim of Figures 2a and 2b.

Decided by the paper's setting: its calibration, and an equal split of the budget.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from bench.analysis import select
from figures.p2p import common, private
from figures.shared.margins import MEAN, Margin, apart, measured
from figures.shared.published import PUBLISHED
from figures.shared.verdicts import Verdict, repeated, require, verdict

UNITS = {"objective": "of the objective", "test_accuracy": "of accuracy"}
FIGURES = {"cold": private.FIGURE_2A, "warm": private.FIGURE_2B}
SIGN = {"objective": 1.0, "test_accuracy": -1.0}  # by which less is better
TOLERANCE = {"objective": 0.1, "test_accuracy": 0.03}  # of the objective a share, of accuracy itself


def _ends(runs: pd.DataFrame, start: str, y: str, epsilon=private.EPSILON) -> tuple[pd.DataFrame, pd.Series]:
    """Last values here, with intervals, and published, by T/n.

    Raises:
        NotTestable: where one that is published is missing, or there is one repetition.
    """
    table = FIGURES[start].table(runs)
    table = table[table["y_name"] == y].sort_values("x")
    ours = table[private.as_published(table, epsilon) & (table["origin"] == common.HERE)]
    theirs = table[table["origin"] == PUBLISHED].groupby("series")["y"].last()
    require(ours["max_updates"], private.updates_published(), "T/n", f", {start} start, epsilon {epsilon:g}")
    repeated(ours["repetitions"].min())
    ours = ours.groupby("series").last().sort_values("max_updates")
    ours["y"] = ours["y"].where(np.isfinite(ours["y"]), SIGN[y] * np.inf)  # diverged: worse than anything
    return ours, theirs


def _said(ours: pd.DataFrame) -> str:
    return ", ".join(f"{name} {row.y:.3f} [{row.low:.3f}, {row.high:.3f}]" for name, row in ours.iterrows())


def _below(first: pd.Series, second: pd.Series, y: str) -> Margin:
    """By how much the second end is above the first in what is to be small, from means and their intervals."""
    one, other = ((row["high"] - row["low"]) / 2 for row in (first, second))
    gap = SIGN[y] * (second["y"] - first["y"]) if np.isfinite(first["y"]) else -np.inf
    return apart(gap, one, other, UNITS[y])


def warm_ends_better(y: str) -> Callable[[pd.DataFrame], Verdict]:
    """A check that from the warm start every T/n ends better than from the cold one, on average."""

    def check(runs: pd.DataFrame) -> Verdict:
        (cold, _), (warm, _) = (_ends(runs, start, y) for start in FIGURES)
        better = SIGN[y] * (cold["y"] - warm["y"]) > 0
        margins = [_below(warm.loc[name], cold.loc[name], y) for name in warm.index]
        return verdict(bool(better.all()), f"cold: {_said(cold)}; warm: {_said(warm)}", margins)

    check.__name__ = f"warm_ends_better_in_{y}"
    return check


def near_published(start: str, y: str, epsilon: float = private.EPSILON) -> Callable[[pd.DataFrame], Verdict]:
    """A check that the curves of a budget end where the published ones do, to the tolerance."""

    def check(runs: pd.DataFrame) -> Verdict:
        ours, theirs = _ends(runs, start, y, epsilon)
        off = ours["y"] - theirs[ours.index]
        share = (off / (theirs[ours.index] if y == "objective" else 1.0)).abs()
        farthest: Any = share.idxmax()
        pairs = ", ".join(f"{name} {ours.loc[name, 'y']:.3f} and {theirs[name]:.3f}" for name in ours.index)
        scale = theirs[ours.index] if y == "objective" else 1.0
        unit = "of the published" if y == "objective" else UNITS[y]
        rooms = pd.DataFrame({"room": TOLERANCE[y] - share, "half": (ours["high"] - ours["low"]) / 2 / scale})
        margins = [measured(room, unit, MEAN, half) for room, half in rooms.to_numpy()]
        return verdict(
            bool((share <= TOLERANCE[y]).all()),
            f"here and published: {pairs}; largest deviation {off[farthest]:+.3f} at {farthest}",
            margins,
        )

    check.__name__ = f"{start}_ends_as_published_in_{y}_with_{epsilon:g}"
    return check


def between(runs: pd.DataFrame) -> Verdict:
    """From either start the lowest final objective, on average, is neither that of the fewest nor of the most."""
    holds, evidence, margins = True, [], []
    for start in FIGURES:
        ours, _ = _ends(runs, start, "objective")
        inner, ends = ours.iloc[1:-1], ours.iloc[[0, -1]]
        lowest = select.row(inner, inner["y"].idxmin())
        margins += [_below(lowest, end, "objective") for _, end in ends.iterrows()]
        holds &= ours["y"].idxmin() not in (ours.index[0], ours.index[-1])
        evidence.append(f"{start}: {_said(ours)}")
    return verdict(holds, "; ".join(evidence), margins)


def more_noise(runs: pd.DataFrame) -> Verdict:
    """From either start the most updates end with the highest objective, on average."""
    holds, evidence, margins = True, [], []
    for start in FIGURES:
        ours, _ = _ends(runs, start, "objective")
        margins += [_below(row, ours.iloc[-1], "objective") for _, row in ours.iloc[:-1].iterrows()]
        holds &= ours["y"].idxmax() == ours.index[-1]
        evidence.append(f"{start}: {_said(ours)}")
    return verdict(holds, "; ".join(evidence), margins)
