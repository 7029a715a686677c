"""Gao et al. 2024: the grid of the localized method against its loop over silos, one run at a time."""

import time

import numpy as np

from bench.papers import SWEEPS
from bench.papers.isrl import reference
from bench.perf.measure import Grid, Measurement, against_loop
from bench.sweeps.points import resolve


def odd_even_grid() -> Grid:
    """Return localized MB-SGD on MNIST odd/even, two phases of ten rounds, with all points that share a program."""
    sweep = SWEEPS["isrl_odd_even"]("paper")
    tasks = {name: sweep.task(name, 0) for name in sweep.tasks}
    ((name, task),) = tasks.items()
    arguments = {"num_phases": 2, "phase_rounds": 10, "num_sampled": task.num_clients}
    points = [p for p in resolve(sweep, tasks)[name] if arguments.items() <= p.args.items()]
    return Grid(task, points, points[0].num_rounds, points[0].num_rounds)


def isrl_odd_even() -> list[Measurement]:
    """Time `odd_even_grid` against its loop."""
    grid = odd_even_grid()
    task, args, rounds = grid.task, grid.points[-1].args, grid.num_rounds
    x, y = (np.asarray(leaf, np.float64) for leaf in task.train)
    half, quarter = x.shape[1] // 2, x.shape[1] // 4
    phases = [[(x[l, a:b], y[l, a:b]) for l in range(len(x))] for a, b in ((0, half), (half, half + quarter))]
    rng = np.random.default_rng(0)
    draws = [(range(len(x)), rng.standard_normal((len(x), x.shape[-1]))) for _ in range(rounds)]
    numbers = {name: args[name] for name in ("step_size", "regularization", "growth", "constraint", "clip_norm")}
    began = time.perf_counter()
    reference.localized_sgd(
        np.zeros(x.shape[-1]),
        phases,
        draws,
        rounds=args["phase_rounds"],
        slopes=reference.logistic_slopes,
        noise_multiplier=args["noise_multiplier"],
        **numbers,
    )
    loop_s = (time.perf_counter() - began) / rounds
    return against_loop("isrl_odd_even", grid, loop_s)
