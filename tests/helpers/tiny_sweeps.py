"""Sweeps small enough for a test: twelve clients, six features, twenty rounds, and a method that compiles at once."""

import math
from functools import partial
from pathlib import Path

import jax
import numpy as np
import pandas as pd

from bench.algorithms import ppsgd
from bench.algorithms.base import Algorithm, Method, State
from bench.algorithms.ranges import NonNegative, Positive
from bench.data.tasks.synthetic import synthetic
from bench.execution.run import run_sweep
from bench.privacy.events import full_gaussian
from bench.sweeps import engine
from bench.sweeps.points import resolve
from bench.sweeps.spec import Entry, Sweep, grid

ROOT = Path(__file__).parents[2]  # where processes start
TASK = partial(synthetic, num_clients=12, num_features=6)
ROUNDS, EVERY = 20, 5
STATIC = (("batch_size", 3), ("num_sampled", 4), ("sampler", "fixed"))
_steps: dict[tuple, object] = {}  # compiled, of `train`
KEY = ["point", "trial", "seed", "rounds"]
COLUMNS = ["excess_risk", "validation_loss", "clipped"]


def walk(task, *, step_size: Positive, noise_multiplier: NonNegative = 1.0) -> Algorithm:
    """w <- w + s N(0, I): every number depends on the key and on s, and it compiles in a moment."""

    def one_round(key, state):
        moved = state.variables + step_size * jax.random.normal(key, task.init_params.shape)
        return State((), moved), {}

    return Algorithm(lambda key: State((), task.init_params), one_round, lambda state: state.variables)


WALK = Method(walk, lambda task, *, delta, **a: {"paper": full_gaussian(a["noise_multiplier"], delta=delta)}, version=1)


def walks(steps=(0.1, 0.2, 0.3, 0.4), **fields) -> Sweep:
    """A sweep of random walks, two seeds."""
    points = fields.pop("points", None)
    points = grid(step_size=list(steps)) if points is None else points
    return sweep_of({"Walk": Entry(WALK, points)}, **fields)


def hypers(**columns) -> dict:
    """The columns of a grid of PPSGD's traced arguments, as the engine takes them."""
    lists = dict(
        step_size=[0.05, 0.2], personalization=[0.0, 1.0, math.inf], clip_norm=10.0, noise_multiplier=[0.0, 1.0]
    )
    return {name: column.to_numpy() for name, column in grid(**(lists | columns)).items()}


def private_sgd(**fields) -> Sweep:
    """A sweep of PPSGD, 12 points, two seeds."""
    points = fields.pop("points", None)
    points = pd.DataFrame(hypers()).assign(**dict(STATIC)) if points is None else points
    return sweep_of({"PPSGD": Entry(ppsgd.METHOD, points)}, **fields)


def points_of(sweep) -> pd.DataFrame:
    """The points of all entries in one table."""
    return pd.concat([entry.points for entry in sweep.entries.values()], ignore_index=True)


def resolved(sweep) -> dict:
    """The points of every task of the sweep, each task as in trial 0."""
    return resolve(sweep, {name: make(0) for name, make in sweep.tasks.items()})


def sweep_of(entries, **fields) -> Sweep:
    default = dict(name="tiny", reproduces="a test", tasks={"synthetic": TASK}, num_rounds=ROUNDS, eval_every=EVERY)
    return Sweep(entries=entries, **(default | dict(delta=1e-4, seeds=2) | fields))


def table(folder) -> pd.DataFrame:
    """What pandas alone reads from a folder of results, in an order of its own."""
    rows = pd.read_parquet(folder)
    return rows.sort_values(KEY, ignore_index=True)


def run(sweep: Sweep, out, **options) -> pd.DataFrame:
    """Run the sweep at scale "smoke" and read the folder."""
    run_sweep(sweep, scale="smoke", out=out, **options)
    return table(out / "smoke" / sweep.name)


def assert_same_rows(here: pd.DataFrame, there: pd.DataFrame) -> None:
    """The same runs with the same numbers, each once; float32 sums may differ in their last bits."""
    names = [*KEY, "step_size", "excess_risk", "validation_loss", "epsilon"]
    pd.testing.assert_frame_equal(here[names], there[names], rtol=1e-6)
    assert not here.duplicated(KEY).any()


def train(
    columns,
    *,
    seeds=(0, 1),
    chunk=None,
    make=ppsgd.ppsgd,
    static=STATIC,
    rounds=ROUNDS,
    trial=0,
    task=None,
    at_start=True,
):
    """Metrics [seed, point, evaluation] of points, straight from the engine."""
    program = engine.Program(make, tuple(static), EVERY, at_start)
    task = TASK(trial) if task is None else task
    keys = engine.run_keys(np.full(len(seeds), trial, np.int32), np.array(seeds, np.int32))
    size = len(next(iter(columns.values())))
    chunk = chunk or size
    known = (program, len(seeds), chunk)
    if known not in _steps:
        _steps[known] = engine.fitted_chunk(program, task, len(seeds), columns, chunk, budget=1e9).step
    parts = []
    for at in range(0, size, chunk):
        part = {name: column[at : at + chunk] for name, column in columns.items()}
        parts.append(engine.run_chunk(program, _steps[known], task, keys, part, num_evals=rounds // EVERY, chunk=chunk))
    return {name: np.concatenate([part[name] for part in parts], axis=1) for name in parts[0]}
