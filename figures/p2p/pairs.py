"""How comparisons of Bellet et al. 2018 stand against chance: of two methods, and with published points.

A repetition is a problem instance with its own randomness, which all methods and settings share. So two methods are
compared repetition by repetition, and what an instance adds to both does not count. The paper gives no spread of its
points: of a deviation from one only the spread here counts.
"""

import numpy as np
import pandas as pd

from bench.analysis import select
from figures.p2p import common
from figures.shared.margins import Margin, paired, within
from figures.shared.verdicts import NotTestable

UNITS = {"objective": "of the objective", "test_accuracy": "of accuracy", "test_rmse": "of RMSE"}
BETTER = {"objective": -1.0, "test_accuracy": 1.0, "test_rmse": -1.0}  # sign with which more is better


def _values(rows: pd.DataFrame, by: str, y: str) -> pd.Series:
    """y by cell and repetition, more is better, -inf where it diverged.

    Raises:
        NotTestable: where a repetition of a cell has several rows.
    """
    values = rows.set_index([by, *select.REPETITION])[y].astype(float)
    if values.index.has_duplicates:
        raise NotTestable("the results have several runs of the same repetition, which is ambiguous")
    return (BETTER[y] * values).where(np.isfinite(values), -np.inf)


def leads(first: pd.DataFrame, second: pd.DataFrame, by: str, y: str) -> pd.DataFrame:
    """By how much the first rows are better than the second: a row a cell, a column a repetition.

    -inf where the first diverged, whatever the second did; inf where the second alone did; NaN where one is missing.

    Args:
        first, second: one row per cell and repetition.
        by: the column that cells are told apart by.
        y: the number that is compared.

    Raises:
        NotTestable: where a cell of one has no repetition in common with the other.
    """
    values = {"first": _values(first, by, y), "second": _values(second, by, y)}
    both = pd.concat(values, axis=1, join="inner")
    alone = sorted({*first[by], *second[by]} - {*both.index.get_level_values(by)})
    if alone or both.empty:
        where = f" at {by} = {', '.join(map(str, alone))}" if alone else ""
        raise NotTestable(f"no repetition has both sides of the comparison{where}")
    diverged = np.isneginf(both["first"])
    lead = both["first"].where(~diverged, 0) - both["second"]
    return lead.where(~diverged, -np.inf).unstack(select.REPETITION)


def ahead(first: pd.DataFrame, second: pd.DataFrame, by: str, y: str, allowed: float = 0.0) -> dict[float, Margin]:
    """Cell -> by how much the first rows are better on average, over the repetitions that both have.

    Each rests on the edges of grids in the column "edge" of either, where there is one.

    Args:
        first, second, by, y: as for `leads`.
        allowed: by how much the first may be worse.
    """
    edges = pd.concat([rows.reindex(columns=[by, "edge"]) for rows in (first, second)])
    found = leads(first, second, by, y) + allowed
    return {
        cell: paired(row[~np.isnan(row)], UNITS[y]).on(*common.edges_in(edges[edges[by] == cell]))
        for cell, row in zip(found.index.tolist(), found.to_numpy(), strict=True)
    }


def one(first: pd.DataFrame, second: pd.DataFrame, y: str, allowed: float = 0.0) -> Margin:
    """The same where both are of one task, which is the one cell."""
    (margin,) = ahead(first, second, "task", y, allowed).values()
    return margin


def near(
    rows: pd.DataFrame, theirs: pd.Series, by: str, y: str, tolerance: float, share: bool = False
) -> dict[float, Margin]:
    """Cell -> how surely the mean of the rows is within a tolerance of a published number.

    Args:
        rows: one row per cell and repetition.
        theirs: the published number of each cell.
        by, y: as for `leads`.
        tolerance: of y, or of the published number.
        share: measure deviations in shares of the published number.
    """
    unit = "of the published" if share else UNITS[y]
    found = {}
    for row in select.interval(rows, by=[by], value=y).to_dict("records"):
        cell = row[by]
        scale = theirs[cell] if share else 1.0
        off, half = (row[y] - theirs[cell]) / scale, (row["high"] - row["low"]) / 2 / scale
        margin = within(off, half, row["repetitions"], tolerance, unit)
        found[cell] = margin.on(*common.edges_in(rows[rows[by] == cell]))
    return found
