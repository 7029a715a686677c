"""Checks which rows of a part are complete runs of a sweep's points, without duplicates.

A run is what was asked for, and its rows say what that is: the method and its version, the data, and the columns of its
point that somebody chose, numbers to nine digits. Where rows lack an argument, or have no value of it, its default was
asked for. Columns that are computed from these, such as calibrated noise, are results of a machine and its libraries,
and their last digits differ elsewhere: they must be those of the point up to TOLERANCE.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence, Set
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from bench.store.part_files import IDENTITY

STALE, BROKEN, COPIED = (
    "of other settings, data or code versions",
    "with missing, duplicate or other rows",
    "that are duplicates",
)


DIGITS = 9  # of a number, by which runs are recognised
# Relative difference of computed columns: twice that of two neighbouring results of a calibration (accounting.search).
TOLERANCE = 1e-3
NOTHING: Mapping[str, Any] = MappingProxyType({})


def made_on_cpus(rows: pd.DataFrame) -> pd.Series:
    """Return of each row whether it was made on a CPU and not on a GPU or TPU; rows without a device count as such."""
    if "device" not in rows:
        return pd.Series(True, rows.index)
    return rows["device"].isna() | rows["device"].astype(str).str.contains("cpu")


class Shape(NamedTuple):
    """What the rows of a point's run look like.

    evaluations: rows of a run.
    columns: that a part must have for them.
    asked: the columns that identify its runs.
    computed: the columns that are computed from them.
    defaults: column -> the value of rows that have none.
    """

    evaluations: int
    columns: frozenset[str] = frozenset()
    asked: Mapping[str, Any] = NOTHING
    computed: Mapping[str, Any] = NOTHING
    defaults: Mapping[str, Any] = NOTHING


def rounded(value: Any) -> Any:
    """Return a value as it counts for what was asked: a number with nine digits, where it is not whole."""
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) and not float(value).is_integer() else value


def point_id(asked: Mapping[str, Any], defaults: Mapping[str, Any] = NOTHING) -> str:
    """Return a digest of what was asked for; missing values, and those that are the defaults, change nothing."""
    texts = {name: as_text(value) for name, value in asked.items()}
    said = {name: text for name, text in texts.items() if text not in ("", as_text(defaults.get(name)))}
    return hashlib.blake2b(json.dumps(said, sort_keys=True).encode(), digest_size=8).hexdigest()


def as_text(value: Any) -> str:
    """Return a value as text, the same for 1, 1.0 and True, for numbers with the same nine digits, and for missing
    values."""
    if isinstance(value, list | tuple | np.ndarray):
        return f"({','.join(map(as_text, value))})"
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    return repr(rounded(float(value))) if isinstance(value, int | float | np.number | np.bool_) else str(value)


def rows_as_text(table: pd.DataFrame, names: Sequence[Any], defaults: Mapping[str, Any] = NOTHING) -> pd.Series:
    """Return the values of some columns as one text per row, by `as_text`; where a column or its value is missing, that
    of the default.

    Each distinct value is turned into text once, since tables have many rows and few values.
    """
    columns = []
    for name in names:
        missing = as_text(defaults.get(name))
        if name not in table:
            columns.append([missing] * len(table))
            continue
        values = table[name]
        if values.dtype == object:
            values = values.map(lambda value: as_text(value) if isinstance(value, list | tuple | np.ndarray) else value)
        codes, distinct = pd.factorize(values)  # of a missing value the code is -1
        texts = [*map(as_text, distinct), missing]
        columns.append([texts[code] for code in codes])
    return pd.Series(
        ["|".join(row) for row in zip(*columns, strict=True)] if columns else "", table.index, dtype=object
    )


def settings_in(table: pa.Table) -> pd.DataFrame:
    """Return the first row of each point of a part."""
    places = pa.array(np.arange(len(table)))
    firsts = table.select(["point"]).append_column("place", places).group_by("point").aggregate([("place", "min")])
    return table.take(firsts["place_min"].combine_chunks().sort()).to_pandas()


class Points:
    """The points of a sweep, which recognises its runs.

    Args:
        shapes: id of a point -> the shape of its runs.
    """

    def __init__(self, shapes: Mapping[str, Shape]):
        self.shapes = shapes
        self._asked: dict[tuple[str, tuple[str, ...]], dict[str, str]] | None = None  # found when first needed

    def recognised(self, settings: pd.DataFrame) -> dict[str, str]:
        """Id in rows -> id of the point of which they are runs, for all rows that are runs of a point.

        Args:
            settings: a row for each id, from `settings_in`.
        """
        found = {id: id for id in settings["point"] if id in self.shapes}
        others = settings[~settings["point"].isin(list(found))]
        for (algorithm, names), points in self._by_what_was_asked().items() if len(others) else ():
            rows = others[others["algorithm"] == algorithm]
            if len(rows):
                keys = rows_as_text(rows, names, self.shapes[next(iter(points.values()))].defaults)
                fits = keys.isin(list(points))
                found |= dict(zip(rows.loc[fits, "point"], keys[fits].map(points), strict=True))
        computed = {id: self.shapes[of].computed for id, of in found.items() if self.shapes[of].computed}
        names = settings.columns.intersection(["point", *{name for of in computed.values() for name in of}])
        for row in settings.loc[settings["point"].isin(list(computed)), names].to_dict("records"):
            if not _alike(row, computed[row["point"]]):
                del found[row["point"]]
        return found

    def _by_what_was_asked(self) -> dict[tuple[str, tuple[str, ...]], dict[str, str]]:
        """(Algorithm, names of columns) -> text of these columns -> id of the point."""
        if self._asked is None:
            self._asked = {}
            for id, shape in self.shapes.items():
                if shape.asked:
                    names = tuple(sorted(shape.asked))
                    text = "|".join(as_text(shape.asked[name]) for name in names)
                    self._asked.setdefault((shape.asked["algorithm"], names), {})[text] = id
        return self._asked


def _alike(row: Mapping[Any, Any], computed: Mapping[str, Any]) -> bool:
    """Return whether a row's computed columns are the expected ones; those that it lacks are passed over."""
    for name, value in computed.items():
        there = row.get(name)
        if there is None or (isinstance(there, float) and np.isnan(there)):
            continue
        if not isinstance(there, str | int | float | np.number | np.bool_):
            return False
        if isinstance(value, str) or isinstance(there, str):
            if there != value:
                return False
        elif there != value and not abs(there - value) <= TOLERANCE * abs(value):
            return False
    return True


class Sound(NamedTuple):
    """What was found in a part.

    kept: rows of whole runs of the sweep's points, each run once, [row].
    left_out: what is wrong, in words -> how many runs that is true of.
    runs: those that are kept, (id of the point, trial, seed).
    """

    kept: np.ndarray
    left_out: dict[str, int]
    runs: set[tuple]


def sound_runs(
    table: pa.Table,
    schema: pa.Schema,
    shapes: Mapping[str, Shape],
    others: Set[tuple] = frozenset(),
    points: Mapping[str, str] | None = None,
    *,
    keep_others: bool = False,
) -> Sound:
    """Sort the rows of a part.

    Args:
        table: the part, or its columns IDENTITY and rounds where `points` is given.
        schema: columns of the whole part.
        shapes: id of a point of the sweep -> the shape of its runs.
        others: runs that were found elsewhere, (id of the point, trial, seed).
        points: id in the rows -> id of the point of which they are runs; default as `Points.recognised` finds.
        keep_others: whether runs of no point of the sweep are kept, unless they have the id of one.
    """
    known = Points(shapes).recognised(settings_in(table)) if points is None else points
    rows = table.select([*IDENTITY, "rounds"]).to_pandas()
    runs = rows.groupby(IDENTITY)["rounds"].agg(["size", "nunique"])
    ids = runs.index.get_level_values("point")
    shape_of = {id: shapes[known[id]] if id in known else None for id in ids.unique()}
    evaluations = ids.map({id: -1 if of is None else of.evaluations for id, of in shape_of.items()})
    here = frozenset(schema.names)
    lacking = ids.map({id: of is not None and not of.columns <= here for id, of in shape_of.items()})
    named = [(known.get(id, id), trial, seed) for id, trial, seed in runs.index]
    unknown = evaluations.to_numpy() < 0
    incomplete = ((runs["size"] != evaluations) | (runs["nunique"] != evaluations)).to_numpy()
    wrong = {
        STALE: unknown & (ids.isin(list(shapes)) if keep_others else True),
        BROKEN: ~unknown & incomplete | lacking.to_numpy(bool),
        COPIED: np.fromiter((run in others for run in named), bool, len(runs))
        | pd.Series(named).duplicated().to_numpy(bool),
    }
    good, left_out = np.ones(len(runs), bool), {}
    for words, found in wrong.items():
        if count := int((found & good).sum()):
            left_out[words] = count
        good &= ~found
    kept = pd.MultiIndex.from_frame(rows[IDENTITY]).isin(runs.index[good])
    return Sound(kept, left_out, {run for run, fits in zip(named, good, strict=True) if fits})


def in_words(left_out: Mapping[str, int]) -> str:
    """Return what is wrong with how many runs, "3 runs with missing, duplicate or other rows"."""
    return " and ".join(f"{count:,} runs {words}" for words, count in left_out.items())
