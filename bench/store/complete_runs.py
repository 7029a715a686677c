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
    """Return whether each row was made on a CPU, not on a GPU or TPU; rows without a device count as made on a CPU."""
    if "device" not in rows:
        return pd.Series(True, rows.index)
    return rows["device"].isna() | rows["device"].astype(str).str.contains("cpu")


class Shape(NamedTuple):
    """What the rows of a point's run look like.

    evaluations: rows of a run.
    columns: the columns that a part must have.
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
    """Return a value as it identifies a run: a number that is no integer is rounded to nine digits."""
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) and not float(value).is_integer() else value


def point_id(asked: Mapping[str, Any], defaults: Mapping[str, Any] = NOTHING) -> str:
    """Return a digest of what was asked for; missing values, and those that are the defaults, change nothing."""
    texts = {name: as_text(value) for name, value in asked.items()}
    settings = {name: text for name, text in texts.items() if text not in ("", as_text(defaults.get(name)))}
    return hashlib.blake2b(json.dumps(settings, sort_keys=True).encode(), digest_size=8).hexdigest()


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
        """Return id in rows -> id of the point of which they are runs, for all rows that are runs of a point.

        Args:
            settings: a row for each id, from `settings_in`.
        """
        point_of = {id: id for id in settings["point"] if id in self.shapes}
        unmatched = settings[~settings["point"].isin(list(point_of))]
        for (algorithm, names), points in self._by_what_was_asked().items() if len(unmatched) else ():
            rows = unmatched[unmatched["algorithm"] == algorithm]
            if len(rows):
                keys = rows_as_text(rows, names, self.shapes[next(iter(points.values()))].defaults)
                fits = keys.isin(list(points))
                point_of |= dict(zip(rows.loc[fits, "point"], keys[fits].map(points), strict=True))
        computed = {id: self.shapes[point].computed for id, point in point_of.items() if self.shapes[point].computed}
        names = settings.columns.intersection(["point", *{name for columns in computed.values() for name in columns}])
        for row in settings.loc[settings["point"].isin(list(computed)), names].to_dict("records"):
            if not _computed_alike(row, computed[row["point"]]):
                del point_of[row["point"]]
        return point_of

    def _by_what_was_asked(self) -> dict[tuple[str, tuple[str, ...]], dict[str, str]]:
        """Return (algorithm, names of columns) -> text of these columns -> id of the point."""
        if self._asked is None:
            self._asked = {}
            for id, shape in self.shapes.items():
                if shape.asked:
                    names = tuple(sorted(shape.asked))
                    text = "|".join(as_text(shape.asked[name]) for name in names)
                    self._asked.setdefault((shape.asked["algorithm"], names), {})[text] = id
        return self._asked


def _computed_alike(row: Mapping[Any, Any], computed: Mapping[str, Any]) -> bool:
    """Return whether a row's computed columns are the expected ones; those that it lacks are passed over."""
    for name, value in computed.items():
        stored = row.get(name)
        if stored is None or (isinstance(stored, float) and np.isnan(stored)):
            continue
        if not isinstance(stored, str | int | float | np.number | np.bool_):
            return False
        if isinstance(value, str) or isinstance(stored, str):
            if stored != value:
                return False
        elif stored != value and not abs(stored - value) <= TOLERANCE * abs(value):
            return False
    return True


class Sound(NamedTuple):
    """The runs of a part that can be used, and what is wrong with the others.

    kept: whether a row is kept: it is of a complete run of a point of the sweep, and each run is kept once, [row].
    left_out: what is wrong, in words -> the number of such runs.
    runs: the runs that are kept, (id of the point, trial, seed).
    """

    kept: np.ndarray
    left_out: dict[str, int]
    runs: set[tuple]


def sound_runs(
    table: pa.Table,
    schema: pa.Schema,
    shapes: Mapping[str, Shape],
    point_of: Mapping[str, str],
    elsewhere: Set[tuple] = frozenset(),
    *,
    keep_others: bool = False,
) -> Sound:
    """Separate the runs of a part that can be used from the others.

    Args:
        table: the part, or its columns IDENTITY and rounds.
        schema: all columns of the part.
        shapes: id of a point of the sweep -> the shape of its runs.
        point_of: id in the rows -> id of the point of which they are runs, as `Points.recognised` finds it.
        elsewhere: runs that were found elsewhere, (id of the point, trial, seed).
        keep_others: whether runs of no point of the sweep are kept, unless they have the id of one.
    """
    rows = table.select([*IDENTITY, "rounds"]).to_pandas()
    runs = rows.groupby(IDENTITY)["rounds"].agg(["size", "nunique"])
    ids = runs.index.get_level_values("point")
    shape_of = {id: shapes[point_of[id]] if id in point_of else None for id in ids.unique()}
    evaluations = ids.map({id: -1 if shape is None else shape.evaluations for id, shape in shape_of.items()})
    columns = frozenset(schema.names)
    lacking = ids.map({id: shape is not None and not shape.columns <= columns for id, shape in shape_of.items()})
    named = [(point_of.get(id, id), trial, seed) for id, trial, seed in runs.index]
    unknown = evaluations.to_numpy() < 0
    incomplete = ((runs["size"] != evaluations) | (runs["nunique"] != evaluations)).to_numpy()
    wrong = {
        STALE: unknown & (ids.isin(list(shapes)) if keep_others else True),
        BROKEN: ~unknown & incomplete | lacking.to_numpy(bool),
        COPIED: np.fromiter((run in elsewhere for run in named), bool, len(runs))
        | pd.Series(named).duplicated().to_numpy(bool),
    }
    good, left_out = np.ones(len(runs), bool), {}
    for words, mask in wrong.items():
        if count := int((mask & good).sum()):
            left_out[words] = count
        good &= ~mask
    kept = pd.MultiIndex.from_frame(rows[IDENTITY]).isin(runs.index[good])
    return Sound(kept, left_out, {run for run, fits in zip(named, good, strict=True) if fits})


def in_words(left_out: Mapping[str, int]) -> str:
    """Return the numbers of runs that were left out, in words: "3 runs with missing, duplicate or other rows"."""
    return " and ".join(f"{count:,} runs {words}" for words, count in left_out.items())
