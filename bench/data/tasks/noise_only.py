"""A task with nothing to learn, so that the model is exactly the noise that was added."""

import jax.numpy as jnp

from bench.data.task import Task, recipe_checksum

NUM_CLIENTS, NUM_FEATURES = 160, 4000


def no_loss(w, theta, example):
    """Return 0 for any model and example."""
    return 0.0 * example * jnp.sum(w + theta)


def mean_square(w, task: Task) -> dict:
    """Return the mean square of the model's numbers, which start at 0."""
    return {"mean_square": jnp.mean(jnp.square(w))}


def nothing(trial: int) -> Task:
    """160 users with one example each, on which every model has loss 0.

    Args:
        trial: not used, since there are no data.
    """
    return Task(
        init_params=jnp.zeros(NUM_FEATURES),
        num_examples=jnp.ones(NUM_CLIENTS, jnp.int32),
        train=jnp.ones((NUM_CLIENTS, 1)),
        loss=no_loss,
        metrics=mean_square,
        name="nothing",
        source="generated",
        checksum=recipe_checksum((NUM_CLIENTS, NUM_FEATURES)),
    )
