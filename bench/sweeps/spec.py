"""The types of a sweep, and functions to write grids and to derive smaller sweeps from larger ones."""

import inspect
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from bench.algorithms.base import Method, Scalar
from bench.data.files import DataFiles, with_files
from bench.data.task import Task
from bench.errors import InputError, unknown_name
from bench.sweeps.condition import condition, names
from bench.sweeps.derived import Derived, closed
from bench.sweeps.ranges import RANGES
from bench.values import as_float


class Entry(NamedTuple):
    """One line of a legend: a method, and the points of its hyper-parameters.

    points: one row per point. Columns that the method's factory names are its arguments; "task" names one of
        the sweep's tasks; all others are labels that are carried into the results.
    num_rounds, eval_every: set where a round of this method differs from those of the others; default the sweep's.
        eval_every may be a function of the number of rounds.
    seeds: repetitions, where it is to have fewer than the sweep.
    later: column -> points to its values, where these take long to compute, as calibrated noise does. Until `completed`
        the column holds NaN.
    derived: which columns follow from which; None where all may be set freely.
    widens: the entry of the same sweep whose grid this one goes beyond, if it does no more than that.
    """

    method: Method
    points: pd.DataFrame
    num_rounds: int | Callable[[Task, Mapping[str, Any]], int] | None = None
    eval_every: int | Callable[[int], int] | None = None
    seeds: int | None = None
    later: Mapping[str, Callable[[pd.DataFrame], Sequence[float]]] = MappingProxyType({})
    derived: Derived | None = None
    widens: str | None = None

    @property
    def computed(self) -> frozenset[str]:
        """The columns that are computed from the others, so that they do not identify a run."""
        return frozenset(self.derived.made if self.derived else ()) | frozenset(self.later)


def completed(entry: Entry) -> Entry:
    """The entry with the values of all its columns."""
    if not entry.later:
        return entry
    values = {column: compute(entry.points) for column, compute in entry.later.items()}
    derived = entry.derived or closed()
    derived = derived._replace(made=tuple(dict.fromkeys((*derived.made, *values))))
    return entry._replace(points=entry.points.assign(**values), later={}, derived=derived)


def pending(entry: Entry) -> pd.DataFrame:
    """The entry's points with 1 in the columns that are to come, for who wants to know of the others only."""
    return entry.points.assign(**dict.fromkeys(entry.later, 1.0))


class Sweep(NamedTuple):
    """A table of runs.

    name: of the sweep, and of its folder in the results.
    reproduces: what the sweep reproduces, in a few words.
    tasks: by the name in the points' column "task"; trial -> a fresh split or draw, always the same shapes. One that
        reads data files takes them as `data_files`, None by default.
    entries: by the name the legend will use.
    num_rounds: communication rounds; a number, or (task, arguments) -> number where the data decide.
    eval_every: rounds between evaluations; None evaluates before the first round and after the last.
    delta: at which epsilon is stated.
    seeds: repetitions of every point with other randomness.
    trials: data splits, each of them run with every seed; None ties them: seed s runs on split s.
    notes: what readers of the results must know, such as a setting that the paper does not state.
    task_labels: labels that are true on the sweep's own tasks alone, such as an epsilon for which the noise was found
        with their numbers of examples.
    pairs: the repetitions (trial, seed) one by one, in place of what seeds and trials say.
    shares: sweeps that have some of the same runs, which are copied from their results at the same scale.
    """

    name: str
    reproduces: str
    tasks: Mapping[str, Callable[[int], Task]]
    entries: Mapping[str, Entry]
    num_rounds: int | Callable[[Task, Mapping[str, Any]], int]
    eval_every: int | None
    delta: float
    seeds: int = 1
    trials: int | None = None
    notes: str = ""
    task_labels: tuple[str, ...] = ()
    pairs: tuple[tuple[int, int], ...] | None = None
    shares: tuple[str, ...] = ()

    def task(self, name: str, trial: int, data_files: DataFiles | None = None) -> Task:
        """One of the tasks, of data that may come from these files; the default as for DataFiles()."""
        return with_files(self.tasks[name], data_files)(trial)

    def repetitions(self, entry: Entry | None = None) -> list[tuple[int, int]]:
        """All pairs (trial, seed), of an entry or of the sweep."""
        if self.pairs is not None:
            return list(self.pairs)
        seeds = min(self.seeds, entry.seeds or self.seeds) if entry else self.seeds
        if self.trials is None:
            return [(seed, seed) for seed in range(seeds)]
        return list(itertools.product(range(self.trials), range(seeds)))


def grid(**columns) -> pd.DataFrame:
    """Every combination of the columns' values; a single value stands for a list of one."""
    lists = {
        name: [values] if isinstance(values, str) or not isinstance(values, Iterable) else list(values)
        for name, values in columns.items()
    }
    return pd.DataFrame(list(itertools.product(*lists.values())), columns=list(lists))


def thin(sweep: Sweep, keep: Mapping[str, Iterable] | None = None, **changes) -> Sweep:
    """A smaller sweep derived from a larger one.

    Args:
        sweep: the larger one.
        keep: for some columns, the values to keep. Each must occur in some entry: a smaller scale never tries
            what the larger does not. Entries without the column are kept as they are.
        changes: fields of the sweep to replace (num_rounds, eval_every, seeds, trials), or columns of the
            points to set to one value for all (num_epochs=1).

    Raises:
        InputError: for a column, or a value of `keep`, that the sweep does not have, and where nothing is left.
    """
    keep = {column: list(values) for column, values in (keep or {}).items()}
    sweep = sweep._replace(entries={name: completed(entry) for name, entry in sweep.entries.items()})
    fields = {name: value for name, value in changes.items() if name in Sweep._fields}
    columns = {name: value for name, value in changes.items() if name not in Sweep._fields}
    known = {str(column) for entry in sweep.entries.values() for column in entry.points}
    for column in (*keep, *columns):
        if column not in known:
            raise unknown_name(f"column of sweep {sweep.name}", column, known)
    for column, values in keep.items():
        columns_of_entries = [entry.points[column] for entry in sweep.entries.values() if column in entry.points]
        for value in values:
            if not any((of_entry == value).any() for of_entry in columns_of_entries):
                raise InputError(f"sweep {sweep.name} has no {column} = {value}: keep values of its grid")
    entries = {}
    for name, entry in sweep.entries.items():
        points = entry.points
        for column in points.columns.intersection(list(keep)):
            points = points.loc[points[column].isin(keep[column])]
        if len(points):
            changed = {column: value for column, value in columns.items() if column in points}
            points = points.assign(**changed).drop_duplicates(ignore_index=True)
            entries[name] = entry._replace(points=points)
    if not entries:
        raise InputError(f"nothing is left of sweep {sweep.name}: keep more of its grid")
    return sweep._replace(entries=entries, **fields)


def select(sweep: Sweep, where: str) -> Sweep:
    """The sweep with the points that satisfy a condition (`bench.sweeps.condition`) on its columns and "algorithm".

    An entry that has no such column holds NaN there, which equals nothing. Columns that take long are computed first
    only where the condition names them.

    Raises:
        InputError: where the expression does not parse, names no column, or selects nothing.
    """
    asked = names(where)
    whole = {name: completed(entry) if asked & set(entry.later) else entry for name, entry in sweep.entries.items()}
    tables = {name: entry.points.assign(algorithm=name) for name, entry in whole.items()}
    columns = list(dict.fromkeys(str(column) for table in tables.values() for column in table))
    numbers = next(iter(tables.values())).select_dtypes("number")
    example = f"{numbers.columns[0]} <= {numbers.iloc[0, 0]:g}" if numbers.size else "seed == 0"
    entries = {}
    for name, entry in whole.items():
        try:
            chosen = condition(where, tables[name].reindex(columns=columns))
        except InputError as error:
            raise InputError(
                f"--where {where!r} does not work on {sweep.name}: {error}; "
                f'write a condition on {", ".join(columns)}, such as "{example} and algorithm == {name!r}"'
            ) from None
        if chosen.any():
            entries[name] = entry._replace(points=entry.points[chosen].reset_index(drop=True))
    if not entries:
        raise InputError(
            f"--where {where!r} selects none of the points of {sweep.name}: widen the condition; its algorithms are "
            f"{', '.join(tables)}"
        )
    return sweep._replace(entries=entries)


def on_task(sweep: Sweep, name: str, make: Callable[[int], Task]) -> Sweep:
    """The sweep on another task, under a separate name, so that its results do not replace those of the sweep.

    Points that differed only in the task, or in labels of it, become one, and those labels go. So do entries, such as
    one for each of several models; that one is called as the method.
    """
    entries: dict[str, Entry] = {}
    for label, entry in sweep.entries.items():
        entry = completed(entry)
        points = entry.points.drop(columns="task", errors="ignore")
        given = [column for column in points if column in parameters(entry.method)[0]]
        others = [column for column in points if column not in (*given, *sweep.task_labels)]
        same = points.groupby(given, dropna=False)[others].nunique(dropna=False).max() <= 1
        points = points[[*given, *same.index[same]]].drop_duplicates(ignore_index=True)
        # Noise that was found for a label that is gone is no longer computed from the other columns, but given.
        follow = () if set(sweep.task_labels) & {*entry.points} else sorted(entry.computed & {*map(str, points)})
        entry = entry._replace(points=points, derived=closed(*follow))
        twins = [twin for twin, earlier in entries.items() if _same_runs(earlier, entry)]
        for twin in twins:
            label = entry.method.make.__name__
            entry = entry._replace(seeds=_more(entries.pop(twin).seeds, entry.seeds))
        entries[label] = entry
    return sweep._replace(name=f"{sweep.name}_on_{name}", tasks={name: make}, entries=entries)


def _same_runs(first: Entry, second: Entry) -> bool:
    """Whether two entries are the same but for how often they are repeated."""
    columns = sorted(map(str, first.points))
    if first._replace(points=None, seeds=None) != second._replace(points=None, seeds=None):
        return False
    if columns != sorted(map(str, second.points)):
        return False
    rows, others = (entry.points[columns].sort_values(columns, ignore_index=True) for entry in (first, second))
    return rows.equals(others)


def _more(first: int | None, second: int | None) -> int | None:
    """The larger number of seeds; None is as many as the sweep has."""
    return None if first is None or second is None else max(first, second)


def parameters(method: Method) -> tuple[dict[str, inspect.Parameter], set[str]]:
    """The keyword-only parameters of a method's factory, and the names of those that are traced.

    Raises:
        InputError: where none is traced; the engine's points are vmapped over those.
    """
    return _parameters(method.make)


@cache
def _parameters(make: Callable) -> tuple[dict[str, inspect.Parameter], set[str]]:
    given = inspect.signature(make, eval_str=True).parameters.values()
    keywords = {p.name: p for p in given if p.kind is p.KEYWORD_ONLY}
    for name, parameter in keywords.items():
        if name == "self":
            raise InputError(f"{make.__name__} has an argument self: rename it")
        if parameter.default is not parameter.empty and not _is_plain(parameter.default):
            kind = type(parameter.default).__name__
            raise InputError(
                f"argument {name} of {make.__name__} has a default of type {kind}: give a number, text, True, False, "
                "None or a tuple of these"
            )
    traced = {name for name, p in keywords.items() if p.annotation == Scalar}
    if not traced:
        raise InputError(f"no argument of {make.__name__} is annotated with Scalar: annotate those that a sweep varies")
    return keywords, traced


def _is_plain(value: Any) -> bool:
    """Whether a value can be fixed in a compiled program and written into the id of a point."""
    if isinstance(value, tuple):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, int | float | str)


def arguments(method: Method, point: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a point that the method's factory takes, as plain Python values, defaults filled in.

    Raises:
        InputError: where a required argument is missing, or a value is out of its range or no number.
    """
    keywords, traced = parameters(method)
    out = {}
    for name, parameter in keywords.items():
        if name in point:
            value = point[name].item() if isinstance(point[name], np.generic) else point[name]
        elif parameter.default is not parameter.empty:
            value = parameter.default
        else:
            raise InputError(f"the points of {method.make.__name__} have no column {name}: add it")
        if name in traced or parameter.annotation is int:
            if not isinstance(value, int | float) or math.isnan(as_float(name, value)):
                raise InputError(f"{name} is {value}: it must be a number")
            if parameter.annotation is int and not float(value).is_integer():
                raise InputError(f"{name} is {value}: it must be a whole number")
            value = float(value) if name in traced else int(value)
        out[name] = value
    for name, value in (dict(point) | out).items():
        if name in RANGES:
            test, words = RANGES[name]
            if not (isinstance(value, int | float | np.number) and not math.isnan(value) and test(float(value))):
                raise InputError(f"{name} is {value}: it must be {words}")
    return out
