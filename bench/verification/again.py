"""Runs a finished run again: finds its point in the sweep as the code has it now, and trains it."""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import pandas as pd

from bench.data.task import Task
from bench.errors import InputError
from bench.execution.unit import Unit
from bench.store.complete_runs import Points, rows_as_text
from bench.sweeps.points import resolve, shapes_of
from bench.sweeps.rows import Origin, commit
from bench.sweeps.spec import Entry, Sweep, Sweeps, defaults_of
from bench.verification.drawn import Run

LEFT_OUT, OUTDATED = "left out", "outdated"  # outcomes of a run whose data are not here, or whose point is gone
MOVED = 1e-6  # relative change of the hyperparameters by which the effect of rounding is found


class Prepared(NamedTuple):
    """A run that can be trained again.

    unit: the request to a worker.
    computed: the columns of the point that are computed from others, such as calibrated noise, as they come out here.
    """

    unit: Unit
    computed: dict[str, Any]

    def perturbed(self) -> Unit:
        """Return the same run with hyperparameters that differ in the last digits."""
        (point,) = self.unit.points
        traced = {name: value * (1 + MOVED) for name, value in point.traced.items()}
        return self.unit._replace(points=(point._replace(traced=traced),))


class NotRun(InputError):
    """A run cannot be made again; the arguments are its outcome, OUTDATED or LEFT_OUT, and what is wrong."""


def source_of(known: Sweeps, name: str, scale: str) -> tuple[Sweep, Callable[[str, int], Task]]:
    """Return a sweep at the scale at which a run of it was made, and (name, trial) -> its data, which are kept.

    Args:
        known: all sweeps, by name.
    """
    sweep = known[name](scale)

    @cache
    def task(name: str, trial: int) -> Task:
        try:
            return sweep.task(name, trial)
        except InputError as error:
            raise NotRun(LEFT_OUT, str(error)) from None

    return sweep, task


def prepare(run: Run, sweep: Sweep, task: Callable[[str, int], Task]) -> Prepared:
    """Find the run's point, and what is needed to train it.

    Args:
        sweep, task: of the run, from `source_of`.

    Raises:
        NotRun: where the sweep has no such point now, or its data or a method's version are others, or where the data
            of the run cannot be had.
    """
    entry = sweep.entries.get(run.algorithm)
    candidates = _candidates(entry, run) if entry else pd.DataFrame()
    if entry is None or candidates.empty:
        raise NotRun(OUTDATED, f"{run.sweep} has no such point of {run.algorithm}")
    one_entry = sweep._replace(entries={run.algorithm: entry.with_points(candidates)})
    default_task = next(iter(sweep.tasks))
    task_names = dict.fromkeys(candidates.get("task", [default_task]))
    trial = sweep.repetitions()[0][0]
    tasks_by_name = {name: task(name, trial) for name in task_names}
    points = {point.id: (name, point) for name, group in resolve(one_entry, tasks_by_name).items() for point in group}
    point_ids = Points(shapes_of(point for _, point in points.values())).recognised(run.rows.head(1))
    if run.point not in point_ids:
        raise NotRun(
            OUTDATED,
            f"{run.sweep} has another version of {run.algorithm} or other data now, or a number that is computed from "
            "the settings, such as calibrated noise, comes out differently",
        )
    name, point = points[point_ids[run.point]]
    origin = Origin(run.sweep, str(run.first["scale"]), sweep.delta, commit())
    # With the computed numbers of the run, so that the same is trained.
    run_point = point.known_as(run.first | {"point": run.point})._replace(asked={}, computed={})
    unit = Unit(origin, task(name, run.trial), (run_point,), ((run.trial, run.seed),))
    return Prepared(unit, point.computed)


def _candidates(entry: Entry, run: Run) -> pd.DataFrame:
    """Return the entry's points with the run's settings; several where they differ in their data alone."""
    names = [column for column in entry.points if column not in entry.computed and column != "task"]
    text = rows_as_text(pd.DataFrame([run.first]), names, defaults_of(entry.method)).iloc[0]
    return entry.points[(rows_as_text(entry.points, names) == text).to_numpy()].reset_index(drop=True)
