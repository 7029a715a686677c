"""Speed and memory: the compiled programs against plain NumPy loops of the same algorithms, on this machine, now.

Not a test: it prints what it measures. Shares of the peak are of a matrix product measured in the same run.
"""

import math
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import psutil
from rich.console import Console
from rich.table import Table

from bench.algorithms import ALGORITHMS
from bench.data.synthetic import synthetic
from bench.data.task import Task
from bench.models.additive import squared_loss
from bench.reference import ppsgd as reference
from bench.sweeps import SWEEPS, engine
from bench.sweeps.points import resolve
from bench.sweeps.run import memory_budget, run_sweep
from bench.sweeps.spec import Entry, Sweep, grid

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
    plan = engine.plan(program, task, 1, hypers, budget=memory_budget())
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


def ppsgd_synthetic() -> list[Measurement]:
    """The published synthetic grid at C = 10: 1,000 users, 100 features, everybody in every round."""
    sweep = SWEEPS["ppsgd_synthetic"]("paper")
    tasks = {name: make(0) for name, make in sweep.tasks.items()}
    name = next(iter(tasks))
    points = [p for p in resolve(sweep, tasks)[name] if p.args["clip_norm"] == 10]
    task, args = tasks[name], points[-1].args
    truth, variance = np.asarray(task.evaluation["truth"]), np.asarray(task.evaluation["variance"])
    stream = reference.stream(
        np.random.default_rng(0), truth, variance, label_noise=0.01, batch_size=args["batch_size"], num_rounds=100
    )
    fixed = {k: args[k] for k in ("clip_norm", "noise_multiplier")}
    loop = reference.as_run(stream, *truth.shape[:1], truth.shape[1:], step_size=0.1, personalization=1.0, **fixed)
    flops = 4.0 * truth.size * args["batch_size"]  # predictions and gradients of every user
    timed = time_grid(task, points, sweep.eval_every, 50)
    return against_loop("ppsgd_synthetic", timed, time_rounds(loop, 20), flops, 50)


def ppsgd_digits() -> list[Measurement]:
    """The published digit grid at C = 10 on the digits that are here, ten users in a round."""
    sweep = SWEEPS["ppsgd_digits"]("paper")
    tasks = {name: make(0) for name, make in sweep.tasks.items()}
    (name, task), *_ = tasks.items()
    points = [p for p in resolve(sweep, tasks)[name] if p.args["clip_norm"] == 10]
    args = points[-1].args
    pixels, targets = (np.asarray(leaf) for leaf in task.train)
    users = [(x[:n], y[:n]) for x, y, n in zip(pixels, targets, np.asarray(task.num_examples), strict=True)]
    queue = reference.queue(
        np.random.default_rng(0), users, **{k: args[k] for k in ("num_sampled", "batch_size", "num_epochs")}
    )
    fixed = {k: args[k] for k in ("clip_norm", "noise_multiplier")}
    shape = (pixels.shape[-1], targets.shape[-1])
    loop = reference.as_run(queue, len(users), shape, step_size=1e-3, personalization=1.0, **fixed)
    flops = 4.0 * math.prod(shape) * args["num_sampled"] * args["batch_size"]  # the shared model's two products
    timed = time_grid(task, points, sweep.eval_every, sweep.eval_every)
    return against_loop(f"ppsgd_digits on {task.name}", timed, time_rounds(loop, 50), flops, 100)


def _no_metrics(params, task: Task) -> dict:
    return {"norm": jnp.linalg.norm(params)}


def _small_regression(num_clients: int, num_examples: int, num_features: int) -> Task:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((num_clients, num_examples, num_features)).astype(np.float32)
    y = rng.standard_normal((num_clients, num_examples)).astype(np.float32)
    return Task(
        init_params=jnp.zeros(num_features),
        num_examples=jnp.full(num_clients, num_examples, jnp.int32),
        train=(jnp.asarray(x), jnp.asarray(y)),
        loss=squared_loss,
        metrics=_no_metrics,
        name=f"regression_{num_clients}",
        source="generated",
    )


def w1() -> list[Measurement]:
    """User-level private FedAvg: 1,000 users, 100 features, one step on 10 examples, clip, noise; one point."""
    task = _small_regression(1000, 10, 100)
    points = grid(
        num_sampled=1000,
        batch_size=10,
        sampler="all",
        step_size=0.1,
        server_step_size=0.1,
        clip_norm=1.0,
        noise_multiplier=1.0,
    )
    sweep = Sweep("w1", "", {"w1": lambda _: task}, {"": Entry(ALGORITHMS["dp_fedavg"], points)}, 200, 200, 1e-4)
    timed = time_grid(task, resolve(sweep, {"w1": task})["w1"], 200, 1000)
    rate = 1e-6 * task.num_clients / timed.seconds
    share = 100 * 4 * task.train[0].size / timed.seconds / peak_flops()
    return [
        Measurement("W1: one private FedAvg round", 1e3 * timed.seconds, "ms"),
        Measurement("W1: client updates", rate, "million/s", "5 to 10", "one point, rounds scanned"),
        Measurement("W1: share of matrix-product peak", share, "%"),
    ]


def w3() -> list[Measurement]:
    """A grid of 64 small runs and one of 2,048 with their Parquet written, and again when all is there."""
    lines = []
    for num_points, wanted in ((16, "1.5"), (512, "5")):
        points = grid(
            num_sampled=50,
            batch_size=10,
            sampler="all",
            step_size=np.linspace(0.01, 0.5, num_points),
            personalization=1.0,
            clip_norm=1.0,
            noise_multiplier=1.0,
        )
        make = partial(synthetic, num_clients=50, num_features=10)
        entry = Entry(ALGORITHMS["ppsgd"], points)
        sweep = Sweep("w3", "", {"w3": make}, {"PPSGD": entry}, 100, 50, 1e-4, seeds=4, trials=1)
        with tempfile.TemporaryDirectory() as out:
            times = []
            for _ in range(2):
                began = time.perf_counter()
                run_sweep(sweep, scale="smoke", out=out)
                times.append(time.perf_counter() - began)
        lines.append(
            Measurement(f"W3: {4 * num_points} runs, compiled and written", times[0], "s", wanted + " at most")
        )
        lines.append(Measurement(f"W3: {4 * num_points} runs, all there", times[1], "s", "0.66 at most"))
    return lines


BENCHMARKS: dict[str, Callable[[], list[Measurement]]] = {
    "ppsgd_synthetic": ppsgd_synthetic,
    "ppsgd_digits": ppsgd_digits,
    "w1": w1,
    "w3": w3,
}


def report(names: list[str]) -> None:
    """Run the benchmarks and print their lines."""
    table = Table("what", "value", "unit", "wanted", "remarks")
    lines = [Measurement("matrix product, 2,000 x 2,000 float32", peak_flops() / 1e9, "GFLOP/s")]
    for name in names:
        lines += BENCHMARKS[name]()
    resident = psutil.Process().memory_info().rss
    lines.append(Measurement("resident memory at the end", resident / 1e9, "GB"))
    for line in lines:
        table.add_row(line.what, f"{line.value:.3g}", line.unit, line.wanted, line.remarks)
    device = jax.local_devices()[0]
    console = Console(width=None if Console().is_terminal else 150)
    console.print(
        f"{jax.local_device_count()} x {device.device_kind}, {psutil.cpu_count()} cores, jax {jax.__version__}"
    )
    console.print(table)
