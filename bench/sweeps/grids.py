"""Sweeps over a user's own values: replaces free columns of the points and completes them again."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from bench.algorithms.ranges import Range
from bench.errors import InputError, check_name, shown
from bench.inputs.values import MOST, as_float, values
from bench.sweeps.spec import Entry, Sweep, arguments, grid, parameters, ranges

Grid = Mapping[str, list[Any]]  # column -> its new values
MOST_POINTS = 1_000_000
LABELS = {  # the ranges of free columns that are no arguments, from which the points are completed
    "target_epsilon": Range(lambda v: v >= 0, "at least 0 (0 releases nothing, inf has no noise)"),
    "budget": Range(lambda v: v > 0, "positive"),
    "start_share": Range(lambda v: 0 <= v < 1, "at least 0 and below 1"),
}


def listed(column: str, text_or_values: Any) -> list[Any]:
    """Return the values of a column as a list of plain Python values, from command-line text, one value or several.

    Raises:
        InputError: for an empty list, an unusable value, or a duplicate.
    """
    if isinstance(text_or_values, str):
        text_or_values = values(text_or_values)
    single = not isinstance(text_or_values, Iterable) or isinstance(text_or_values, bytes | bytearray | Mapping)
    several = [text_or_values] if single else list(text_or_values)
    several = [value.item() if isinstance(value, np.generic) else value for value in several]
    if not 1 <= len(several) <= MOST:
        raise InputError(f"--grid {column} has {len(several):,} values: give 1 to {MOST:,}")
    for place, value in enumerate(several):
        if not isinstance(value, int | float | str) or value != value:
            raise InputError(f"--grid {column} has the value {shown(value)}: give numbers, words, True or False")
        if any(value == other and isinstance(value, bool) == isinstance(other, bool) for other in several[:place]):
            raise InputError(f"--grid {column} has {value} twice: give every value once")
    return several


def with_grid(sweep: Sweep, columns: Mapping[str, Any]) -> Sweep:
    """Return the sweep with the values of some free columns replaced, in every entry that has the column.

    The free columns of an entry become all combinations of the new values with the values of the others, and are
    completed as those of the sweep are: the noise for a target epsilon is found again, and points that the sweep runs
    only once (local learning, which has no noise) still occur once. Entries that extend the grid of another entry are
    left out.

    Args:
        sweep: the one to change.
        columns: column -> its values.

    Raises:
        InputError: for a column that no entry has, or that is not free in one; for a value of the wrong type, out of
            range, given twice, or that cannot be completed; for too many points.
    """
    known_columns = {str(column) for entry in sweep.entries.values() for column in entry.points}
    for column in columns:
        if column == "task":
            raise InputError("--grid task: choose another task by --task")
        check_name(f"column of sweep {sweep.name}", column, known_columns)
    lists = {column: listed(column, text_or_values) for column, text_or_values in columns.items()}
    entries = {}
    for label, entry in sweep.entries.items():
        if entry.widens:
            continue
        columns_of_entry = {column: lists[column] for column in lists if column in entry.points}
        entries[label] = _replaced(sweep, label, entry, columns_of_entry) if columns_of_entry else entry
    return sweep._replace(entries=entries)


def _replaced(sweep: Sweep, label: str, entry: Entry, columns: Grid) -> Entry:
    """Return the entry with all combinations of these values and the values of its other free columns, completed."""
    for column in columns:
        if column not in entry.settable:
            instead = f"replace {', '.join(entry.settable)}, or " if entry.settable else ""
            raise InputError(
                f"--grid {column}: {label} in {sweep.name} computes or fixes it; {instead}choose among the sweep's "
                "values by --where"
            )
    other_columns = entry.free.drop(columns=list(columns)).drop_duplicates()
    count = math.prod(map(len, columns.values())) * max(len(other_columns), 1)
    if count > MOST_POINTS:
        raise InputError(
            f"--grid makes {count:,} points of {label} in {sweep.name}: give fewer values, for at most {MOST_POINTS:,}"
        )
    typed = {column: [_typed(entry, column, value) for value in several] for column, several in columns.items()}
    for column, several in typed.items():  # out of range before anything is computed from it
        for value in several:
            if value_range := (LABELS | ranges(entry.method)).get(column):
                value_range.check(f"--grid {column}", value)
    replaced = grid(**typed)
    free = other_columns.merge(replaced, how="cross") if len(other_columns.columns) else replaced
    entry = replace(entry, free=free[list(entry.free)])
    points = entry.points
    if "task" in points and not points["task"].isin(list(sweep.tasks)).all():
        raise InputError(
            f"--grid {', '.join(columns)}: {label} in {sweep.name} has no data for some of the values; choose among "
            "the sweep's values by --where"
        )
    for column, several in typed.items():
        for value in several:
            if not (points[column] == value).any():
                raise InputError(f"{label} in {sweep.name} never has {column} = {value}: leave that value out")
    for point in points.to_dict("records"):
        arguments(entry.method, {str(name): value for name, value in point.items()})
    return entry


def _typed(entry: Entry, column: str, value: Any) -> Any:
    """Return the value as the column holds them.

    Raises:
        InputError: where the column holds values of another type.
    """
    present = entry.free[column].dropna()
    example = present.iloc[0].item() if isinstance(present.iloc[0], np.generic) else present.iloc[0]
    parameter = parameters(entry.method)[0].get(column)
    if isinstance(example, bool):
        words, fits = "True or False", isinstance(value, bool)
    elif isinstance(example, str):
        words, fits = f"a word such as {example}", isinstance(value, str)
    elif parameter is not None and parameter.annotation is int:
        is_whole = (
            isinstance(value, int | float) and not isinstance(value, bool) and as_float(column, value).is_integer()
        )
        words, fits = "a whole number", is_whole
    else:
        words, fits = "a number", isinstance(value, int | float) and not isinstance(value, bool)
    if not fits:
        raise InputError(f"--grid {column} has the value {value!r}: it must be {words}")
    if isinstance(example, bool | str):
        return value
    number = as_float(column, value)
    return int(value) if pd.api.types.is_integer_dtype(entry.free[column]) and number.is_integer() else number


def with_rounds(sweep: Sweep, rounds: int) -> Sweep:
    """Return the sweep with another number of rounds, evaluated at the same interval, or still only at the end.

    Entries that set their own number of rounds keep it.

    Raises:
        InputError: for a number that is not whole or not a multiple of the rounds between evaluations, or a sweep whose
            number of rounds follows from its data.
    """
    if isinstance(rounds, bool) or not isinstance(rounds, int) or not 1 <= rounds <= 10**7:
        raise InputError(f"--rounds is {rounds}: it must be a whole number from 1 to {10**7:,}")
    if all(entry.num_rounds is not None for entry in sweep.entries.values()):
        raise InputError(f"--rounds: all methods of {sweep.name} set their own number of rounds; leave it out")
    if callable(sweep.num_rounds):
        raise InputError(f"--rounds: those of {sweep.name} follow from its data and points: leave it out")
    interval = sweep.eval_every
    if interval is None or interval == sweep.num_rounds:
        return sweep._replace(num_rounds=rounds, eval_every=None if interval is None else rounds)
    if rounds % interval:
        raise InputError(f"--rounds is {rounds}: {sweep.name} is evaluated every {interval} rounds, so give a multiple")
    return sweep._replace(num_rounds=rounds)


def keeping_rounds(sweep: Sweep) -> list[str]:
    """Return the entries that --rounds does not change."""
    return [label for label, entry in sweep.entries.items() if entry.num_rounds is not None]
