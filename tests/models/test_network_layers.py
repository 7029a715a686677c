"""Pools and activations of the networks, their values and their gradients."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import random

from bench.models import networks
from bench.models.networks import DigitCNN, OriginalDigitCNN, TemperedSigmoid, max_pool, mean_pool


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("shape", [(2, 7, 7, 3), (1, 4, 7, 2), (1, 2, 2, 1)])
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (max_pool, nn.max_pool),
        (mean_pool, lambda x, *window: nn.pooling.pool(x, 0.0, jax.lax.add, *window) / 4),
    ],
    ids=["max", "mean"],
)
def test_pools_and_their_gradients_are_those_of_reduced_windows(ours, theirs, shape, stride):
    rng = np.random.default_rng(0)
    x = rng.permutation(np.prod(shape)).astype(np.float32).reshape(shape)  # no ties
    found, slopes = jax.vjp(lambda x: ours(x, stride), x)
    wanted, wanted_slopes = jax.vjp(lambda x: theirs(x, (2, 2), (stride, stride), "VALID"), x)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    weight = rng.standard_normal(wanted.shape, np.float32)
    np.testing.assert_allclose(*slopes(weight), *wanted_slopes(weight), atol=1e-6)


def test_equal_maxima_share_the_gradient():
    found = jax.grad(lambda x: jnp.sum(max_pool(x)))(jnp.ones((1, 2, 2, 1)))
    np.testing.assert_allclose(found, 0.25)


def test_tempered_sigmoid_is_its_formula_and_by_default_tanh():
    z = np.linspace(-6, 6, 101).astype(np.float32)
    np.testing.assert_array_equal(TemperedSigmoid()(jnp.asarray(z)), jnp.tanh(z))
    for s, t, o in ((2, 2, 1), (1.58, 3, 0.71), (1, 1, 0)):
        np.testing.assert_allclose(TemperedSigmoid(s, t, o)(z), s / (1 + np.exp(-t * z)) - o, atol=1e-6)
        slope = jax.vmap(jax.grad(TemperedSigmoid(s, t, o)))(z)
        np.testing.assert_allclose(slope, s * t * np.exp(-t * z) / (1 + np.exp(-t * z)) ** 2, atol=1e-6)


def test_the_activation_is_a_field_of_the_networks_that_have_it():
    x = random.normal(random.key(1), (2, 28, 28, 1))
    for make in (DigitCNN, OriginalDigitCNN):
        params = make().init(random.key(0, impl="rbg"), x)
        same = make(networks.nn.tanh).apply(params, x)
        other = make(TemperedSigmoid(1.58, 3.0, 0.71)).apply(params, x)
        np.testing.assert_array_equal(make().apply(params, x), same)
        assert np.abs(other - same).max() > 0.01
