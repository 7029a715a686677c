"""Local training of networks at user level: rounds of private FedAvg with five local steps, as the boards run them."""

import numpy as np

from bench.data.tasks.registry import task_named
from bench.perf.measure import Grid, Measurement, grid_of, time_grid
from bench.sweeps.spec import grid

USERS, EXAMPLES, STEPS = 50, 10, 5  # in a round, of a user in a step, steps of a user
POINTS, ROUNDS = 2, 2
TASKS = ("digits_cnn", "shakespeare")  # those of cifar_users_cnn take minutes each on a CPU


def local_steps_grid(name: str) -> Grid:
    """Return rounds of private FedAvg on a task of the comparisons whose model is a network."""
    points = grid(
        num_sampled=USERS,
        batch_size=EXAMPLES,
        num_steps=STEPS,
        step_size=np.geomspace(0.01, 0.1, POINTS),
        server_step_size=1.0,
        clip_norm=1.0,
        noise_multiplier=1.0,
    )
    return grid_of(task_named(name)(0), "dp_fedavg", points, ROUNDS, ROUNDS)


def local_steps() -> list[Measurement]:
    """Time the rounds on each task of TASKS, with the number of examples a second."""
    lines = []
    for name in TASKS:
        workload, seconds = time_grid(local_steps_grid(name))
        rate, what = USERS * STEPS * EXAMPLES / seconds, f"local_steps on {name}: training, evaluation included"
        lines.append(Measurement(what, rate, "examples/s", remarks=workload.points_in_words))
    return lines
