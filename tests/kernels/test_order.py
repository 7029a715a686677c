"""Order statistics against a sort."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bench.kernels.order import MANY, first_largest, kth_largest


@pytest.mark.parametrize("k", [1, 2, 500, 999, 1000])
def test_it_is_the_number_that_a_sort_finds(k):
    drawn = np.abs(np.random.default_rng(k).standard_normal((3, 1000))).astype(np.float32)
    drawn[1] = np.round(drawn[1], 1)  # many alike, zeros too
    drawn[2, :300] = np.float32(1e-42)  # less than the smallest normal number
    found = jax.jit(jax.vmap(lambda values: kth_largest(values, k)))(jnp.asarray(drawn))
    np.testing.assert_array_equal(found, -np.sort(-drawn, axis=1)[:, k - 1])


def test_a_number_that_overflowed_counts_as_the_largest():
    values = jnp.asarray([1.0, jnp.inf, jnp.nan, 0.5])
    assert np.isnan(kth_largest(values, 1))
    assert kth_largest(values, 2) == np.inf
    assert kth_largest(values, 3) == 1


@pytest.mark.parametrize("number", [1, MANY - 1, MANY, 80])
def test_the_first_largest_is_that_of_numpy_also_where_numbers_are_equal_or_not_finite(number):
    values = np.random.default_rng(number).integers(0, 5, (400, number)).astype(np.float32)
    values[:100] = np.where(values[:100] == 4, np.nan, values[:100])
    values[100:200] = np.where(values[100:200] == 4, np.inf, values[100:200])
    values[200:300] = np.where(values[200:300] == 4, -np.inf, values[200:300])
    values[300:310] = -np.inf
    found = jax.jit(first_largest)(jnp.asarray(values))
    np.testing.assert_array_equal(found, np.argmax(values, -1))
    assert found.dtype == jnp.int32
