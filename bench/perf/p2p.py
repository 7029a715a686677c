"""Bellet et al. 2018: ticks of coordinate descent against a loop of the same updates."""

import numpy as np

from bench.data.task import Peers
from bench.data.tasks.peers import linear_p2p
from bench.kernels.graph import dense
from bench.papers.p2p import reference
from bench.perf.measure import Grid, Measurement, best_time, grid_of, time_grid
from bench.sweeps.spec import grid

TICKS = 500  # in a round


def descent_grid() -> Grid:
    """Return private coordinate descent, 100 agents, 100 features: 256 budgets and weights in one program."""
    points = grid(mu=[0.02, 0.04, 0.08, 0.16], noise_multiplier=np.linspace(0.1, 10, 64), num_ticks=TICKS)
    return grid_of(linear_p2p(0), "coordinate_descent", points, 20, 20)


def p2p_descent() -> list[Measurement]:
    """Time `descent_grid` against its loop."""
    chosen = descent_grid()
    task, (workload, seconds) = chosen.task, time_grid(chosen)
    inputs, labels = (
        [rows[:count] for rows, count in zip(np.asarray(leaf, float), np.asarray(task.num_examples), strict=True)]
        for leaf in task.train
    )
    weights = np.asarray(dense(task.need(Peers).graph), float)
    rng, smoothness = np.random.default_rng(0), np.asarray(task.need(Peers).smoothness, float)

    def loop():
        order, noise = rng.integers(task.num_clients, size=TICKS), rng.laplace(size=(TICKS, 100))
        reference.coordinate_descent(np.zeros((100, 100)), inputs, labels, weights, smoothness, 0.04, order, noise)

    what, loop_s, compiled = "coordinate descent", best_time(loop) / TICKS, seconds / TICKS
    return [
        Measurement(f"{what}: NumPy loop", 1e6 * loop_s, "us a tick"),
        Measurement(f"{what}: compiled", 1e6 * compiled, "us a tick and point", remarks=workload.points_in_words),
        Measurement(f"{what}: ticks", 1e-6 / compiled, "million/s"),
        Measurement(f"{what}: speed-up", loop_s / compiled, "x", "100"),
        Measurement(f"{what}: peak memory of the program", workload.bytes / 1e9, "GB"),
    ]
