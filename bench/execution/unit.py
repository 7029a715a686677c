"""One chunk of a compiled group: the request to a worker, and its result."""

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
import pandas as pd

from bench.data.task import Task
from bench.errors import InputError
from bench.execution.memory import ran_out
from bench.execution.progress import Increment, Report
from bench.execution.snapshots import Snapshots
from bench.sweeps import devices, diagnose, engine
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
    messages: messages for the user, in sentences.
    """

    rows: pd.DataFrame | None
    num_points: int
    num_runs: int
    chunk: int
    train_s: float
    compile_s: float
    messages: tuple[str, ...] = ()


class _Watch:
    """Times the rounds of a unit, and reports them.

    Args:
        report: receives the steps.
        runs: runs times points that go together.
    """

    def __init__(self, report: Report, runs: int):
        self.report, self.runs = report, runs
        self.done, self.last = 0, time.monotonic()

    def count(self, rounds: int) -> None:
        """Report that the first `rounds` rounds are done; 0 when the runs are started, after their compilation."""
        now = time.monotonic()
        if rounds > self.done:
            self.report(Increment((rounds - self.done) * self.runs, now - self.last))
        self.done, self.last = max(self.done, rounds), now

    def resumed(self, rounds: int, message: str) -> None:
        """Report that an earlier command did the first `rounds` rounds, with a sentence that says so."""
        self.report(Increment(rounds * self.runs, message=message))
        self.done = rounds


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
        messages: list[str] = []
        began = time.monotonic()
        try:
            fitted, fitting_s = self._fitted(program, unit, len(runs), messages)
            if len(runs) > 1 and fitted.chunk < len(points):  # several runs only where all points fit
                runs = runs[:1]
                fitted, fitting_s = self._fitted(program, unit, 1, messages)
        except (MemoryError, jax.errors.JaxRuntimeError) as error:
            if not ran_out(error):
                raise
            return Outcome(None, len(points), len(runs), len(points), 0.0, time.monotonic() - began, tuple(messages))
        compile_s, points = time.monotonic() - began, points[: fitted.chunk]
        hypers = {name: np.array([point.traced[name] for point in points]) for name in first.traced}
        watch = _Watch(report, len(points) * len(runs))
        asked = [(point.id, point.traced) for point in points], first.num_rounds, first.eval_every
        snapshots = Snapshots(jax.tree.leaves(task), (task.name, *asked, runs, fitted.chunk, self.devices))

        def begun(like: Callable[[int], Any]) -> engine.Begun | None:
            kept = snapshots.load(like)
            messages.extend(snapshots.doubts)
            if kept:
                runs_text = f"{len(points)} points x {len(runs)} seeds" if len(points) * len(runs) > 1 else "a run"
                watch.resumed(
                    kept.rounds,
                    f"{unit.task.name}: {runs_text} of {first.algorithm} goes on after round {kept.rounds} of "
                    f"{first.num_rounds}, up to which an earlier command came",
                )
            return kept

        try:
            with diagnose.callbacks_not_logged():
                metrics = engine.run_chunk(
                    program,
                    fitted.step,
                    task,
                    engine.run_keys(*np.array(runs, np.int32).T),
                    hypers,
                    num_evals=first.num_rounds // first.eval_every,
                    chunk=fitted.chunk,
                    on_block=watch.count,
                    begun=begun,
                    on_kept=snapshots.offer,
                )
        except (MemoryError, jax.errors.JaxRuntimeError) as error:
            if not ran_out(error):
                if cause := diagnose.of_callback(error):
                    name = first.method.make.__name__
                    raise InputError(f"a callback of {name} or of {unit.task.name} fails: {cause}") from error
                raise
            return Outcome(None, len(points), len(runs), fitted.chunk, 0.0, compile_s, tuple(messages))
        train_s = snapshots.seconds()
        snapshots.remove()
        timing = {
            "wall_s": train_s / (len(points) * len(runs)),
            "compile_s": fitting_s,
            "points_per_chunk": fitted.chunk,
        }
        rows = rows_of(unit.origin, unit.task, points, runs, metrics, timing)
        return Outcome(rows, len(points), len(runs), fitted.chunk, train_s, compile_s, tuple(messages))

    def _task(self, task: Task) -> Task:
        """Return the task as it is trained on."""
        if self.devices == 1:
            return task
        if self._laid is None or self._laid[0] is not task:
            self._laid = None  # the memory of the last one is free before the next one takes it
            self._laid = task, devices.lay_out(task, self.devices)
        return self._laid[1]

    def _fitted(self, program: engine.Program, unit: Unit, num_runs: int, messages: list[str]):
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
            messages.append(
                f"{unit.task.name}: {len(unit.points)} points x {num_runs} seeds in chunks of {fitted.chunk}, "
                f"peak memory {fitted.peak_bytes / 1e6:,.0f} MB, compiled in {self.fitted[key][1]:.1f} s"
            )
        return self.fitted[key]
