"""Linear models with one output: links, and the losses of an example that they define.

A link is (score, target) -> loss; the loss of an example (x, y) is link(<w + theta_i, x>, y), convex in the model.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from bench.models.additive import Additive


class Personal(NamedTuple):
    """One model a client, and the weight that its objective uses.

    theta: [client, feature], or a pytree of leaves [client, ...].
    mu: weight of the clients' own objectives against the smoothness over the graph.
    """

    theta: Any
    mu: float | Array


@jax.custom_jvp
def logistic(score: Array, label: Array) -> Array:
    """Return log(1 + exp(-y s)), label y = 1 or -1; |derivative| < 1, curvature <= 1/4."""
    return jax.nn.softplus(-label * score)


@logistic.defjvp
def _logistic_jvp(primals, tangents):
    # The derivative is in closed form, because JAX's own also evaluates the loss and takes twice as long.
    score, label = primals
    share = jax.nn.sigmoid(-label * score)
    return logistic(score, label), -share * (label * tangents[0] + score * tangents[1])


def squared(score: Array, target: Array) -> Array:
    """Return (s - y)^2."""
    return jnp.square(score - target)


def hinge(score: Array, label: Array) -> Array:
    """Return max(0, 1 - y s), label y = 1 or -1; |derivative| <= 1, not smooth."""
    return jax.nn.relu(1 - label * score)


def logistic_loss(w: Array, theta: Array, example) -> Array:
    """Return `logistic` of one example (x [feature], y)."""
    x, y = example
    return logistic(x @ (w + theta), y)


def squared_loss(w: Array, theta: Array, example) -> Array:
    """Return `squared` of one example (x [feature], y)."""
    x, y = example
    return squared(x @ (w + theta), y)


def hinge_loss(w: Array, theta: Array, example) -> Array:
    """Return `hinge` of one example (x [feature], y)."""
    x, y = example
    return hinge(x @ (w + theta), y)


def personal(params, num_clients: int) -> Array:
    """Return each client's model, [client, feature], from an Additive, a Personal, or a plain w."""
    if isinstance(params, Additive):
        theta = jnp.zeros_like(params.w)[None] if params.theta is None else params.theta
        return jnp.broadcast_to(params.w[None] + theta, (num_clients, params.w.shape[-1]))
    models = params.theta if isinstance(params, Personal) else params
    return jnp.broadcast_to(models, (num_clients, models.shape[-1]))
