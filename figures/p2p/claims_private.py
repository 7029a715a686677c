"""Checks of the claims of Bellet et al. 2018 on Figures 2a and 2b, by runs of private coordinate descent.

The runs have the paper's calibration and an equal split of the budget, as in the paper. Nothing is tuned.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from bench.analysis import select
from figures.p2p import common, pairs, private
from figures.p2p.published import published
from figures.shared.margins import Margin, every, some
from figures.shared.verdicts import NotTestable, Verdict, require, verdict

START = {"cold": "constant", "warm": "propagation"}
PUBLISHED_AS = {"cold": "p2p_fig2a", "warm": "p2p_fig2b"}
TOLERANCE = {"objective": 0.1, "test_accuracy": 0.03}  # relative for the objective, absolute for accuracy
T_N = "max_updates"


def _ends(runs: pd.DataFrame, start: str, epsilon=private.EPSILON) -> pd.DataFrame:
    """Return the last rows of the paper's runs from one start, one per T/n and repetition.

    Raises:
        NotTestable: where a T/n that is published is missing.
    """
    rows = common.part(runs, algorithm="private CD", start=START[start])
    rows = common.final(rows[private.as_published(rows, epsilon)])
    require(rows[T_N], private.updates_published(), "T/n", f", {start} start, epsilon {epsilon:g}")
    return rows[rows[T_N].isin(private.updates_published())]


def _published(start: str, y: str) -> pd.Series:
    """Return the last published point of each T/n."""
    points = published(PUBLISHED_AS[start])
    points = points[points["y_name"] == y].sort_values("x", kind="stable")
    ends = points.groupby("series")["y"].last()
    return ends.set_axis([float(name.split("=")[1]) for name in ends.index]).sort_index()


def _said(rows: pd.DataFrame, y: str) -> str:
    table = select.interval(rows, by=[T_N], value=y)
    return ", ".join(
        f"T/n = {row[T_N]:g} {row[y]:.3f} [{row['low']:.3f}, {row['high']:.3f}]" for _, row in table.iterrows()
    )


def warm_ends_better(y: str) -> Callable[[pd.DataFrame], Verdict]:
    """Return a check that from the warm start every T/n ends better than from the cold one."""

    def check(runs: pd.DataFrame) -> Verdict:
        cold, warm = (_ends(runs, start) for start in START)
        margins = pairs.ahead(warm, cold, T_N, y).values()
        return verdict(every(margins), f"cold: {_said(cold, y)}; warm: {_said(warm, y)}")

    check.__name__ = f"warm_ends_better_in_{y}"
    return check


def near_published(start: str, y: str, epsilon: float = private.EPSILON) -> Callable[[pd.DataFrame], Verdict]:
    """Return a check that the curves of a budget end within the tolerance of the published ones."""

    def check(runs: pd.DataFrame) -> Verdict:
        rows, theirs = _ends(runs, start, epsilon), _published(start, y)
        margins = pairs.near(rows, theirs, T_N, y, TOLERANCE[y], share=y == "objective").values()
        ours = select.interval(rows, by=[T_N], value=y).set_index(T_N)[y]  # NaN where one diverged
        off = ours - theirs
        scaled = (off / theirs if y == "objective" else off).abs().fillna(np.inf)
        farthest: Any = scaled.idxmax()
        ends = zip(theirs.index.tolist(), ours[theirs.index], theirs, strict=True)
        said = ", ".join(f"T/n = {updates:g} {here:.3f} and {there:.3f}" for updates, here, there in ends)
        return verdict(
            every(margins),
            f"here and published: {said}; largest deviation {off[farthest]:+.3f} at T/n = {farthest:g}",
        )

    check.__name__ = f"{start}_ends_as_published_in_{y}_with_{epsilon:g}"
    return check


def _lower(rows: pd.DataFrame, first: float, second: float) -> Margin:
    """Return by how much the objective of one T/n ends below that of another."""
    lead = pairs.one(rows[rows[T_N] == first], rows[rows[T_N] == second], "objective")
    return lead.named(f"T/n = {first:g} below {second:g}")


def _starts(runs: pd.DataFrame, start: str, epsilon: float = private.EPSILON) -> pd.DataFrame:
    """Return the first rows of the paper's runs from one start, one per repetition: T = 0, the same for every T/n."""
    rows = common.part(runs, algorithm="private CD", start=START[start])
    rows = rows[private.as_published(rows, epsilon) & (rows["rounds"] == 0)]
    return rows.drop_duplicates(select.REPETITION)


def between_with_none(runs: pd.DataFrame) -> Verdict:
    """From either start some T/n ends with a lower objective than no update, and than the most updates."""
    evidence, margins = [], []
    for start in START:
        rows, none = _ends(runs, start), _starts(runs, start)
        *inner, most = private.updates_published()
        found = some(
            every(
                [
                    _lower(rows, updates, most),
                    pairs.one(rows[rows[T_N] == updates], none, "objective").named("below T = 0"),
                ]
            )
            for updates in inner
        )
        margins.append(found.named(f"{start} start"))
        evidence.append(f"{start}: T = 0 {none['objective'].mean():.3f}, {_said(rows, 'objective')}")
    return verdict(every(margins), "; ".join(evidence))


def uneven_ends_lower(runs: pd.DataFrame) -> Verdict:
    """Return where Theorem 1 composes both splits of a budget by the plain sum, that of Proposition 2 ends with a lower
    objective than the equal one."""
    rows = common.final(common.part(runs, algorithm="private CD", start="propagation", calibration=common.PUBLISHED))
    rows = rows[(rows["target_epsilon"] == private.EPSILON) & (rows[T_N] > 1)]  # one update has nothing to split
    evidence, margins = [], []
    for updates, alike in rows.groupby(T_N):
        equal, uneven = (alike[alike["allocation"] == name] for name in ("equal", "published"))
        if equal.empty or uneven.empty:
            raise NotTestable(f"both splits are needed at T/n = {updates:g}")
        noise = [float(split["noise_multiplier"].iloc[0]) for split in (equal, uneven)]
        if np.isclose(noise[0], noise[1]):
            margins.append(pairs.one(uneven, equal, "objective").named(f"T/n = {updates:g}"))
            ends = [split["objective"].mean() for split in (uneven, equal)]
            evidence.append(f"T/n = {updates:g}: {ends[0]:.5f}, equal {ends[1]:.5f}")
    if not margins:
        raise NotTestable("no T/n at which both splits are composed alike")
    return verdict(every(margins), "; ".join(evidence))


def between(runs: pd.DataFrame) -> Verdict:
    """From either start some T/n between the fewest and the most ends with a lower objective than both of them."""
    evidence, margins = [], []
    for start in START:
        rows = _ends(runs, start)
        fewest, *inner, most = private.updates_published()
        found = some(every(_lower(rows, updates, end) for end in (fewest, most)) for updates in inner)
        margins.append(found.named(f"{start} start"))
        evidence.append(f"{start}: {_said(rows, 'objective')}")
    return verdict(every(margins), "; ".join(evidence))


def more_noise(runs: pd.DataFrame) -> Verdict:
    """From either start the most updates end with the highest objective."""
    evidence, margins = [], []
    for start in START:
        rows = _ends(runs, start)
        *others, most = private.updates_published()
        margins += [_lower(rows, updates, most).named(f"{start} start") for updates in others]
        evidence.append(f"{start}: {_said(rows, 'objective')}")
    return verdict(every(margins), "; ".join(evidence))
