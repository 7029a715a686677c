"""Local learning: every user trains alone for any number of steps, so nothing is sent or released.

This is the baseline that a private method must beat to be worth its noise. PPSGD with alpha Q = 0 is local learning
too, but only in the rounds that draw a user, as in the experiments of Bietti et al. 2022.
"""

import math
from typing import Annotated

from bench.algorithms.base import Algorithm, Cost, Method, Role
from bench.algorithms.ppsgd import check as check_ppsgd
from bench.algorithms.ppsgd import cost as cost_of_ppsgd
from bench.algorithms.ppsgd import ppsgd
from bench.algorithms.ppsgd import releases as releases_of_ppsgd
from bench.algorithms.ranges import Count, Positive, Range
from bench.algorithms.search_space import OWN_STEP
from bench.data.task import Task
from bench.errors import InputError

ALONE = {"personalization": 0.0, "clip_norm": math.inf, "noise_multiplier": 0.0, "sampler": "all"}


def local_learning(
    task: Task,
    *,
    batch_size: Count,
    step_size: Positive,
    local: str = "dense",
    total_steps: Annotated[int, Range(lambda v: v >= 0, "at least 0")] = 0,
) -> Algorithm:
    """SGD of every user on its own stored examples, from 0; a round is one step of every user.

    Args:
        task: with loss(w, theta_i, example) and stored examples.
        batch_size: m, examples of a step, drawn afresh without replacement; a user with fewer uses all it has.
        step_size: s > 0.
        local: form of theta_i, as for `ppsgd`.
        total_steps: number of rounds that a comparison runs, so that it can be tuned; 0 leaves it to whoever runs this.
    """
    del total_steps
    return ppsgd(task, num_sampled=task.num_clients, batch_size=batch_size, step_size=step_size, local=local, **ALONE)


def releases(task: Task, *, delta: float, **_) -> dict:
    """Return empty releases, since nothing is sent, whatever the batch."""
    return releases_of_ppsgd(task, delta=delta, num_sampled=task.num_clients, batch_size=1, **ALONE)


def cost(task: Task, *, batch_size: int, **_) -> Cost:
    """Return the cost of one minibatch of every user."""
    return cost_of_ppsgd(task, num_sampled=task.num_clients, batch_size=batch_size, **ALONE)


def check(task: Task, *, batch_size: int, local: str, **_) -> None:
    """Refuse a stream, whose examples arrive with the rounds, and everything that `ppsgd` refuses.

    Raises:
        InputError: naming the value and what to do.
    """
    if task.train is None:
        raise InputError(
            f"task {task.name} is a stream, on which users cannot train alone: use a task with stored examples, such "
            "as digits or tags"
        )
    check_ppsgd(task, num_sampled=task.num_clients, batch_size=batch_size, local=local, reduce="mean", **ALONE)


METHOD = Method(
    local_learning,
    releases,
    version=1,
    check=check,
    cost=cost,
    divides=True,
    roles=lambda **_: {"step_size": Role(OWN_STEP)},
)
