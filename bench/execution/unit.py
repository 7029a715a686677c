"""One chunk of a compiled group: the request to a worker, and its result."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
import pandas as pd

from bench.data.task import Task
from bench.execution.memory import ran_out
from bench.execution.progress import Increment, Report
from bench.execution.snapshots import Snapshots
from bench.sweeps import devices, engine
from bench.sweeps.points import Point
from bench.sweeps.rows import Origin, rows_of


class Unit(NamedTuple):
    """Points times runs that one program can train.

    origin: what the rows have in common.
    task: the data of the runs' trial.
    points: points that share method, static arguments and rounds.
    runs: (trial, seed) of one trial.
    chunk: points that the program is compiled for, where an earlier unit has shown how many fit; None: all of them, or
        the largest number that fits.
    """

    origin: Origin
    task: Task
    points: Sequence[Point]
    runs: Sequence[tuple[int, int]]
    chunk: int | None = None


class Outcome(NamedTuple):
    """The outcome of a unit. If not all of it fits at once, only the first points, or the first run, are done.

    rows: the rows of what is done; None where the memory ran out.
    num_points, num_runs: how many points and runs, from the front, were trained together.
    chunk: points that the compiled program has room for.
    train_s, compile_s: wall time; compile_s is 0 where the program was already compiled.
    """

    rows: pd.DataFrame | None
    num_points: int
    num_runs: int
    chunk: int
    train_s: float
    compile_s: float


class _Watch:
    """Reports the rounds of a unit while it is trained, and keeps snapshots of it.

    Args:
        report: receives the steps.
        what: the unit in words.
        runs: runs times points that go together.
        num_rounds: of each.
        snapshots: of the unit.
    """

    def __init__(self, report: Report, what: str, runs: int, num_rounds: int, snapshots: Snapshots):
        self.report, self.what, self.runs, self.num_rounds, self.snapshots = report, what, runs, num_rounds, snapshots
        self.done, self.last = 0, time.monotonic()

    def count(self, rounds: int, kept: Any, metrics: Sequence[Mapping[str, np.ndarray]]) -> None:
        """Take what `engine.run_chunk` says of the first `rounds` rounds."""
        now = time.monotonic()
        if rounds > self.done:
            self.report(Increment((rounds - self.done) * self.runs, now - self.last))
        self.done, self.last = max(self.done, rounds), now
        if kept is not None:
            self.snapshots.offer(rounds, kept, metrics)

    def begun(self, like: Callable[[int], Any]) -> engine.Begun | None:
        """Return what an earlier command did of the unit, and report it; None where there is nothing."""
        found = self.snapshots.load(like)
        for doubt in self.snapshots.doubts:
            self.report(Increment(message=doubt))
        if found:
            text = f"goes on after round {found.rounds} of {self.num_rounds}, up to which an earlier command came"
            self.report(Increment(found.rounds * self.runs, message=f"{self.what} {text}"))
            self.done = found.rounds
        return found


class Trainer:
    """A trainer of units, one after the other, which keeps their compiled programs.

    Args:
        budget: bytes that a compiled program may need, on each device.
        devices: over which the clients of every run are divided; 1 does not divide them.
    """

    def __init__(self, budget: float, devices: int = 1):
        self.budget, self.devices = budget, devices
        self.fitted: dict[tuple, tuple[engine.FittedChunk, float]] = {}
        self._laid: tuple[Task, Task] | None = None  # the task of the last unit, and what it trains on

    def run(self, unit: Unit, report: Report = lambda step: None) -> Outcome:
        """Train as much of a unit as fits at once.

        Args:
            unit: the unit to train.
            report: receives the steps.
        """
        first, points, runs, task = unit.points[0], unit.points, list(unit.runs), self._task(unit.task)
        program = engine.Program(first.method.make, first.static, first.eval_every, first.at_start)
        chunk, compile_s, began = len(points), 0.0, time.monotonic()
        try:
            fitted, fitting_s = self._fitted(program, unit, len(runs), report)
            if len(runs) > 1 and fitted.chunk < len(points):  # several runs only where all points fit
                runs = runs[:1]
                fitted, fitting_s = self._fitted(program, unit, 1, report)
            chunk, compile_s, points = fitted.chunk, time.monotonic() - began, points[: fitted.chunk]
            num_runs = len(points) * len(runs)
            hypers = {name: np.array([point.traced[name] for point in points]) for name in first.traced}
            asked = [(point.id, point.traced) for point in points], first.num_rounds, first.eval_every
            snapshots = Snapshots(jax.tree.leaves(task), (task.name, *asked, runs, chunk, self.devices))
            what = f"{len(points)} points x {len(runs)} seeds" if num_runs > 1 else "a run"
            what = f"{unit.task.name}: {what} of {first.algorithm}"
            watch = _Watch(report, what, num_runs, first.num_rounds, snapshots)
            metrics = engine.run_chunk(
                program,
                fitted.step,
                task,
                engine.run_keys(*np.array(runs, np.int32).T),
                hypers,
                num_evals=first.num_rounds // first.eval_every,
                chunk=chunk,
                on_block=watch.count,
                begun=watch.begun,
            )
        except (MemoryError, jax.errors.JaxRuntimeError) as error:
            if not ran_out(error):
                raise
            return Outcome(None, len(points), len(runs), chunk, 0.0, compile_s)
        train_s = snapshots.seconds()
        snapshots.remove()
        timing = {"wall_s": train_s / num_runs, "compile_s": fitting_s, "points_per_chunk": chunk}
        rows = rows_of(unit.origin, unit.task, points, runs, metrics, timing)
        return Outcome(rows, len(points), len(runs), chunk, train_s, compile_s)

    def _task(self, task: Task) -> Task:
        """Return the task as it is trained on."""
        if self.devices == 1:
            return task
        if self._laid is None or self._laid[0] is not task:
            self._laid = None  # the memory of the last one is free before the next one takes it
            self._laid = task, devices.lay_out(task, self.devices)
        return self._laid[1]

    def _fitted(self, program: engine.Program, unit: Unit, num_runs: int, report: Report):
        """Return the chunk of this many runs that fits at once, and the seconds of compiling it."""
        task = self._task(unit.task)
        leaves, structure = jax.tree.flatten(task)
        shapes = tuple((leaf.shape, str(leaf.dtype)) for leaf in leaves)
        size = unit.chunk or len(unit.points)
        key = (program, structure, shapes, num_runs, size)
        if key not in self.fitted:
            began = time.monotonic()
            fitted = engine.fitted_chunk(program, task, num_runs, unit.points[0].traced, size, budget=self.budget)
            self.fitted[key] = fitted, time.monotonic() - began
            text = (
                f"{unit.task.name}: {len(unit.points)} points x {num_runs} seeds in chunks of {fitted.chunk}, "
                f"peak memory {fitted.peak_bytes / 1e6:,.0f} MB, compiled in {self.fitted[key][1]:.1f} s"
            )
            report(Increment(message=text))
        return self.fitted[key]
