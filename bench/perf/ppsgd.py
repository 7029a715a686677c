"""Bietti et al. 2022: the published grids against the loops of their algorithm."""

import time

import numpy as np

from bench.papers import SWEEPS
from bench.papers.ppsgd import norm_shown, reference
from bench.perf.measure import Grid, Measurement, against_loop
from bench.sweeps.points import resolve


def published_grid(sweep_name: str) -> Grid:
    """Return the points of a published grid at the norm shown, on its first task, up to the first evaluation."""
    sweep = SWEEPS[sweep_name]("paper")
    tasks = {name: sweep.task(name, 0) for name in sweep.tasks}
    name = next(iter(tasks))
    resolved = resolve(sweep._replace(entries={"PPSGD": sweep.entries["PPSGD"]}), tasks)[name]
    points = [point for point in resolved if point.args["clip_norm"] == norm_shown(sweep_name)]
    return Grid(tasks[name], points, points[0].eval_every, points[0].eval_every)


def synthetic_grid() -> Grid:
    """Return the grid of Figure 1a: 1,000 users, 100 features, everybody in every round."""
    return published_grid("ppsgd_synthetic")._replace(num_rounds=50)


def ppsgd_synthetic() -> list[Measurement]:
    """Time `synthetic_grid` against its loop."""
    grid = synthetic_grid()
    task, args = grid.task, grid.points[-1].args
    truth, variance = np.asarray(task.evaluation["truth"]), np.asarray(task.evaluation["variance"])
    stream = reference.stream(
        np.random.default_rng(0), truth, variance, label_noise=0.01, batch_size=args["batch_size"], num_rounds=100
    )
    fixed = {k: args[k] for k in ("clip_norm", "noise_multiplier")}
    loop = reference.as_run(stream, len(truth), truth.shape[1:], step_size=0.1, personalization=1.0, **fixed)
    next(loop)
    began = time.perf_counter()
    for _ in range(20):
        next(loop)
    return against_loop("ppsgd_synthetic", grid, (time.perf_counter() - began) / 20)
