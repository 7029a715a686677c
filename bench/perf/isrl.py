"""Gao et al. 2024: the grid of the localized method against its loop over silos, one run at a time."""

import time

import numpy as np

from bench.data.files import DataFiles
from bench.perf.measure import Measurement, against_loop, time_grid
from bench.reference import isrl as reference
from bench.sweeps import SWEEPS
from bench.sweeps.points import resolve


def isrl_odd_even(data_files: DataFiles | None = None) -> list[Measurement]:
    """Localized MB-SGD on MNIST odd/even, two phases of ten rounds, all points of the grid that share a program."""
    sweep = SWEEPS["isrl_odd_even"]("paper")
    tasks = {name: sweep.task(name, 0, data_files) for name in sweep.tasks}
    ((name, task),) = tasks.items()
    wanted = {"num_phases": 2, "phase_rounds": 10, "num_sampled": task.num_clients}
    points = [p for p in resolve(sweep, tasks)[name] if wanted.items() <= p.args.items()]
    args, rounds = points[-1].args, points[-1].num_rounds
    timed = time_grid(task, points, rounds, rounds)

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
    flops = 4.0 * x.shape[-1] * len(x) * (half + quarter) / 2  # two products with every record of a phase, on average
    return against_loop("isrl_odd_even", timed, loop_s, flops, 50)
