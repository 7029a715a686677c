"""Canary users in one run (Andrew et al. 2024): users made so that each sends an update along its own direction.

A canary is data, so no method is changed. On a linear model w [output, feature] with the squared loss all its examples
are one input x of length 1 along a random direction, with a target far away along a random direction y. Its gradient at
every w is then along y x^T, and clipping leaves its length C. The published canaries have directions that are uniform
over all parameters; these have rank one, and so have the unused directions that they are compared with.

Canaries take the place of users drawn at random. So the number of users, and with it the sampling rate, the noise and
the declared epsilon, are those of the board. All canaries are in the run.
"""

from dataclasses import replace
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from bench.attacks.gaussians import Estimate, estimate
from bench.attacks.runs import Attacked, trajectory
from bench.data.task import Task
from bench.models.additive import squared_loss

FAR = 1e4  # distance of a canary's target; gradients are that long before they are clipped


class Canaries(NamedTuple):
    """A task with canaries, and the factors of their directions and of as many unused ones.

    outputs, inputs: of length 1, [direction, output] and [direction, feature]; the first half are the canaries'.
    """

    task: Task
    outputs: np.ndarray
    inputs: np.ndarray


def why_not(task: Task, number: int) -> str:
    """Return why a task cannot have canaries, in words; "" where it can."""
    if task.network is not None:
        return "the direction of an example's gradient changes with the network, so it is no canary"
    if task.loss is not squared_loss or task.gram is None or np.ndim(task.init_params) != 2:
        return "canaries need a linear model with the squared loss and stored examples"
    if 2 * number > task.num_clients:
        return f"{number} canaries would be more than half of the {task.num_clients} users"
    return ""


def with_canaries(task: Task, number: int, seed: int) -> Canaries:
    """Return the task with `number` of its users replaced by canaries.

    Args:
        task: one for which `why_not` has no reason.
        number: of canaries.
        seed: of the choice of users and of all directions.
    """
    rng = np.random.default_rng([seed, 0xCA4A])
    places = rng.choice(task.num_clients, number, replace=False)
    outputs, inputs = (_directions(rng, 2 * number, size) for size in task.init_params.shape)
    pixels, targets = task.train
    assert task.gram is not None
    changed = replace(
        task,
        train=(
            pixels.at[places].set(jnp.asarray(inputs[:number])[:, None]),
            targets.at[places].set(FAR * jnp.asarray(outputs[:number])[:, None]),
        ),
        gram=task.gram.at[places].set(1.0),
        num_examples=task.num_examples.at[places].set(task.capacity),
    )
    return Canaries(changed, outputs, inputs)


def _directions(rng: np.random.Generator, number: int, size: int) -> np.ndarray:
    drawn = rng.standard_normal((number, size))
    return (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)


def estimated(attacked: Attacked, number: int, delta: float, *, seed: int) -> tuple[Estimate, Estimate]:
    """Return epsilon estimated from one run with canaries, for an adversary who sees the final model, and for one who
    sees the model after every round and scores a canary by its largest cosine with the change in a round.

    Args:
        attacked: what is attacked, without canaries.
        number: of canaries.
        delta: at which epsilon is stated.
        seed: of canaries and run.
    """
    made = with_canaries(attacked.task, number, seed)
    final, largest = trajectory(attacked._replace(task=made.task), made.outputs, made.inputs, seed=seed)
    by_final, by_round = (
        estimate(cosines[:number], cosines[number:], delta, seed=seed)
        if np.isfinite(cosines).all()
        else Estimate(np.nan, np.nan, np.nan)
        for cosines in (final, largest)
    )
    return by_final, by_round
