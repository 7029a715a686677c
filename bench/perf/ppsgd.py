"""Bietti et al. 2022: the published grids against the loops of their algorithm."""

from collections.abc import Iterator

import numpy as np

from bench.data.files import DataFiles
from bench.data.task import Task
from bench.papers import SWEEPS
from bench.papers.ppsgd import reference
from bench.perf.measure import Grid, Measurement, against_loop, time_grid, time_rounds, together
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


def digits_grid(data_files: DataFiles | None = None) -> Grid:
    """Return the published digit grid at C = 10 on the available digits, ten users in a round."""
    task, points = published(SWEEPS["ppsgd_digits"]("paper"), 10, data_files)
    return Grid(task, points, points[0].eval_every, points[0].eval_every)


def ppsgd_digits(data_files: DataFiles | None = None) -> list[Measurement]:
    """Time `digits_grid` against its loop."""
    grid = digits_grid(data_files)
    task, args = grid.task, grid.points[-1].args
    pixels, targets = (np.asarray(leaf) for leaf in task.train)
    users = [(x[:n], y[:n]) for x, y, n in zip(pixels, targets, np.asarray(task.num_examples), strict=True)]
    queue = reference.queue(
        np.random.default_rng(0), users, **{k: args[k] for k in ("num_sampled", "batch_size", "num_epochs")}
    )
    fixed = {k: args[k] for k in ("clip_norm", "noise_multiplier")}
    shape = (pixels.shape[-1], targets.shape[-1])
    loop = reference.as_run(queue, len(users), shape, step_size=1e-3, personalization=1.0, **fixed)
    return against_loop(f"ppsgd_digits on {task.name}", time_grid(grid), time_rounds(loop, 50), 100)


def cnn_grid(data_files: DataFiles | None = None) -> Grid:
    """Return twelve points of the network's published grid at C = 0.1 on the available digits, ten users in a round."""
    task, points = published(SWEEPS["ppsgd_cnn"]("paper"), 0.1, data_files)
    return Grid(task, _some(points, 12), points[0].eval_every, points[0].eval_every)


def ppsgd_cnn(data_files: DataFiles | None = None) -> list[Measurement]:
    """Time `cnn_grid`, with the number of examples a second. There is no NumPy loop of the network."""
    grid = cnn_grid(data_files)
    timed, args = time_grid(grid), grid.points[0].args
    what, rate = f"ppsgd_cnn on {grid.task.name}", args["num_sampled"] * args["batch_size"] / timed.seconds
    return [
        Measurement(f"{what}: compiled", 1e3 * timed.seconds, "ms a round and point", remarks=together(timed)),
        Measurement(f"{what}: training, evaluation included", rate, "examples/s"),
    ]


def _some(points: list[Point], number: int) -> list[Point]:
    """Return so many of the points, at equal distances."""
    return points[:: len(points) // number][:number]


def tags_grid() -> Grid:
    """Return the published tag grid at C = 0.01 on generated documents of the paper's size, ten users in a round.

    It has forty points, because a chunk of the whole grid takes minutes from one evaluation to the next.
    """
    task, points = published(SWEEPS["ppsgd_tags_made_up"]("paper"), 0.01)
    points = [point for point in points if point.args["personalization"]]
    return Grid(task, _some(points, 40), points[0].eval_every, points[0].eval_every)


def ppsgd_tags() -> list[Measurement]:
    """Time `tags_grid` against its loop."""
    grid = tags_grid()
    task, args = grid.task, grid.points[-1].args
    fixed = {k: args[k] for k in ("clip_norm", "noise_multiplier")}
    loop = reference.as_run(
        _dense_rounds(task, **{k: args[k] for k in ("num_sampled", "batch_size")}),
        task.num_clients,
        task.init_params.shape,
        step_size=100.0,
        personalization=1.0,
        **fixed,
    )
    return against_loop("ppsgd_tags_made_up", time_grid(grid), time_rounds(loop, 10), 200)


def _dense_rounds(task: Task, num_sampled: int, batch_size: int) -> Iterator[tuple]:
    """Yield rounds for `reference.as_run` with dense documents: random users, the first block of each."""
    rng = np.random.default_rng(0)
    rows, targets = task.train[0], np.asarray(task.train[1])
    index, value = np.asarray(rows.index), np.asarray(rows.value)
    while True:
        users = rng.permutation(task.num_clients)[:num_sampled]
        x = np.zeros((num_sampled, batch_size, rows.num_features))
        for place, user in enumerate(users):
            for document in range(batch_size):
                np.add.at(x[place, document], index[user, document], value[user, document])
        yield users, x, targets[users, :batch_size], rng.standard_normal(task.init_params.shape)
