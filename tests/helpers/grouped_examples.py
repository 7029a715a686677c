"""A network of one layer on examples of a few groups, whose optimum is the frequency of a class in each group."""

import dataclasses
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np

from bench.audit.tasks import Certain, network_loss
from bench.data.task import Network, Task

FEATURES = 3  # one group each


@cache
def groups() -> tuple[np.ndarray, np.ndarray]:
    """Groups and labels of a pool of examples, [example] each."""
    labels = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0]])
    return np.repeat(np.arange(FEATURES), 4), labels.ravel()


@cache
def saturated() -> Task:
    """Two classes of examples whose input says only to which group they belong, dealt to three clients."""
    group, labels = groups()
    inputs = jnp.asarray(np.eye(FEATURES)[group], jnp.float32)
    return Task(
        init_params={"Dense_0": {"kernel": jnp.zeros((FEATURES, 2)), "bias": jnp.zeros(2)}},
        num_examples=jnp.full(3, 4, jnp.int32),
        train=jnp.asarray(np.random.default_rng(0).permutation(12).reshape(3, 4), jnp.int32),
        network=Network((inputs, jnp.asarray(labels, jnp.int32)), Certain()),
        loss=network_loss,
        name="saturated",
    )


@cache
def own_groups() -> Task:
    """The same, where every client has the examples of one group."""
    return dataclasses.replace(saturated(), train=jnp.arange(12, dtype=jnp.int32).reshape(3, 4))


def own_probabilities(params) -> jax.Array:
    """Of class 1 in every client's own group, as its own network has it."""
    return jnp.diag(jax.vmap(probabilities)(params.theta))


def probabilities(params) -> jax.Array:
    """Of class 1 in every group, as the network has it."""
    return jax.nn.softmax(Certain().apply({"params": params}, jnp.eye(FEATURES)))[:, 1]


def frequencies() -> np.ndarray:
    """Of class 1 in every group: what minimises the cross-entropy of a model that is free in each."""
    group, labels = groups()
    return np.array([labels[group == one].mean() for one in range(FEATURES)])
