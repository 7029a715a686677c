"""The types of a sweep, and functions to write grids and to derive smaller sweeps from larger ones."""

import inspect
import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Annotated, Any, NamedTuple, get_args, get_origin

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd

from bench.algorithms.base import Method, Scalar
from bench.algorithms.ranges import Range
from bench.data.task import Task, recipe_checksum
from bench.errors import InputError, check_name
from bench.inputs.values import as_float
from bench.sweeps.condition import condition, names


@dataclass(frozen=True)
class Later:
    """A number of a point that takes long to compute, such as noise for an epsilon: it is computed when a run or a
    condition needs it.

    compute: function of `args` -> the number.
    """

    compute: Callable[..., float]
    args: tuple


def with_computed(points: pd.DataFrame, columns: Iterable[str] | None = None) -> pd.DataFrame:
    """Return the points with every `Later` computed, in these columns or in all."""
    slow = points[points.columns if columns is None else points.columns.intersection(list(columns))]
    late = {name: column for name, column in slow.items() if column.map(lambda value: isinstance(value, Later)).any()}
    return points.assign(
        **{str(name): [value.compute(*value.args) for value in column] for name, column in late.items()}
    )


@dataclass(frozen=True, eq=False)
class Entry:
    """One line of a legend: a method, and the points of its hyper-parameters.

    Columns of points that the method's factory names are its arguments; "task" names one of the sweep's tasks; all
    others are labels that are carried into the results.

    method: what is run.
    free: a row for each setting of the columns that may be chosen, each independently of the others.
    num_rounds, eval_every: set where a round of this method differs from those of the others; default the sweep's.
        eval_every may be a function of the number of rounds.
    seeds: repetitions, where it is to have fewer than the sweep.
    complete: rows of `free` -> points with all columns. It writes what follows from the free columns (noise for an
        epsilon, the task of a label) and what stays as it is (what the noise was calibrated for), and gives settings
        that are the same run the same values (one epsilon without noise). It refuses what it cannot complete. None
        where the free columns are all there are.
    computed: columns that `complete` computes and that do not identify a run, such as noise: a run is what was asked
        for, and on another machine their last digits differ (`bench.store.complete_runs`).
    widens: whether it only goes beyond the grid of another entry; then it gives way to a user's own values.
    """

    method: Method
    free: pd.DataFrame
    num_rounds: int | Callable[[Task, Mapping[str, Any]], int] | None = None
    eval_every: int | Callable[[int], int] | None = None
    seeds: int | None = None
    complete: Callable[[pd.DataFrame], pd.DataFrame] | None = None
    computed: tuple[str, ...] = ()
    widens: bool = False

    @cached_property
    def points(self) -> pd.DataFrame:
        """One row per point, with all columns."""
        return self.free if self.complete is None else self.complete(self.free).drop_duplicates(ignore_index=True)

    @property
    def settable(self) -> list[str]:
        """The columns whose values can be replaced, since what follows from them can be computed."""
        columns = [str(name) for name in self.free]
        if self.complete is None:  # nobody says what a label means, or what was computed from what
            return [] if self.computed else [name for name in columns if name in parameters(self.method)[0]]
        return columns

    def with_points(self, points: pd.DataFrame) -> "Entry":
        """Return the entry with these points in place of its own."""
        return replace(self, free=points, complete=None)


class Sweep(NamedTuple):
    """A table of runs.

    name: of the sweep, and of its folder in the results.
    reproduces: what the sweep reproduces, in a few words.
    tasks: by the name in the points' column "task"; trial -> a fresh split or draw, always the same shapes.
    entries: by the name the legend will use.
    num_rounds: communication rounds; a number, or (task, arguments) -> number where the data decide.
    eval_every: rounds between evaluations; None evaluates before the first round and after the last.
    delta: the delta at which epsilon is stated.
    seeds: repetitions of every point with other randomness.
    trials: data splits, each of them run with every seed; None ties them: seed s runs on split s.
    notes: what readers of the results must know, such as a setting that the paper does not state.
    task_labels: labels that are true on the sweep's own tasks alone, such as an epsilon for which the noise was found
        with their numbers of examples.
    pairs: the repetitions (trial, seed) one by one, in place of what seeds and trials say.
    at_start: whether models are evaluated before the first round, too; else the metrics there are NaN.
    shard: which of the runs are to be run, by their place among all points of all repetitions.
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
    at_start: bool = True
    shard: slice = slice(None)

    def task(self, name: str, trial: int) -> Task:
        """Return one of the tasks.

        Data without a checksum are identified by their shapes.
        """
        task = self.tasks[name](trial)
        if task.checksum:
            return task
        return replace(task, checksum=recipe_checksum(tuple(leaf.shape for leaf in jax.tree.leaves(task))))

    @property
    def tasks_of_points(self) -> list[str]:
        """Names of the tasks that the points use, in the order of `tasks`; unknown names are left to `resolve`."""
        first = next(iter(self.tasks))
        points = [entry.points for entry in self.entries.values()]
        used = {name for rows in points for name in (rows["task"].unique() if "task" in rows else [first] * len(rows))}
        return [name for name in self.tasks if name in used]

    def repetitions(self, entry: Entry | None = None) -> list[tuple[int, int]]:
        """Return all pairs (trial, seed), of an entry or of the sweep."""
        if self.pairs is not None:
            return list(self.pairs)
        seeds = min(self.seeds, entry.seeds or self.seeds) if entry else self.seeds
        if self.trials is None:
            return [(seed, seed) for seed in range(seeds)]
        return list(itertools.product(range(self.trials), range(seeds)))


Sweeps = Mapping[str, Callable[[str], Sweep]]  # name -> function of the scale


def grid(**columns) -> pd.DataFrame:
    """Return every combination of the columns' values; a single value stands for a list of one."""
    lists = {
        name: [values] if isinstance(values, str) or not isinstance(values, Iterable) else list(values)
        for name, values in columns.items()
    }
    return pd.DataFrame(list(itertools.product(*lists.values())), columns=list(lists))


def with_tasks(points: pd.DataFrame, tasks: pd.DataFrame) -> pd.DataFrame:
    """Return the points with the task of their labels, None where there is none.

    Args:
        points: with the labels.
        tasks: a row for each task, its labels and then its name, "task".
    """
    task_of = {tuple(labels): task for *labels, task in tasks.itertuples(index=False)}
    named = points[list(tasks)[:-1]].itertuples(index=False, name=None)
    return points.assign(task=pd.Series([task_of.get(labels) for labels in named], points.index, dtype="str"))


def thin(sweep: Sweep, keep: Mapping[str, Iterable] | None = None, **changes) -> Sweep:
    """Return a smaller sweep derived from a larger one.

    Args:
        sweep: the larger one.
        keep: for some free columns, the values to keep. Each must occur in some entry: a smaller scale never tries
            what the larger does not. Entries without the column are kept as they are.
        changes: fields of the sweep to replace (num_rounds, eval_every, seeds, trials), or free columns to set to one
            value for all (num_epochs=1).

    Raises:
        InputError: for a column, or a value of `keep`, that the sweep does not have, and where nothing is left.
    """
    keep = {column: list(values) for column, values in (keep or {}).items()}
    fields = {name: value for name, value in changes.items() if name in Sweep._fields}
    columns = {name: value for name, value in changes.items() if name not in Sweep._fields}
    free = {str(column) for entry in sweep.entries.values() for column in entry.free}
    for column in (*keep, *columns):
        check_name(f"column of sweep {sweep.name}", column, free)
    for column, values in keep.items():
        columns_of_entries = [entry.free[column] for entry in sweep.entries.values() if column in entry.free]
        for value in values:
            if not any((of_entry == value).any() for of_entry in columns_of_entries):
                raise InputError(f"sweep {sweep.name} has no {column} = {value}: keep values of its grid")
    entries = {}
    for name, entry in sweep.entries.items():
        free = entry.free
        for column in free.columns.intersection(list(keep)):
            free = free.loc[free[column].isin(keep[column])]
        if len(free):
            changed = {column: value for column, value in columns.items() if column in free}
            entries[name] = replace(entry, free=free.assign(**changed).drop_duplicates(ignore_index=True))
    if not entries:
        raise InputError(f"nothing is left of sweep {sweep.name}: keep more of its grid")
    return sweep._replace(entries=entries, **fields)


def select(sweep: Sweep, where: str) -> Sweep:
    """Return the sweep with the points that satisfy a `bench.sweeps.condition` on its columns and "algorithm".

    An entry that has no such column holds NaN there, which equals nothing. Columns that take long are computed first
    only where the condition names them.

    Raises:
        InputError: where the expression does not parse, names no column, or selects nothing.
    """
    named_columns = names(where)
    tables = {
        name: with_computed(entry.points, named_columns).assign(algorithm=name) for name, entry in sweep.entries.items()
    }
    columns = list(dict.fromkeys(str(column) for table in tables.values() for column in table))
    entries = {}
    for name, entry in sweep.entries.items():
        try:
            chosen = condition(where, tables[name].reindex(columns=columns))
        except InputError as error:
            raise InputError(
                f'--where {where!r} is no condition on {sweep.name}, such as "algorithm == {name!r}": {error}'
            ) from None
        if chosen.any():
            entries[name] = entry.with_points(entry.points[chosen].reset_index(drop=True))
    if not entries:
        raise InputError(
            f"--where {where!r} selects none of the points of {sweep.name}: widen the condition; its algorithms are "
            f"{', '.join(tables)}"
        )
    return sweep._replace(entries=entries)


def on_task(sweep: Sweep, name: str, make: Callable[[int], Task]) -> Sweep:
    """Return the sweep on another task, under a separate name, so that its results do not replace those of the sweep.

    Points that differed only in the task, or in its labels, become one, without those labels. Entries that then have
    the same runs, such as one for each of several models, become one, which has the method's name.
    """
    entries: dict[str, Entry] = {}
    for label, entry in sweep.entries.items():
        points = with_computed(entry.points).drop(columns="task", errors="ignore")
        argument_names = [column for column in points if column in parameters(entry.method)[0]]
        labels = [column for column in points if column not in (*argument_names, *sweep.task_labels)]
        constant = points.groupby(argument_names, dropna=False)[labels].nunique(dropna=False).max() <= 1
        points = points[[*argument_names, *constant.index[constant]]].drop_duplicates(ignore_index=True)
        # Noise that was found for a label that is gone is no longer computed from the other columns, but given.
        follow = () if set(sweep.task_labels) & {*entry.points} else [name for name in entry.computed if name in points]
        entry = replace(entry.with_points(points), computed=tuple(sorted(follow)))
        twins = [twin for twin, earlier in entries.items() if _same_runs(earlier, entry)]
        for twin in twins:
            label = entry.method.make.__name__
            first, second = entries.pop(twin).seeds, entry.seeds  # None: the sweep's number
            entry = replace(entry, seeds=first and second and max(first, second))
        entries[label] = entry
    return sweep._replace(name=f"{sweep.name}_on_{name}", tasks={name: make}, entries=entries)


def _same_runs(first: Entry, second: Entry) -> bool:
    """Return whether two entries differ in nothing but the number of repetitions."""
    columns = sorted(map(str, first.points))
    kinds = [
        (entry.method, entry.num_rounds, entry.eval_every, entry.computed, entry.widens) for entry in (first, second)
    ]
    if kinds[0] != kinds[1] or columns != sorted(map(str, second.points)):
        return False
    rows, other_rows = (entry.points[columns].sort_values(columns, ignore_index=True) for entry in (first, second))
    return rows.equals(other_rows)


def parameters(method: Method) -> tuple[dict[str, inspect.Parameter], set[str]]:
    """Return the keyword-only parameters of a method's factory, with their types, and the names of those that are
    traced.

    Raises:
        InputError: where none is traced; the engine's points are vmapped over those.
    """
    return _parameters(method.make)[:2]


def compiled_arguments(
    method: Method, args: Mapping[str, Any]
) -> tuple[tuple[tuple[str, Any], ...], dict[str, jax.Array]]:
    """Return the static arguments of a method, in their order, and the traced ones as float32."""
    traced = parameters(method)[1]
    static = tuple((name, value) for name, value in args.items() if name not in traced)
    return static, {name: jnp.float32(args[name]) for name in sorted(traced)}


def defaults_of(method: Method) -> dict[str, Any]:
    """Return the defaults of a method's arguments, with which rows without them were made."""
    return {
        name: parameter.default
        for name, parameter in parameters(method)[0].items()
        if parameter.default is not parameter.empty
    }


def ranges(method: Method) -> dict[str, Range]:
    """Return the ranges that a method states for its arguments."""
    return _parameters(method.make)[2]


@cache
def _parameters(make: Callable) -> tuple[dict[str, inspect.Parameter], set[str], dict[str, Range]]:
    declared = inspect.signature(make, eval_str=True).parameters.values()
    keywords, value_ranges = {}, {}
    for parameter in declared:
        if parameter.kind is parameter.KEYWORD_ONLY:
            annotation = parameter.annotation
            if get_origin(annotation) is Annotated:
                annotation, *notes = get_args(annotation)
                value_ranges.update((parameter.name, note) for note in notes if isinstance(note, Range))
            keywords[parameter.name] = parameter.replace(annotation=annotation)
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
    return keywords, traced, value_ranges


def _is_plain(value: Any) -> bool:
    """Return whether a value can be fixed in a compiled program and written into the id of a point."""
    if isinstance(value, tuple):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, int | float | str)


def arguments(method: Method, point: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of a point that the method's factory takes, as plain Python values, defaults filled in. A
    `Later` is returned as it is.

    Raises:
        InputError: where a required argument is missing, or a value is out of its range or no number.
    """
    out = {}
    for name, parameter in parameters(method)[0].items():
        if name in point:
            out[name] = argument(method, name, point[name])
        elif parameter.default is not parameter.empty:
            out[name] = argument(method, name, parameter.default)
        else:
            raise InputError(f"the points of {method.make.__name__} have no column {name}: add it")
    return out


def argument(method: Method, name: str, value: Any) -> Any:
    """Return a value of an argument as the method's factory takes it, a plain Python value. A `Later` is returned as it
    is.

    Raises:
        InputError: where it is out of its range or no number.
    """
    keywords, traced = parameters(method)
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, Later):
        return value
    is_int = keywords[name].annotation is int
    if name in traced or is_int:
        if not isinstance(value, int | float) or math.isnan(as_float(name, value)):
            raise InputError(f"{name} is {value}: it must be a number")
        if is_int and not float(value).is_integer():
            raise InputError(f"{name} is {value}: it must be a whole number")
        value = float(value) if name in traced else int(value)
    if value_range := ranges(method).get(name):
        value_range.check(name, value)
    return value
