"""A round of private FedAvg with many users."""

import jax.numpy as jnp
import numpy as np

from bench.algorithms import ALGORITHMS
from bench.data.task import Task
from bench.models.additive import squared_loss
from bench.perf.measure import Grid, Measurement, time_grid
from bench.sweeps.points import resolve
from bench.sweeps.spec import Entry, Sweep, grid


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


def fedavg_grid() -> Grid:
    """Return one point of user-level private FedAvg: 1,000 users, 100 features, one clipped step on 10 examples."""
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
    sweep = Sweep("round", "", {"round": lambda _: task}, {"": Entry(ALGORITHMS["dp_fedavg"], points)}, 200, 200, 1e-4)
    return Grid(task, resolve(sweep, {"round": task})["round"], 200, 1000)


def fedavg_round() -> list[Measurement]:
    """Time `fedavg_grid`, with the number of users a second."""
    chosen = fedavg_grid()
    timed = time_grid(chosen)
    rate = 1e-6 * chosen.task.num_clients / timed.seconds
    return [
        Measurement("W1: one private FedAvg round", 1e3 * timed.seconds, "ms"),
        Measurement("W1: client updates", rate, "million/s", "5 to 10", "one point, rounds scanned"),
    ]
