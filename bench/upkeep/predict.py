"""Predictions of the cost of a sweep's runs, also with other numbers of users and points.

Times follow from the work of a round, counted on the traced program with shapes for that many users, and from a model
fitted to existing runs. Bytes are counted directly.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
import pandas as pd
import psutil

from bench.data.files import DataFiles
from bench.data.task import Task
from bench.errors import InputError
from bench.store.complete_runs import as_text, made_on_cpus, rows_as_text
from bench.store.requests import read_request
from bench.sweeps import engine
from bench.sweeps.counts import Counts, Work, work_of
from bench.sweeps.spec import Entry, Sweep, arguments, parameters
from bench.upkeep import cost
from bench.upkeep.merge import sweep_named
from bench.upkeep.status import runs_there

CPU, GPU = "cpu", "gpu"
QUARTILE = 0.25  # of the times of a program's chunks, because others used the machine during many of them
NODES = 1000
DRAW_BYTES = 20  # of a user, while those who take part are drawn
MOST_TRACED = 10**5  # users; sizes of arrays of many more users do not fit in 32 bits
COLUMNS = {"core": "a core", "gpu": "a GPU", "8 gpus": "8 GPUs", f"{NODES} nodes": f"{NODES:,} nodes"}


class Prediction(NamedTuple):
    """The predicted cost of an entry of a sweep.

    users: in all.
    points: each has the sweep's repetitions, which gives the number of `runs`.
    rounds: of a run, on average.
    user_bytes, state_bytes: of a user, for all points together, and for each point that is trained at the same time.
    memory: bytes of all users with one point, in addition to the block of users in training.
    seconds: of a core, or a GPU, for a point and round; None where nothing of the method was measured there.
    checks: how far predictions are from measured runs that were not fitted, by device.
    hours: on "core", "gpu", "8 gpus" and "1000 nodes"; None as for seconds.
    notes: remarks, a sentence each.
    """

    sweep: str
    entry: str
    users: int
    points: int
    runs: int
    rounds: float
    user_bytes: float
    state_bytes: float
    memory: float
    seconds: dict[str, float | None]
    checks: dict[str, cost.Check | None]
    hours: dict[str, float | None]
    notes: list[str]

    def as_dict(self) -> dict[str, Any]:
        """Return the prediction for JSON, and for tables of one level without its `checks`."""
        checks = {device: check and check._asdict() for device, check in self.checks.items()}
        return self._asdict() | {"checks": checks}


class _Group(NamedTuple):
    """Points of an entry that share a program."""

    task: Task
    static: tuple[tuple[str, Any], ...]
    traced: tuple[str, ...]
    num_rounds: int
    eval_every: int
    count: int


def _groups(sweep: Sweep, entry: Entry, tasks: dict[str, Task]) -> list[_Group]:
    found: dict[tuple, _Group] = {}
    traced = parameters(entry.method)[1]
    every = sweep.eval_every if entry.eval_every is None else entry.eval_every
    rounds = sweep.num_rounds if entry.num_rounds is None else entry.num_rounds
    for record in entry.points.to_dict("records"):
        row = {str(column): value for column, value in record.items()}
        name = row.pop("task", next(iter(sweep.tasks)))
        args = arguments(entry.method, row)
        static = tuple(sorted((key, value) for key, value in args.items() if key not in traced))
        number = rounds(tasks[name], args) if callable(rounds) else rounds
        between = every(number) if callable(every) else every
        group = _Group(tasks[name], static, tuple(sorted(traced)), number, between or number, 0)
        key = name, static, number
        found[key] = group._replace(count=found.get(key, group).count + 1)
    return list(found.values())


class _Line(NamedTuple):
    """The work of a group's round as a linear function of the number of points trained together."""

    one: Work
    two: Work
    eval_every: int

    def each(self, chunk: float) -> Counts:
        """Return the work of a point and round."""
        first, second = (work.per_round(self.eval_every) for work in (self.one, self.two))
        return Counts().plus(first, (2 - chunk) / chunk).plus(second, (chunk - 1) / chunk)


def _line(entry: Entry, group: _Group, num_users: int) -> _Line:
    """Return the line of a group. At most MOST_TRACED users are traced; with more the work is linear in users."""

    def traced(number: int, points: int) -> Work:
        static = static_of(group.static, group.task, number)
        program = engine.Program(entry.method.make, static, group.eval_every)
        return work_of(program, with_users(group.task, number), 1, group.traced, points)

    def with_all(points: int) -> Work:
        first = traced(min(num_users, MOST_TRACED), points)
        if num_users <= MOST_TRACED:
            return first
        second, beyond = traced(2 * MOST_TRACED, points), num_users / MOST_TRACED - 1
        return Work(*(one.plus(one, -beyond).plus(two, beyond) for one, two in zip(first, second, strict=True)))

    return _Line(with_all(1), with_all(2), group.eval_every)


def _measured(entry: Entry, label: str, group: _Group, line: _Line, runs: pd.DataFrame) -> dict[str, cost.Cell]:
    """Return the group's measured runs as a cell for each kind of device."""
    if runs.empty:
        return {}
    names = [name for name, _ in group.static]
    here = runs["algorithm"].eq(label) & runs["task"].eq(group.task.name) & runs["num_rounds"].eq(group.num_rounds)
    here &= runs["version"].eq(entry.method.version)
    if names:
        settings = "|".join(as_text(value) for _, value in group.static)
        here &= rows_as_text(runs, names).eq(settings)
    cells = {}
    for device, found in runs[here].groupby(np.where(made_on_cpus(runs[here]), CPU, GPU)):
        chunk = float(found["points_per_chunk"].median())
        seconds = float(found["wall_s"].quantile(QUARTILE)) / group.num_rounds
        cells[str(device)] = cost.Cell(line.each(chunk), chunk, seconds)
    return cells


class _Known(NamedTuple):
    """An entry, its programs, and their measured runs."""

    sweep: Sweep
    label: str
    entry: Entry
    groups: list[_Group]
    lines: list[_Line]
    cells: list[dict[str, cost.Cell]]


def check(names: Sequence[str], *, predict: bool, users: int | None, points: int | None) -> None:
    """Refuse options that are incompatible.

    Raises:
        InputError: naming the options.
    """
    if not predict and (users, points) != (None, None):
        raise InputError("--users and --points only apply to a prediction: add --predict")
    if predict and not names:
        raise InputError("--predict traces the programs of each sweep: name the sweeps")
    for option, number in (("--users", users), ("--points", points)):
        if number is not None and not 1 <= number <= 10**12:
            raise InputError(f"{option} is {number}: it must be between 1 and {10**12:,}")


def predict(
    names: Sequence[str],
    scale: str,
    out: Path,
    data_files: DataFiles,
    *,
    users: int | None = None,
    points: int | None = None,
) -> list[Prediction]:
    """Predict the cost of all runs of sweeps, finished or not. A method's model is fitted to its measured runs in all
    of these sweeps.

    Args:
        names: of sweeps, or of folders with a user's own values; at least one.
        scale: smoke, laptop or paper.
        out: the folder of results.
        data_files: the allowed sources of data, from which the sizes of a task are read.
        users: in place of those of the sweep's tasks. Where all users take part in a round, all of these do.
        points: of every entry, in place of the sweep's, in the same mixture.

    Raises:
        InputError: for what `check` refuses, and data that are not available.
    """
    check(names, predict=True, users=users, points=points)
    known = [sweep for name in names for sweep in _known(name, scale, out / scale / name, data_files)]
    cells: dict[tuple, list[cost.Cell]] = {}
    for sweep in known:
        for found in sweep.cells:
            for device, cell in found.items():
                cells.setdefault((sweep.entry.method.make, device), []).append(cell)
    return [_prediction(sweep, cells, users, points) for sweep in known]


def _known(name: str, scale: str, folder: Path, data_files: DataFiles) -> list[_Known]:
    sweep = sweep_named(name, scale, read_request(folder))
    trial, _ = sweep.repetitions()[0]
    tasks = {task: sweep.task(task, trial, data_files) for task in sweep.tasks}
    runs, _ = runs_there(folder)
    found = []
    for label, entry in sweep.entries.items():
        groups = _groups(sweep, entry, tasks)
        lines = [_line(entry, group, group.task.num_clients) for group in groups]
        cells = [_measured(entry, label, group, line, runs) for group, line in zip(groups, lines, strict=True)]
        found.append(_Known(sweep, label, entry, groups, lines, cells))
    return found


def _prediction(known: _Known, cells: dict, users: int | None, points: int | None) -> Prediction:
    """Return the prediction for one entry."""
    groups, own = known.groups, sum(group.count for group in known.groups)
    number = own if points is None else points
    share, repetitions = number / own, len(known.sweep.repetitions(known.entry))
    largest = max(groups, key=lambda group: group.task.num_clients)
    num_users = users or largest.task.num_clients
    lines = known.lines if users is None else [_line(known.entry, group, users) for group in groups]
    program = engine.Program(known.entry.method.make, largest.static, largest.eval_every)
    shared, each = user_bytes(program, largest.task, largest.traced, min(num_users, MOST_TRACED))
    runs = round(number * repetitions)
    rounds = [group.num_rounds for group in groups]
    weights = [share * group.count * repetitions for group in groups]

    def total(model: cost.Model | None, workers: int) -> float | None:
        """Return the hours with `workers` workers that share the runs; at least the hours of the rounds of one run."""
        if model is None:
            return None
        spent, longest = 0.0, 0.0
        for line, weight, number_of in zip(lines, weights, rounds, strict=True):
            chunk = max(1.0, min(usual, weight / workers))
            spent += weight * number_of * model.seconds(line.each(chunk), chunk)
            longest = max(longest, number_of * model.seconds(line.each(chunk), chunk) * chunk)
        return max(spent / workers, longest) / 3600

    usual = float(np.median([cell.chunk for found in known.cells for cell in found.values()] or [1.0]))
    measured = {device: cells.get((known.entry.method.make, device), []) for device in (CPU, GPU)}
    models = {device: cost.fit(found) if found else None for device, found in measured.items()}
    cores = psutil.cpu_count(logical=False) or 1
    hours = {
        "core": total(models[CPU], 1),
        "gpu": total(models[GPU], 1),
        "8 gpus": total(models[GPU], 8),
        f"{NODES} nodes": total(models[CPU], NODES * cores),
    }
    work = sum(weight * number_of for weight, number_of in zip(weights, rounds, strict=True))
    whole = {CPU: hours["core"], GPU: hours["gpu"]}
    unknown = max(line.one.round.unknown_loops for line in lines)
    notes = ["loops whose length is only known at run time count as one iteration"] if unknown else []
    return Prediction(
        known.sweep.name,
        known.label,
        num_users,
        number,
        runs,
        work / sum(weights),
        shared,
        each,
        num_users * (shared + each),
        {device: None if spent is None else 3600 * spent / work for device, spent in whole.items()},
        {device: cost.check(found) for device, found in measured.items()},
        hours,
        notes,
    )


# ---- Other numbers of users ----


def with_users(task: Task, num_users: int) -> Task:
    """Return the shapes of a task with another number of users, all else being equal."""
    here = task.num_clients

    def shape(leaf, axes: int):
        sizes = [num_users if axis < axes and size == here else size for axis, size in enumerate(leaf.shape)]
        return jax.ShapeDtypeStruct(tuple(sizes), leaf.dtype)

    shapes = jax.tree.map(partial(shape, axes=0), task)
    own = ("num_examples", "train", "init_local", "gram", "evaluation")
    grown = {name: jax.tree.map(partial(shape, axes=1), getattr(task, name)) for name in own}
    return replace(shapes, **grown, peers=jax.tree.map(partial(shape, axes=2), task.peers))


def static_of(static: tuple[tuple[str, Any], ...], task: Task, num_users: int) -> tuple[tuple[str, Any], ...]:
    """Return the static arguments of a method, where all users take part in a round if all of the task's do, and else
    as many as did.
    """
    args = dict(static)
    if "num_sampled" in args:
        sampled, here = args["num_sampled"], task.num_clients
        args["num_sampled"] = num_users if sampled == here else min(sampled, num_users)
    return tuple(sorted(args.items()))


def _bytes(tree) -> float:
    return float(sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(tree)))


def user_bytes(program: engine.Program, task: Task, traced: Iterable[str], num_users: int) -> tuple[float, float]:
    """Bytes of one more user: for all points together, and for each point.

    Args:
        program: on the task.
        task: with any number of users.
        traced: names of the traced arguments.
        num_users: how many there are.
    """

    def both(number: int) -> tuple[float, float]:
        larger = with_users(task, number)
        scaled = program._replace(static=static_of(program.static, task, number))
        state = engine.shapes_of(scaled, larger, 1, traced, 1)[-1]
        keyless = jax.tree.map(lambda leaf: jax.eval_shape(jax.random.key_data, leaf) if _is_key(leaf) else leaf, state)
        return _bytes(larger) + _bytes(keyless.schedule), _bytes(keyless.variables)

    (shared, each), (more_shared, more_each) = both(num_users), both(2 * num_users)
    return DRAW_BYTES + (more_shared - shared) / num_users, (more_each - each) / num_users


def _is_key(leaf) -> bool:
    return jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key)


# ---- As a table ----


def written(predictions: Sequence[Prediction]) -> str:
    """Return the printed table, one line per entry."""
    head = ("sweep, entry", "users", "runs x rounds", "core-s a point and round", "held out", "bytes a user", "GB")
    lines: list[tuple[str, ...]] = [(*head, *COLUMNS.values())]
    for prediction in predictions:
        seconds, found = prediction.seconds[CPU], prediction.checks[CPU]
        lines.append(
            (
                f"{prediction.sweep}, {prediction.entry}",
                f"{prediction.users:,}",
                f"{prediction.runs:,} x {prediction.rounds:,.0f}",
                "unmeasured" if seconds is None else f"{seconds:.3g}",
                "" if found is None else f"{100 * found.within:.0f} % of {found.cells}",
                f"{prediction.user_bytes:,.0f} + {prediction.state_bytes:,.0f} a point",
                f"{prediction.memory / 1e9:.3g}",
                *(_time(prediction.hours[place]) for place in COLUMNS),
            )
        )
    widths = [max(len(line[place]) for line in lines) for place in range(len(lines[0]))]
    table = "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )
    notes = [
        f"{prediction.sweep}, {prediction.entry}: {note}" for prediction in predictions for note in prediction.notes
    ]
    cores = psutil.cpu_count(logical=False) or 1
    said = (
        f"held out: programs whose time, predicted from the others', is within {100 * cost.TOLERANCE:.0f} % of what "
        f"was measured. GB: memory of all users with one point, plus a block of at most 16 MB. A node has {cores} "
        "cores, like this machine. Runs are distributed over workers; the rounds of a run are sequential."
    )
    return "\n".join([table, "", *notes, said])


def _time(hours: float | None) -> str:
    if hours is None:
        return "unmeasured"
    return f"{hours:.3g} h" if hours >= 0.1 else f"{3600 * hours:.3g} s"
