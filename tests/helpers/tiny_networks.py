"""Networks and tasks small enough to be checked by plain loops."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from bench.data.task import Network, Task
from bench.kernels.per_example import Affine, cross_entropy
from bench.models.linear import Personal

SHAPE = (6, 5, 2)


class Tiny(nn.Module):
    """Every kind of layer, strides and padding."""

    @nn.compact
    def __call__(self, x):
        x = Affine(3)(x)
        x = nn.tanh(nn.Conv(3, (3, 2), (2, 1), padding=((1, 0), (0, 1)))(x))
        x = nn.tanh(nn.Conv(8, (2, 2), padding="VALID")(Affine(1)(x)))
        return nn.Dense(4)(x.reshape(x.shape[0], -1))


def loss(shared, local, example):
    inputs, label = example
    return cross_entropy(Tiny().apply({"params": shared}, inputs[None]), label[None])[0]


def accuracy(params, task):
    if isinstance(params, Personal):
        return jax.tree.map(jnp.mean, jax.lax.map(lambda own: accuracy(own, task), params.theta))
    inputs, labels = task.evaluation["test"]
    logits = task.network.module.apply({"params": params}, inputs)
    return {"test_accuracy": jnp.mean(jnp.argmax(logits, -1) == labels, dtype=jnp.float32)}


def task(members, num_pool=24, name="tiny") -> Task:
    """A task on random pictures; `members` [client, example] are rows of the pool."""
    rng = np.random.default_rng(1)
    inputs = jnp.asarray(rng.normal(size=(num_pool, *SHAPE)), jnp.float32)
    labels = jnp.asarray(rng.integers(0, 4, num_pool), jnp.int32)
    members = jnp.asarray(members, jnp.int32)
    return Task(
        init_params=Tiny().init(jax.random.key(3), inputs[:1])["params"],
        num_examples=jnp.full(len(members), members.shape[1], jnp.int32),
        train=members,
        network=Network((inputs, labels), Tiny()),
        evaluation={"test": (inputs, labels)},
        loss=loss,
        metrics=accuracy,
        name=name,
        source="made up",
        checksum="tiny",
    )
