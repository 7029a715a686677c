"""Bellet et al. 2018: ticks of coordinate descent against a loop of the same updates."""

import numpy as np

from bench.algorithms import ALGORITHMS
from bench.data.task import Peers, Task
from bench.data.tasks.peers import linear_p2p
from bench.kernels.graph import dense
from bench.papers.p2p import reference
from bench.perf.measure import Grid, Measurement, best_time, points_in_words, time_grid
from bench.sweeps.points import resolve
from bench.sweeps.spec import Entry, Sweep, grid

TICKS = 500  # in a round


def _as_lists(task: Task):
    """Return the task's examples and dense weights in the form of the reference."""
    inputs, labels = (np.asarray(leaf, float) for leaf in task.train)
    sizes = np.asarray(task.num_examples)
    return (
        [x[:m] for x, m in zip(inputs, sizes, strict=True)],
        [y[:m] for y, m in zip(labels, sizes, strict=True)],
        np.asarray(dense(task.need(Peers).graph), float),
    )


def descent_grid() -> Grid:
    """Return private coordinate descent, 100 agents, 100 features: 256 budgets and weights in one program."""
    task, rounds = linear_p2p(0), 20
    points = grid(mu=[0.02, 0.04, 0.08, 0.16], noise_multiplier=np.linspace(0.1, 10, 64), num_ticks=TICKS)
    entry = Entry(ALGORITHMS["coordinate_descent"], points)
    sweep = Sweep("p2p", "", {"p2p": lambda _: task}, {"": entry}, rounds, rounds, 1e-2)
    return Grid(task, resolve(sweep, {"p2p": task})["p2p"], rounds, rounds)


def p2p_descent() -> list[Measurement]:
    """Time `descent_grid` against its loop."""
    chosen = descent_grid()
    task, timed = chosen.task, time_grid(chosen)
    inputs, labels, weights = _as_lists(task)
    rng, smoothness = np.random.default_rng(0), np.asarray(task.need(Peers).smoothness, float)

    def loop():
        order, noise = rng.integers(task.num_clients, size=TICKS), rng.laplace(size=(TICKS, 100))
        reference.coordinate_descent(np.zeros((100, 100)), inputs, labels, weights, smoothness, 0.04, order, noise)

    what, loop_s, compiled = "coordinate descent", best_time(loop) / TICKS, timed.seconds / TICKS
    return [
        Measurement(f"{what}: NumPy loop", 1e6 * loop_s, "us a tick"),
        Measurement(f"{what}: compiled", 1e6 * compiled, "us a tick and point", remarks=points_in_words(timed)),
        Measurement(f"{what}: ticks", 1e-6 / compiled, "million/s"),
        Measurement(f"{what}: speed-up", loop_s / compiled, "x", "100"),
        Measurement(f"{what}: peak memory of the program", timed.peak_bytes / 1e9, "GB"),
    ]
