"""Predictions of linear models from the parameters that a method returns; test_parts.py has those of networks."""

import jax
import numpy as np
import pytest

from bench import predict
from bench.errors import InputError
from bench.models.additive import Additive, scores

INPUTS, SUPPORT = (jax.random.normal(jax.random.key(seed), (3, size, 2)) for seed, size in enumerate((4, 6)))
W = jax.random.normal(jax.random.key(2), (5, 2))


def linear(model, inputs):
    return inputs @ model.T


@pytest.mark.parametrize("params", [W, Additive(W)], ids=["shared", "additive without local models"])
def test_every_client_predicts_with_the_shared_model(params):
    np.testing.assert_allclose(predict(linear, params, INPUTS), INPUTS @ W.T, rtol=1e-5)


def test_local_models_as_coefficients_need_the_training_inputs():
    params = Additive(W, coefficients=jax.random.normal(jax.random.key(3), (3, 6, 5)))
    found = predict(linear, params, INPUTS, support=SUPPORT)
    np.testing.assert_allclose(found, scores(params, INPUTS, SUPPORT), rtol=1e-4, atol=1e-5)
    with pytest.raises(InputError, match="give predict"):
        predict(linear, params, INPUTS)
