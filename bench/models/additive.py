"""Additive personalised linear models: client i predicts (w + theta_i) x.

Source: Bietti et al. 2022, equation (3).
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from bench.kernels.sparse import product


class Additive(NamedTuple):
    """Parameters of all clients' models.

    w: shared, [output, feature] or [feature]; [feature, output] where inputs are sparse.
    theta: local, [client, *w.shape], or for a network a dictionary with some entries of the model, leaves
        [client, ...] (`bench.models.parts`); None when kept in the dual form, or when there is none.
    coefficients: local in the dual form, theta_i = A_i^T X_i with A [client, example, output] and X the
        client's stored training inputs; else None.
    """

    w: Array
    theta: Array | None = None
    coefficients: Array | None = None


def squared_loss(w: Array, theta: Array, example) -> Array:
    """Return |(w + theta) x - y|^2 / 2, summed over outputs, of one example (x [feature], y [output])."""
    x, y = example
    # x is on the left because over many clients model @ x takes 3.5 times as long on a CPU, gradient included.
    prediction = jnp.tensordot(x, w + theta, (0, w.ndim - 1))
    return 0.5 * jnp.sum(jnp.square(prediction - y))


def sparse_squared_loss(w: Array, theta: Array, example) -> Array:
    """Return `squared_loss` of one example (x of `Rows`, y [output]), with models [feature, output]."""
    x, y = example
    return 0.5 * jnp.sum(jnp.square(product(x, w + theta) - y))


def scores(params, inputs: Array, support: Array) -> Array:
    """Return predictions of every client for its own inputs.

    Args:
        params: Additive, or a plain w when no client has a model of its own.
        inputs: [client, example, feature].
        support: the clients' stored training inputs, [client, stored example, feature]; used only in the
            dual form.

    Returns:
        [client, example, output], or [client, example] for w [feature].
    """
    if not isinstance(params, Additive):
        params = Additive(params)
    out = jnp.tensordot(inputs, params.w, (2, params.w.ndim - 1))
    if params.theta is not None:
        out = out + jnp.einsum("nmd,n...d->nm...", inputs, params.theta)
    if params.coefficients is not None:
        cross = jnp.einsum("nmd,njd->nmj", inputs, support)  # the same for every point of a sweep
        out = out + jnp.einsum("nmj,njk->nmk", cross, params.coefficients)
    return out
