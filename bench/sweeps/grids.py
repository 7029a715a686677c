"""Sweeps over a user's own values: replaces columns of the points and recomputes what depends on them."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from bench.errors import InputError, shown, unknown_name
from bench.sweeps.columns import is_reserved
from bench.sweeps.derived import Derived
from bench.sweeps.ranges import RANGES
from bench.sweeps.spec import Entry, Sweep, arguments, grid, parameters, pending
from bench.values import MOST, as_float, values

Grid = Mapping[str, list[Any]]  # column -> its new values
MOST_POINTS = 1_000_000
# Labels that name the budget for which a point's noise was calibrated, and columns that such noise may depend on.
BUDGETS = {"target_epsilon", "budget"}
# fmt: off
CALIBRATED_FOR = {
    "noise_multiplier", "start_noise_multiplier", "sampler", "batch_size", "num_sampled", "num_epochs",
    "total_epochs", "num_updates", "max_updates", "mechanism", "allocation", "start", "local", "lipschitz",
    "phase_rounds", "num_phases", "num_stages", "average",
}
COUNTS = ("num_epochs", "total_epochs", "phase_rounds", "max_updates")  # what rounds follow from, where they do
# fmt: on


def listed(column: str, given: Any) -> list[Any]:
    """The values of a column as a list of plain Python values, from command-line text, one value or several.

    Raises:
        InputError: for an empty list, an unusable value, or a duplicate.
    """
    if isinstance(given, str):
        given = values(given)
    if isinstance(given, bytes | bytearray | Mapping):
        raise InputError(f"--grid {column} is {shown(given)}: give numbers, words, True or False, or a list of those")
    several = list(given) if isinstance(given, Iterable) else [given]
    if len(several) > MOST:
        raise InputError(f"--grid {column} has {len(several):,} values: give at most {MOST:,}")
    several = [value.item() if isinstance(value, np.generic) else value for value in several]
    if not several:
        raise InputError(f"--grid {column} has no values: give at least one")
    for value in several:
        if not isinstance(value, int | float | str) or value != value:
            raise InputError(f"--grid {column} has the value {value!r}: give numbers, words, True or False")
    seen = set()
    for value in several:
        if (key := (isinstance(value, bool), value)) in seen:
            raise InputError(f"--grid {column} has {value} twice: give every value once")
        seen.add(key)
    return several


def with_grid(sweep: Sweep, columns: Mapping[str, Any]) -> Sweep:
    """The sweep with the values of some columns replaced, in every entry that has the column.

    The points of an entry become all combinations of the new values with the values of its other columns. Columns that
    depend on others (the noise for a target epsilon, a label) are recomputed, and points that the sweep runs only once
    (local learning, which has no noise) still occur once. Entries that extend the grid of another entry are left out.

    Args:
        sweep: the one to change.
        columns: column -> its values.

    Raises:
        InputError: for a column that no entry has, or that determines another column, which would become wrong; for a
            value of the wrong type, out of range, or given twice; for too many points.
    """
    known = {str(column) for entry in sweep.entries.values() for column in entry.points}
    for column in columns:
        if column == "task":
            raise InputError("--grid task: choose another task by --task")
        if column not in known:
            raise unknown_name(f"column of sweep {sweep.name}", column, known)
    wanted = {column: listed(column, given) for column, given in columns.items()}
    entries = {}
    for label, entry in sweep.entries.items():
        if entry.widens:
            continue
        mine = {column: wanted[column] for column in wanted if column in entry.points}
        again = _replaced_before if entry.derived or entry.complete is None else _replaced
        entries[label] = (
            again(sweep.name if again is _replaced_before else sweep, label, entry, mine) if mine else entry
        )
    return sweep._replace(entries=entries)


def _replaced(sweep: Sweep, label: str, entry: Entry, columns: Grid) -> Entry:
    """The entry with all combinations of these values and the values of its other free columns, completed."""
    for column in columns:
        if column not in entry.settable:
            others = " or ".join(entry.settable)
            raise InputError(
                f"--grid {column}: {label} in {sweep.name} sets it itself; "
                f"{f'give {others}, or ' if others else ''}choose among the sweep's values by --where"
            )
    others = entry.free.drop(columns=list(columns)).drop_duplicates()
    count = math.prod(map(len, columns.values())) * max(len(others), 1)
    if count > MOST_POINTS:
        raise InputError(
            f"--grid makes {count:,} points of {label} in {sweep.name}: give fewer values, for at most {MOST_POINTS:,}"
        )
    typed = {column: [_typed(entry, column, value) for value in several] for column, several in columns.items()}
    for column, several in typed.items():  # out of range before anything is computed from it
        for value in several:
            _check_range(column, value)
    replaced = grid(**typed)
    free = others.merge(replaced, how="cross") if len(others.columns) else replaced
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


def _replaced_before(sweep: str, label: str, entry: Entry, columns: Grid) -> Entry:
    derived = entry.derived or Derived(lambda points: points.drop_duplicates(ignore_index=True))
    base = entry.points.drop(columns=[name for name in derived.made if name in entry.points])
    for column in columns:
        _check_free(sweep, label, entry, derived, base, column)
    others = base.drop(columns=list(columns)).drop_duplicates()
    count = math.prod(map(len, columns.values())) * max(len(others), 1)
    if count > MOST_POINTS:
        raise InputError(
            f"--grid makes {count:,} points of {label} in {sweep}: give fewer values, for at most {MOST_POINTS:,}"
        )
    typed = {column: [_typed(entry, column, value) for value in several] for column, several in columns.items()}
    for column, several in typed.items():  # out of range before anything is computed from it
        for value in several:
            _check_range(column, value)
    replaced = grid(**typed)
    points = others.merge(replaced, how="cross") if len(others.columns) else replaced
    points = derived.remake(points[list(base)])
    for column, several in typed.items():
        for value in several:
            if not (points[column] == value).any():
                raise InputError(f"{label} in {sweep} never has {column} = {value}: leave that value out")
    for point in pending(replace(entry, free=points)).to_dict("records"):
        arguments(entry.method, {str(name): value for name, value in point.items()})
    return replace(entry, free=points)


def _check_free(sweep: str, label: str, entry: Entry, derived: Derived, base: pd.DataFrame, column: str) -> None:
    """Raise InputError where the column cannot be replaced without making another column false."""
    choose = "choose among the sweep's values by --where"
    if derived.fixed:
        raise InputError(f"--grid {column}: {label} in {sweep} computes its points with all others in view; {choose}")
    if column in derived.made:
        instead = f"give {' or '.join(derived.given)}" if derived.given else choose
        raise InputError(f"--grid {column}: {label} in {sweep} computes it from other columns; {instead}")
    if column in derived.given:
        return
    if column not in parameters(entry.method)[0] or is_reserved(column):
        raise InputError(
            f"--grid {column}: it is a label of {label} in {sweep}, not an argument of its method; {choose}"
        )
    if column in CALIBRATED_FOR and BUDGETS & set(entry.points):
        raise InputError(
            f"--grid {column}: the noise of {label} in {sweep} was calibrated for its existing values; {choose}"
        )
    names = [str(name) for name in base if name not in (column, *derived.heeded)]
    for name in names:
        if tied(base, column, name):
            raise InputError(f"--grid {column}: in {label} of {sweep} it goes with {name}; {choose}")
    if (
        names
        and base[column].nunique(dropna=False) > 1
        and (base.groupby(names, dropna=False)[column].nunique(dropna=False).max() == 1)
    ):
        raise InputError(f"--grid {column}: in {label} of {sweep} it goes with its other columns; {choose}")


def tied(points: pd.DataFrame, column: str, other: str) -> bool:
    """Whether, all else being equal, one of the two columns is determined by the other and changes with it."""
    if (points[[column, other]].nunique(dropna=False) < 2).any():
        return False
    rest = [str(name) for name in points if name not in (column, other)]
    group = points.groupby(rest, dropna=False).ngroup() if rest else pd.Series(0, points.index)
    together = points[[column, other]].assign(group=group).drop_duplicates().groupby("group")
    counts, pairs = together[[column, other]].nunique(dropna=False), together.size()
    return bool(((counts.min(axis=1) > 1) & (counts.max(axis=1) == pairs)).any())


def _typed(entry: Entry, column: str, value: Any) -> Any:
    """The value as the column holds them.

    Raises:
        InputError: where the column holds values of another type.
    """
    there = entry.free[column].dropna()
    example = there.iloc[0].item() if isinstance(there.iloc[0], np.generic) else there.iloc[0]
    parameter = parameters(entry.method)[0].get(column)
    if isinstance(example, bool):
        words, fits = "True or False", isinstance(value, bool)
    elif isinstance(example, str):
        words, fits = f"a word such as {example}", isinstance(value, str)
    elif parameter is not None and parameter.annotation is int:
        whole = isinstance(value, int | float) and not isinstance(value, bool) and as_float(column, value).is_integer()
        words, fits = "a whole number", whole
    else:
        words, fits = "a number", isinstance(value, int | float) and not isinstance(value, bool)
    if not fits:
        raise InputError(f"--grid {column} has the value {value!r}: it must be {words}")
    if isinstance(example, bool | str):
        return value
    number = as_float(column, value)
    return int(value) if pd.api.types.is_integer_dtype(entry.free[column]) and number.is_integer() else number


def _check_range(column: str, value: Any) -> None:
    test, words = RANGES.get(column, (None, ""))
    if test is not None and not test(float(value)):
        raise InputError(f"--grid {column} has the value {value}: it must be {words}")


def with_rounds(sweep: Sweep, rounds: int) -> Sweep:
    """The sweep with another number of communication rounds, evaluated at the same interval, or still only at the end.

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
        known = {name for entry in sweep.entries.values() for name in entry.points}
        instead = " or ".join(f"--grid {name}=..." for name in COUNTS if name in known)
        raise InputError(
            f"--rounds: those of {sweep.name} follow from its data and points; "
            + (f"give {instead}" if instead else "leave it out")
        )
    every = sweep.eval_every
    if every is None or every == sweep.num_rounds:
        return sweep._replace(num_rounds=rounds, eval_every=None if every is None else rounds)
    if rounds % every:
        near = " or ".join(f"{every * count}" for count in (rounds // every, rounds // every + 1) if count)
        raise InputError(f"--rounds is {rounds}: {sweep.name} is evaluated every {every} rounds, so give {near}")
    return sweep._replace(num_rounds=rounds)


def keeping_rounds(sweep: Sweep) -> list[str]:
    """The entries that --rounds leaves alone."""
    return [label for label, entry in sweep.entries.items() if entry.num_rounds is not None]
