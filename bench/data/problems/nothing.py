"""Users without anything to learn, so that a model is the noise that was added: for laws about noise."""

import jax.numpy as jnp

from bench.data.task import Task, recipe_checksum

NUM_CLIENTS, NUM_FEATURES = 160, 4000


def no_loss(w, theta, example):
    """0, whatever the model and the example."""
    return 0.0 * example * jnp.sum(w + theta)


def mean_square(w, task: Task) -> dict:
    """Of the model's numbers, which start at 0."""
    return {"mean_square": jnp.mean(jnp.square(w))}


def nothing(trial: int) -> Task:
    """160 users with an example each, on which no model errs.

    Args:
        trial: read by nobody, for there are no data.
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
