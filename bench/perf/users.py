"""Rounds of private FedAvg and PPSGD on linear models: of a thousand users, and of growing numbers of them, with a
straight line through the first two.
"""

import gc
from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
import psutil

from bench.data.task import Task
from bench.execution import memory
from bench.models.additive import squared_loss
from bench.perf.measure import Grid, Measurement, grid_of, time_grid
from bench.sweeps.spec import grid

FEATURES, EXAMPLES = 10, 5
COUNTS = (10**3, 10**4, 10**5, 10**6)
MOST = 10**5  # the most users in a round; with fewer users in all, every user takes part
ROUNDS = 20  # in a call, so that the call itself does not count
ARGS = {
    "dp_fedavg": {"step_size": 0.1, "server_step_size": 0.1, "clip_norm": 1.0, "noise_multiplier": 1.0},
    "ppsgd": {"step_size": 0.1, "personalization": 1.0, "clip_norm": 1.0, "noise_multiplier": 1.0},
}


def _norm(params, task: Task) -> dict:
    return {"norm": jnp.linalg.norm(getattr(params, "w", params))}


def generated(num_users: int, num_examples: int = EXAMPLES, num_features: int = FEATURES) -> Task:
    """Return least squares on random examples, as many of every user."""
    rng = np.random.default_rng(0)
    return Task(
        init_params=jnp.zeros(num_features),
        num_examples=jnp.full(num_users, num_examples, jnp.int32),
        train=(
            jnp.asarray(rng.standard_normal((num_users, num_examples, num_features), np.float32)),
            jnp.asarray(rng.standard_normal((num_users, num_examples), np.float32)),
        ),
        loss=squared_loss,
        metrics=_norm,
        name=f"users_{num_users}",
        source="generated",
    )


def fedavg_grid() -> Grid:
    """Return one point of user-level private FedAvg: 1,000 users, 100 features, one clipped step on 10 examples."""
    points = grid(num_sampled=1000, batch_size=10, sampler="all", **ARGS["dp_fedavg"])
    return grid_of(generated(1000, 10, 100), "dp_fedavg", points, 200, 1000)


def fedavg_round() -> list[Measurement]:
    """Time `fedavg_grid`, with the number of users a second."""
    chosen = fedavg_grid()
    _, seconds = time_grid(chosen)
    rate = 1e-6 * chosen.task.num_clients / seconds
    return [
        Measurement("W1: one private FedAvg round", 1e3 * seconds, "ms"),
        Measurement("W1: client updates", rate, "million/s", "5 to 10", "one point, rounds scanned"),
    ]


def rounds_of(name: str, task: Task) -> Grid:
    """Return ROUNDS rounds of a method at one point, in which as many users take part as MOST allows."""
    cohort = min(task.num_clients, MOST)
    points = grid(num_sampled=cohort, batch_size=EXAMPLES, sampler="fixed", **ARGS[name])
    return grid_of(task, name, points, ROUNDS, ROUNDS)


def rounds_with(name: str, make: Callable[[int], Task], number: int) -> Grid:
    """Return `rounds_of` on the task that is made for so many users."""
    return rounds_of(name, make(number))


class RoundCost(NamedTuple):
    """One round of a method: seconds, GB of the compiled program, and of the running process."""

    seconds: float
    program: float
    process: float


def _measured(name: str, task: Task) -> RoundCost:
    workload, seconds = time_grid(rounds_of(name, task))
    return RoundCost(seconds, workload.bytes / 1e9, psutil.Process().memory_info().rss / 1e9)


def _line(counts, values, count: int) -> float:
    """Return the value at `count` of the straight line through the first two counts."""
    slope = (values[1] - values[0]) / (counts[1] - counts[0])
    return values[0] + slope * (count - counts[0])


def users() -> list[Measurement]:
    """Measure a round of private FedAvg and of PPSGD at 1,000 to a million users; up to 100,000 of them take part.

    Numbers of users that do not fit in memory are left out.
    """
    free = memory.available()
    rows_of: dict[str, list[RoundCost]] = {name: [] for name in ARGS}
    sizes = []
    for count in COUNTS:
        # The data, and every user's own model before and after a round.
        if 4 * count * (EXAMPLES + 2) * (FEATURES + 1) * 3 > free:
            break
        task = generated(count)
        for name in ARGS:
            rows_of[name].append(_measured(name, task))
        sizes.append(count)
        del task
        gc.collect()
    lines = []
    for name, rows in rows_of.items():
        for what, unit, scale, column in (
            ("time", "ms a round", 1e3, "seconds"),
            ("memory of the program", "GB", 1, "program"),
            ("memory of the process", "GB", 1, "process"),
        ):
            values = [scale * getattr(row, column) for row in rows]
            for count, value in zip(sizes, values, strict=True):
                straight = f"straight line: {_line(sizes, values, count):.3g}" if len(sizes) > 1 else ""
                lines.append(Measurement(f"{name}, {count:,} users: {what}", value, unit, remarks=straight))
    return lines
