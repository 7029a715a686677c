"""Checks which rows of a part are complete runs of a sweep's points, without duplicates.

A run is what was asked for: its method and version, its data, and the columns of its point that somebody chose. The
columns that are computed from these, such as calibrated noise, are results of this machine and its libraries, so their
last digits differ elsewhere. The id of a point leaves them out. Ids of earlier versions had all columns to the last
digit, as the machine had them that made the runs. Such runs are recognised by what was asked, to nine digits; their id
must be what it was then, with their own numbers. In either case the computed columns must be those of the point up to
TOLERANCE.
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
    "with missing or duplicate rows",
    "that are duplicates",
)
TEXT = (pa.types.is_null, pa.types.is_string, pa.types.is_large_string)
NUMBER = (pa.types.is_null, pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating)


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
    texts: those of its arguments that are text; `numbers`: those that are numbers.
    asked: the columns that identify its runs.
    computed: the columns that are computed from them.
    settings: all that earlier versions made the id of; None where it is not known, so that the columns have to do.
    added: arguments that runs from before they existed lack -> the values that these runs had.
    """

    evaluations: int
    columns: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()
    numbers: frozenset[str] = frozenset()
    asked: Mapping[str, Any] = NOTHING
    computed: Mapping[str, Any] = NOTHING
    settings: Mapping[str, Any] | None = None
    added: Mapping[str, Any] = NOTHING


def rounded(value: Any) -> Any:
    """Return a value as it counts for what was asked: a number with nine digits, where it is not whole."""
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) and not float(value).is_integer() else value


def digest(settings: Mapping[str, Any]) -> str:
    """Return a short digest of settings."""
    text = json.dumps(settings, sort_keys=True, default=lambda value: value.item())
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def point_id(settings: Mapping[str, Any], computed: Set[str] = frozenset()) -> str:
    """Return the id of a point with these settings, some of whose arguments and labels are computed from the others."""
    named = {
        kind: {name: rounded(value) for name, value in settings[kind].items() if name not in computed}
        for kind in ("args", "labels")
        if kind in settings
    }
    return digest({**settings, **named} | ({"delta": rounded(settings["delta"])} if "delta" in settings else {}))


def earlier_id(settings: Mapping[str, Any], row: Mapping[Any, Any]) -> str:
    """Return the id that earlier versions gave a point with these settings on the machine that made a row."""

    def there(name: str, value: Any) -> Any:
        found = row.get(name)
        is_number = isinstance(value, int | float) and not isinstance(value, bool | np.bool_)
        return type(value)(found) if is_number and isinstance(found, int | float) and found == found else value

    own = {kind: {name: there(name, value) for name, value in settings[kind].items()} for kind in ("args", "labels")}
    delta = there("delta", settings["delta"])
    return digest(
        {**settings, **own, "delta": delta if rounded(delta) == rounded(settings["delta"]) else settings["delta"]}
    )


def as_text(value: Any) -> str:
    """Return a value as text, the same for 1, 1.0 and True, for numbers with the same nine digits, and for missing
    values."""
    if isinstance(value, list | tuple | np.ndarray):
        return f"({','.join(map(as_text, value))})"
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    return repr(rounded(float(value))) if isinstance(value, int | float | np.number | np.bool_) else str(value)


def rows_as_text(table: pd.DataFrame, names: Sequence[Any]) -> pd.Series:
    """Return the values of some columns as one text per row, by `as_text`; columns that are missing count as empty.

    Each distinct value is turned into text once, since tables have many rows and few values.
    """
    columns = []
    for name in names:
        if name not in table:
            columns.append([""] * len(table))
            continue
        values = table[name]
        if values.dtype == object:
            values = values.map(lambda value: as_text(value) if isinstance(value, list | tuple | np.ndarray) else value)
        codes, distinct = pd.factorize(values)  # of a missing value the code is -1
        texts = [*map(as_text, distinct), ""]
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
        if len(others):
            for (algorithm, names), points in self._by_what_was_asked().items():
                rows = others[others["algorithm"] == algorithm]
                if rows.empty:
                    continue
                added = self.shapes[next(iter(points.values()))].added
                filled = rows.assign(**{k: rows[k].fillna(v) if k in rows else v for k, v in added.items()})
                keys = rows_as_text(filled, names)
                fits = keys.isin(list(points)).to_numpy()
                known_settings = [self.shapes[id].settings or {} for id in points.values()]
                read = {name for of in known_settings for kind in ("args", "labels") for name in of.get(kind, ())}
                columns = rows.columns.intersection(["point", "delta", *read])  # which an earlier id depends on
                for row, key in zip(rows.loc[fits, columns].to_dict("records"), keys[fits], strict=True):
                    known = self.shapes[points[key]].settings
                    if known is None or earlier_id(known, row) == row["point"]:
                        found[row["point"]] = points[key]
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
) -> Sound:
    """Sort the rows of a part.

    Args:
        table: the part, or its columns IDENTITY and rounds where `points` is given.
        schema: columns of the whole part.
        shapes: id of a point of the sweep -> the shape of its runs.
        others: runs that were found elsewhere, (id of the point, trial, seed).
        points: id in the rows -> id of the point of which they are runs; default as `Points.recognised` finds.
    """
    known = Points(shapes).recognised(settings_in(table)) if points is None else points
    rows = table.select([*IDENTITY, "rounds"]).to_pandas()
    runs = rows.groupby(IDENTITY)["rounds"].agg(["size", "nunique"])
    ids = runs.index.get_level_values("point")
    shape_of = {id: shapes[known[id]] if id in known else None for id in ids.unique()}
    evaluations = ids.map({id: -1 if of is None else of.evaluations for id, of in shape_of.items()})
    here, (texts, numbers) = frozenset(schema.names), _kinds(schema)
    lacking = ids.map(
        {
            id: of is not None and not (of.columns <= here and of.texts <= texts and of.numbers <= numbers)
            for id, of in shape_of.items()
        }
    )
    named = [(known.get(id, id), trial, seed) for id, trial, seed in runs.index]
    wrong = {
        STALE: evaluations.to_numpy() < 0,
        BROKEN: ((runs["size"] != evaluations) | (runs["nunique"] != evaluations)).to_numpy() | lacking.to_numpy(bool),
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


def _kinds(schema: pa.Schema) -> tuple[frozenset[str], frozenset[str]]:
    """Return the columns that may hold text, and those that may hold numbers; those without any value may hold
    either."""
    texts, numbers = set(), set()
    for field in schema:
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if any(fits(kind) for fits in TEXT):
            texts.add(field.name)
        if any(fits(kind) for fits in NUMBER):
            numbers.add(field.name)
    return frozenset(texts), frozenset(numbers)


def in_words(left_out: Mapping[str, int]) -> str:
    """Return what is wrong with how many runs, "3 runs with missing or duplicate rows"."""
    return " and ".join(f"{count:,} runs {words}" for words, count in left_out.items())
