"""Bietti et al. 2022: the published grids against the loops of their algorithm."""

import numpy as np

from bench.data.files import DataFiles
from bench.data.task import Task
from bench.papers import SWEEPS
from bench.papers.ppsgd import reference
from bench.perf.measure import Grid, Measurement, against_loop, time_grid, time_rounds
from bench.sweeps.points import Point, resolve
from bench.sweeps.spec import Sweep


def published(sweep: Sweep, clip_norm: float, data_files: DataFiles | None = None) -> tuple[Task, list[Point]]:
    """Return the first task of a sweep, and the points of PPSGD's published grid on it at a clipping norm."""
    tasks = {name: sweep.task(name, 0, data_files) for name in sweep.tasks}
    points = resolve(sweep._replace(entries={"PPSGD": sweep.entries["PPSGD"]}), tasks)
    name, *_ = tasks
    return tasks[name], [point for point in points[name] if point.args["clip_norm"] == clip_norm]


def synthetic_grid() -> Grid:
    """Return the published synthetic grid at C = 10: 1,000 users, 100 features, everybody in every round."""
    task, points = published(SWEEPS["ppsgd_synthetic"]("paper"), 10)
    return Grid(task, points, points[0].eval_every, 50)


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
    return against_loop("ppsgd_synthetic", time_grid(grid), time_rounds(loop, 20), 50)
