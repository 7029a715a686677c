"""Predictions from every kind of parameters that a method returns."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bench import predict
from bench.errors import InputError
from bench.models.additive import Additive, scores
from bench.models.linear import Personal

NUM_CLIENTS = 3
INPUTS = jax.random.normal(jax.random.key(0), (NUM_CLIENTS, 4, 2))
SHARED = {"bias": jnp.ones(5), "matrix": jax.random.normal(jax.random.key(1), (2, 5))}
LOCAL = {"bias": jnp.arange(15.0).reshape(3, 5), "matrix": jax.random.normal(jax.random.key(2), (3, 2, 5))}


def apply(model, inputs):
    return jnp.tanh(inputs @ model["matrix"]) + model["bias"][None]


def by_hand(models):
    return np.stack([apply(model, INPUTS[client]) for client, model in enumerate(models)])


def local(client):
    return jax.tree.map(lambda leaf: leaf[client], LOCAL)


@pytest.mark.parametrize(
    ("params", "models"),
    [
        (SHARED, [SHARED] * 3),
        (Additive(SHARED), [SHARED] * 3),
        (Additive(SHARED, LOCAL), [jax.tree.map(jnp.add, SHARED, local(client)) for client in range(3)]),
        (Personal(LOCAL, 1.0), [local(client) for client in range(3)]),
    ],
    ids=["shared", "additive without local models", "additive", "personal"],
)
def test_every_client_predicts_with_its_own_model(params, models):
    np.testing.assert_allclose(predict(apply, params, INPUTS), by_hand(models), rtol=1e-5)


def test_local_models_as_coefficients_need_the_training_inputs():
    support, w = jax.random.normal(jax.random.key(3), (3, 6, 2)), jax.random.normal(jax.random.key(4), (5, 2))
    params = Additive(w, coefficients=jax.random.normal(jax.random.key(5), (3, 6, 5)))
    linear = lambda model, inputs: inputs @ model.T  # noqa: E731
    found = predict(linear, params, INPUTS, support=support)
    np.testing.assert_allclose(found, scores(params, INPUTS, support), rtol=1e-4, atol=1e-5)
    with pytest.raises(InputError, match="give predict"):
        predict(linear, params, INPUTS)
