"""Margins of comparisons of Bellet et al. 2018, between two methods and with published points.

A repetition is a problem instance with its own randomness, which all methods and settings share. Two methods are
therefore compared repetition by repetition, which removes the effect that an instance has on both. The paper gives no
spread of its points, so a deviation from a published point is judged by the spread here alone.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from bench.analysis import select
from figures.shared import edges
from figures.shared.margins import Margin, every, paired, within
from figures.shared.verdicts import NotTestable

UNITS = {"objective": "of the objective", "test_accuracy": "of accuracy", "test_rmse": "of RMSE"}
PLACES = {
    "iterations": "iterations",
    "vectors_sent": "vectors sent",
    "num_features": "p",
    "num_examples": "m",
    "max_updates": "T/n",
}
BETTER = {"objective": -1.0, "test_accuracy": 1.0, "test_rmse": -1.0}  # sign with which more is better


def _values(rows: pd.DataFrame, by: str, y: str) -> dict[tuple[Any, ...], float]:
    """Return y by cell and repetition, signed so that more is better, and -inf where a run diverged.

    Raises:
        NotTestable: where a repetition of a cell has several rows.
    """
    values = BETTER[y] * rows[y].to_numpy(float)
    values = np.where(np.isfinite(values), values, -np.inf)
    found = dict(zip(zip(*(rows[name] for name in (by, *select.REPETITION)), strict=True), values, strict=True))
    if len(found) < len(rows):
        raise NotTestable("the results have several runs of the same repetition, which is ambiguous")
    return found


def leads(first: pd.DataFrame, second: pd.DataFrame, by: str, y: str) -> pd.DataFrame:
    """Return by how much the first rows are better than the second, with one row per cell and one column per
    repetition.

    -inf where the first diverged, whatever the second did; inf where only the second did; NaN where one is missing.

    Args:
        first, second: one row per cell and repetition.
        by: the column that identifies a cell.
        y: the number that is compared.

    Raises:
        NotTestable: where a cell of one has no repetition in common with the other.
    """
    ours, theirs = _values(first, by, y), _values(second, by, y)  # few rows, for which dictionaries are faster
    both = [key for key in ours if key in theirs]
    cells, repetitions = sorted({cell for cell, *_ in both}), list(dict.fromkeys(key[1:] for key in both))
    alone = sorted({*first[by], *second[by]} - {*cells})
    if alone or not both:
        where = f" at {by} = {', '.join(map(str, alone))}" if alone else ""
        raise NotTestable(f"no repetition has both sides of the comparison{where}")
    lead = {key: ours[key] - theirs[key] if ours[key] > -np.inf else -np.inf for key in both}
    table = [[lead.get((cell, *repetition), np.nan) for repetition in repetitions] for cell in cells]
    columns = pd.MultiIndex.from_tuples(repetitions, names=select.REPETITION)
    return pd.DataFrame(table, index=pd.Index(cells, name=by), columns=columns)


def ahead(first: pd.DataFrame, second: pd.DataFrame, by: str, y: str, allowed: float = 0.0) -> dict[float, Margin]:
    """Cell -> by how much the first rows are better on average, over the repetitions that both have.

    A margin names the edges of grids in the column "edge" of the rows that it compares.

    Args:
        first, second, by, y: as for `leads`.
        allowed: by how much the first may be worse.
    """
    resting = pd.concat([rows.reindex(columns=[by, "edge"]) for rows in (first, second)]).dropna()
    named = {cell: edges.distinct(rows) for cell, rows in resting.groupby(by, observed=True)}
    found = leads(first, second, by, y) + allowed
    return {
        cell: paired(row[~np.isnan(row)], UNITS[y]).on(*named.get(cell, ())).named(_place(by, cell))
        for cell, row in zip(found.index.tolist(), found.to_numpy(), strict=True)
    }


def one(first: pd.DataFrame, second: pd.DataFrame, y: str, allowed: float = 0.0) -> Margin:
    """As `ahead`, where all rows are of one task, which is the only cell."""
    (margin,) = ahead(first, second, "task", y, allowed).values()
    return margin


def everywhere(found: Mapping[str, Mapping[float, Margin]]) -> Margin:
    """Return the margin where the comparisons of all series must be met in all cells: series -> cell -> margin."""
    return every(margin.named(name) for name, cells in found.items() for margin in cells.values())


def near(
    rows: pd.DataFrame, theirs: pd.Series, by: str, y: str, tolerance: float, share: bool = False
) -> dict[float, Margin]:
    """Cell -> the margin by which the mean of the rows is within a tolerance of a published number.

    Args:
        rows: one row per cell and repetition.
        theirs: the published number of each cell.
        by, y: as for `leads`.
        tolerance: in units of y, or as a share of the published number.
        share: measure deviations as shares of the published number.
    """
    unit = "of the published" if share else UNITS[y]
    found = {}
    for row in select.interval(rows, by=[by], value=y).to_dict("records"):
        cell = row[by]
        scale = theirs[cell] if share else 1.0
        off, half = (row[y] - theirs[cell]) / scale, (row["high"] - row["low"]) / 2 / scale
        margin = within(off, half, row["repetitions"], tolerance, unit)
        found[cell] = margin.on(*edges.distinct(rows[rows[by] == cell])).named(_place(by, cell))
    return found


def _place(by: str, cell: Any) -> str:
    """Return a cell in words; empty where it is not a number."""
    return f"{PLACES[by]} = {cell:g}" if by in PLACES else ""
