"""How the benchmarks measure: the best of several runs, beside a matrix product timed in the same minutes."""

import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bench.data.task import Task
from bench.sweeps import engine
from bench.sweeps.execution.resources import memory_budget

REPEATS = 3  # the best of so many: others use the machine too


class Measurement(NamedTuple):
    """One line: what, its value and unit, what is wanted (empty where nothing is), and remarks."""

    what: str
    value: float
    unit: str
    wanted: str = ""
    remarks: str = ""


def best_time(call: Callable[[], object]) -> float:
    """Seconds of the fastest of REPEATS calls, after one that is not counted."""
    call()
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return min(times)


@cache
def peak_flops() -> float:
    """Operations a second of a 2,000 x 2,000 float32 matrix product."""
    size = 2000
    x = jnp.ones((size, size))
    product = jax.jit(lambda x: x @ x)
    return 2 * size**3 / best_time(lambda: jax.block_until_ready(product(x)))


class Timed(NamedTuple):
    """Seconds of one point in one round, when `chunk` points run together, and the program's peak memory."""

    seconds: float
    chunk: int
    peak_bytes: int


def time_grid(task: Task, points, eval_every: int, num_rounds: int) -> Timed:
    """Time the compiled program on the points; rounds include evaluations, as in a sweep."""
    program = engine.Program(points[0].method.make, points[0].static, eval_every)
    hypers = {name: np.array([point.traced[name] for point in points]) for name in points[0].traced}
    plan = engine.plan(program, task, 1, hypers, len(points), budget=memory_budget())
    hypers = {name: column[: plan.chunk] for name, column in hypers.items()}
    keys = engine.run_keys(np.zeros(1, np.int32), np.zeros(1, np.int32))
    run = partial(engine.run_chunk, program, plan.step, task, keys, hypers)
    seconds = best_time(lambda: run(num_evals=num_rounds // eval_every, chunk=plan.chunk))
    return Timed(seconds / num_rounds / plan.chunk, plan.chunk, plan.peak_bytes)


def time_rounds(loop: Iterator, num_rounds: int) -> float:
    """Seconds of one round of a reference loop, after one that is not counted."""
    next(loop)
    began = time.perf_counter()
    for _ in range(num_rounds):
        next(loop)
    return (time.perf_counter() - began) / num_rounds


def against_loop(what: str, timed: Timed, loop_s: float, flops: float, wanted: float) -> list[Measurement]:
    """The lines of a sweep against its reference."""
    together = f"{timed.chunk} points together"
    return [
        Measurement(f"{what}: NumPy loop", 1e3 * loop_s, "ms a round"),
        Measurement(f"{what}: compiled", 1e3 * timed.seconds, "ms a round and point", remarks=together),
        Measurement(f"{what}: speed-up for each configuration", loop_s / timed.seconds, "x", f"{wanted:g}"),
        Measurement(f"{what}: share of matrix-product peak", 100 * flops / timed.seconds / peak_flops(), "%"),
        Measurement(f"{what}: peak memory of the program", timed.peak_bytes / 1e9, "GB", "12 at most"),
    ]
