"""Bietti et al. 2022: the published grids against the loops of their algorithm."""

import math

import numpy as np

from bench.perf.measure import Measurement, against_loop, time_grid, time_rounds
from bench.reference import ppsgd as reference
from bench.sweeps import SWEEPS
from bench.sweeps.points import resolve


def ppsgd_synthetic() -> list[Measurement]:
    """The published synthetic grid at C = 10: 1,000 users, 100 features, everybody in every round."""
    sweep = SWEEPS["ppsgd_synthetic"]("paper")
    tasks = {name: make(0) for name, make in sweep.tasks.items()}
    name = next(iter(tasks))
    points = [p for p in resolve(sweep, tasks)[name] if p.args["clip_norm"] == 10]
    task, args = tasks[name], points[-1].args
    truth, variance = np.asarray(task.evaluation["truth"]), np.asarray(task.evaluation["variance"])
    stream = reference.stream(
        np.random.default_rng(0), truth, variance, label_noise=0.01, batch_size=args["batch_size"], num_rounds=100
    )
    fixed = {k: args[k] for k in ("clip_norm", "noise_multiplier")}
    loop = reference.as_run(stream, *truth.shape[:1], truth.shape[1:], step_size=0.1, personalization=1.0, **fixed)
    flops = 4.0 * truth.size * args["batch_size"]  # predictions and gradients of every user
    timed = time_grid(task, points, sweep.eval_every, 50)
    return against_loop("ppsgd_synthetic", timed, time_rounds(loop, 20), flops, 50)


def ppsgd_digits() -> list[Measurement]:
    """The published digit grid at C = 10 on the digits that are here, ten users in a round."""
    sweep = SWEEPS["ppsgd_digits"]("paper")
    tasks = {name: make(0) for name, make in sweep.tasks.items()}
    (name, task), *_ = tasks.items()
    points = [p for p in resolve(sweep, tasks)[name] if p.args["clip_norm"] == 10]
    args = points[-1].args
    pixels, targets = (np.asarray(leaf) for leaf in task.train)
    users = [(x[:n], y[:n]) for x, y, n in zip(pixels, targets, np.asarray(task.num_examples), strict=True)]
    queue = reference.queue(
        np.random.default_rng(0), users, **{k: args[k] for k in ("num_sampled", "batch_size", "num_epochs")}
    )
    fixed = {k: args[k] for k in ("clip_norm", "noise_multiplier")}
    shape = (pixels.shape[-1], targets.shape[-1])
    loop = reference.as_run(queue, len(users), shape, step_size=1e-3, personalization=1.0, **fixed)
    flops = 4.0 * math.prod(shape) * args["num_sampled"] * args["batch_size"]  # the shared model's two products
    timed = time_grid(task, points, sweep.eval_every, sweep.eval_every)
    return against_loop(f"ppsgd_digits on {task.name}", timed, time_rounds(loop, 50), flops, 100)
