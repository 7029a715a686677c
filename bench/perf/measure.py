"""Measurements of the benchmarks: the best of several runs."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import jax
import numpy as np
import pandas as pd

from bench.algorithms import ALGORITHMS
from bench.data.task import Task
from bench.execution import memory
from bench.perf.counts import Counts, count, work_of
from bench.sweeps import engine
from bench.sweeps.points import Point, resolve
from bench.sweeps.spec import Entry, Sweep

REPEATS = 3  # the best repetition counts, since others use the machine too


class Measurement(NamedTuple):
    """One line: a name, its value and unit, the target (empty where there is none), and remarks."""

    what: str
    value: float
    unit: str
    wanted: str = ""
    remarks: str = ""


def best_time(call: Callable[[], object]) -> float:
    """Return the seconds of the fastest of REPEATS calls, after one that is not counted."""
    call()
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return min(times)


class Grid(NamedTuple):
    """Points that share a program, on their task; `num_rounds` rounds are timed, a multiple of `eval_every`."""

    task: Task
    points: Sequence[Point]
    eval_every: int
    num_rounds: int


def grid_of(task: Task, method: str, points: pd.DataFrame, eval_every: int, num_rounds: int) -> Grid:
    """Return points of a method on a task that need not be in a sweep."""
    sweep = Sweep(
        "perf", "", {"": lambda _: task}, {"": Entry(ALGORITHMS[method], points)}, eval_every, eval_every, 1e-4
    )
    return Grid(task, resolve(sweep, {"": task})[""], eval_every, num_rounds)


class Call(NamedTuple):
    """A jitted function that does one `unit`, and its arguments."""

    function: Callable
    arguments: tuple
    unit: str


class Workload(NamedTuple):
    """A computation to be timed repeatedly.

    run: does the whole computation, and returns when it is done.
    unit: name of the unit that is counted, such as "round of a point".
    units: the number of units in a call.
    work: the work of one unit; its bytes are those that the unit must read and write.
    bytes: the memory of the program, which decides whether data come from a cache or from memory.
    points: points in a call.
    """

    run: Callable[[], object]
    unit: str
    units: float
    work: Counts
    bytes: float
    points: int = 1

    @property
    def points_in_words(self) -> str:
        """The number of points that are timed at once, in words."""
        return f"{self.points} points together"


def fitted(grid: Grid, budget: float) -> tuple[engine.Program, engine.FittedChunk]:
    """Return a program, and its step compiled for as many of the points as fit into so many bytes."""
    first = grid.points[0]
    program = engine.Program(first.method.make, first.static, grid.eval_every)
    return program, engine.fitted_chunk(program, grid.task, 1, first.traced, len(grid.points), budget=budget)


def workload_of(grid: Grid, budget: float | None = None) -> Workload:
    """Return the compiled program on as many of the points as fit in memory; rounds include evaluations, as in a sweep.

    Args:
        grid: the points to run.
        budget: bytes that the program may need; default the free memory.
    """
    task = grid.task
    program, fitted_chunk = fitted(grid, budget or memory.budget())
    points = grid.points[: fitted_chunk.chunk]
    hypers = {name: np.array([point.traced[name] for point in points]) for name in points[0].traced}
    work = work_of(program, task, 1, hypers, len(points))
    keys = engine.run_keys(np.zeros(1, np.int32), np.zeros(1, np.int32))
    run = partial(engine.run_chunk, program, fitted_chunk.step, task, keys, hypers)
    return Workload(
        partial(run, num_evals=grid.num_rounds // grid.eval_every, chunk=len(points)),
        "round of a point",
        grid.num_rounds * len(points),
        Counts().plus(work.per_round(grid.eval_every), 1 / len(points)),
        fitted_chunk.peak_bytes,
        len(points),
    )


def bytes_of(program: jax.stages.Compiled) -> int:
    """Return the bytes of a compiled program's arguments and of what it holds while it runs."""
    needed = program.memory_analysis()
    assert needed is not None
    return needed.temp_size_in_bytes + needed.argument_size_in_bytes


def workload_of_call(call: Call) -> Workload:
    """Return the compiled function as a workload."""
    program = call.function.lower(*call.arguments).compile()
    work = count(call.function, *call.arguments)
    return Workload(lambda: jax.block_until_ready(program(*call.arguments)), call.unit, 1, work, bytes_of(program))


def time_grid(grid: Grid) -> tuple[Workload, float]:
    """Return the compiled program on the points, and the seconds of one point in one round."""
    workload = workload_of(grid)
    return workload, best_time(workload.run) / workload.units


def against_loop(what: str, grid: Grid, loop_s: float) -> list[Measurement]:
    """Time a sweep's points, and return the lines that compare them with the seconds of a round of its reference."""
    workload, seconds = time_grid(grid)
    return [
        Measurement(f"{what}: NumPy loop", 1e3 * loop_s, "ms a round"),
        Measurement(f"{what}: compiled", 1e3 * seconds, "ms a round and point", remarks=workload.points_in_words),
        Measurement(f"{what}: speed-up for each configuration", loop_s / seconds, "x", "50"),
        Measurement(f"{what}: peak memory of the program", workload.bytes / 1e9, "GB", "12 at most"),
    ]
