"""Predictions of every client from what a method returns, whichever kind of models the method trains."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from bench.errors import InputError
from bench.models.additive import Additive
from bench.models.linear import Personal
from bench.models.parts import joined


def predict(apply: Callable[[Any, Any], Any], params: Any, inputs: Any, *, support: Array | None = None) -> Any:
    """Return the predictions of every client for its own inputs, from the parameters of any method.

    A task's `metrics` gets these parameters in one of three forms: a model that all clients share; `Additive`, where
    client i predicts with w + theta_i, in which both may have some of a model's entries (`bench.models.parts`); and
    `Personal`, where every client has a model of its own.

    Args:
        apply: (model, inputs of one client, leaves [example, ...]) -> its predictions [example, ...]. A model is shaped
            like the task's `init_params`.
        params: what a method's `params` returns, and a task's `metrics` receives.
        inputs: leaves [client, example, ...].
        support: the clients' stored training inputs, [client, stored example, feature]. Needed for a task with `gram`,
            whose model is linear, [output, feature]: methods may keep theta_i as coefficients of these inputs.

    Returns:
        Leaves [client, example, ...].

    Raises:
        InputError: where theta_i is kept as coefficients, and `support` is missing.
    """
    if isinstance(params, Personal):
        return jax.vmap(apply)(params.theta, inputs)
    if not isinstance(params, Additive):
        return jax.vmap(apply, (None, 0))(params, inputs)
    theta = params.theta
    if params.coefficients is not None:
        if support is None:
            raise InputError(
                "local models are kept as coefficients of the clients' training inputs: give predict(..., support=) "
                "these inputs, [client, example, feature]"
            )
        theta = jnp.einsum("njk,njd->nkd", params.coefficients, support)
    if theta is None:
        return jax.vmap(apply, (None, 0))(params.w, inputs)
    return jax.vmap(lambda local, x: apply(joined(params.w, local), x))(theta, inputs)
