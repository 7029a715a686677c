"""Checks that the rows of a part are complete runs of a sweep's points, without duplicates."""

from collections.abc import Mapping, Set
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from bench.sweeps.part_files import IDENTITY

STALE, BROKEN, COPIED = (
    "of other settings, data or code versions",
    "with missing or duplicate rows",
    "that are duplicates",
)
TEXT = (pa.types.is_null, pa.types.is_string, pa.types.is_large_string)
NUMBER = (pa.types.is_null, pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating)


class Shape(NamedTuple):
    """What the rows of a point's run look like.

    evaluations: rows of a run.
    columns: that a part must have for them.
    texts: those of its arguments that are text; `numbers`: those that are numbers.
    """

    evaluations: int
    columns: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()
    numbers: frozenset[str] = frozenset()


class Sound(NamedTuple):
    """What was found in a part.

    kept: rows of whole runs of the sweep's points, each run once, [row].
    left_out: what is wrong, in words -> how many runs that is true of.
    runs: those that are kept.
    """

    kept: np.ndarray
    left_out: dict[str, int]
    runs: set[tuple]


def sound_runs(
    table: pa.Table, schema: pa.Schema, shapes: Mapping[str, Shape], others: Set[tuple] = frozenset()
) -> Sound:
    """Sort the rows of a part.

    Args:
        table: the part, or its columns IDENTITY and rounds.
        schema: columns of the whole part.
        shapes: id of a point of the sweep -> the shape of its runs.
        others: runs that were found elsewhere.
    """
    rows = table.select([*IDENTITY, "rounds"]).to_pandas()
    runs = rows.groupby(IDENTITY)["rounds"].agg(["size", "nunique"])
    points = runs.index.get_level_values("point")
    shape_of = {point: shapes.get(point) for point in points.unique()}
    evaluations = points.map({point: -1 if of is None else of.evaluations for point, of in shape_of.items()})
    here, (texts, numbers) = frozenset(schema.names), _kinds(schema)
    lacking = points.map(
        {
            point: of is not None and not (of.columns <= here and of.texts <= texts and of.numbers <= numbers)
            for point, of in shape_of.items()
        }
    )
    wrong = {
        STALE: evaluations.to_numpy() < 0,
        BROKEN: ((runs["size"] != evaluations) | (runs["nunique"] != evaluations)).to_numpy() | lacking.to_numpy(bool),
        COPIED: np.fromiter((run in others for run in runs.index), bool, len(runs)),
    }
    good, left_out = np.ones(len(runs), bool), {}
    for words, found in wrong.items():
        if count := int((found & good).sum()):
            left_out[words] = count
        good &= ~found
    kept = pd.MultiIndex.from_frame(rows[IDENTITY]).isin(runs.index[good])
    return Sound(kept, left_out, set(runs.index[good]))


def _kinds(schema: pa.Schema) -> tuple[frozenset[str], frozenset[str]]:
    """The columns that may hold text, and those that may hold numbers; those without any value may hold either."""
    texts, numbers = set(), set()
    for field in schema:
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if any(fits(kind) for fits in TEXT):
            texts.add(field.name)
        if any(fits(kind) for fits in NUMBER):
            numbers.add(field.name)
    return frozenset(texts), frozenset(numbers)


def in_words(left_out: Mapping[str, int]) -> str:
    """What is wrong with how many runs, "3 runs with missing or duplicate rows"."""
    return " and ".join(f"{count:,} runs {words}" for words, count in left_out.items())
