"""Random words: those of JAX bit for bit, wherever they are drawn, and for every kind of key."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bench.kernels import draws, threefry

SHAPES = [(), (1,), (7,), (0,), (3, 5), (1001,), (4, 3, 2), (200, 33)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", [0, 5, 2**31 + 3])
def test_words_are_those_of_jax(shape, seed):
    key = jax.random.key(seed)
    found = threefry.bits(key, shape)
    assert found.dtype == jnp.uint32
    np.testing.assert_array_equal(found, jax.random.bits(key, shape, jnp.uint32))
    np.testing.assert_array_equal(found, jax.jit(threefry.bits, static_argnums=1)(key, shape))


def test_words_are_those_of_jax_for_many_keys_at_once():
    keys = jax.random.split(jax.random.key(8), (3, 4))
    ours = jax.vmap(jax.vmap(lambda key: threefry.bits(key, (5, 6))))(keys)
    np.testing.assert_array_equal(ours, jax.vmap(jax.vmap(lambda key: jax.random.bits(key, (5, 6), jnp.uint32)))(keys))


@pytest.mark.parametrize("low", [0.0, float(jnp.finfo(jnp.float32).tiny), 0.25])
def test_uniform_numbers_are_those_of_jax(low):
    for key in jax.random.split(jax.random.key(2), 5):
        ours = threefry.uniform(key, (3000,), low)
        np.testing.assert_array_equal(ours, jax.random.uniform(key, (3000,), minval=low))
        assert low <= float(ours.min())
        assert float(ours.max()) < 1.0


def test_another_generator_draws_its_own_words():
    key = jax.random.key(4, impl="rbg")
    np.testing.assert_array_equal(threefry.bits(key, (50,)), jax.random.bits(key, (50,), jnp.uint32))


def test_words_at_places_are_the_words_there():
    key = jax.random.key(3)
    places = jnp.asarray([[0, 999], [17, 400]], jnp.uint32)
    np.testing.assert_array_equal(threefry.at_places(key, places), threefry.bits(key, (1000,))[places])


def test_rows_of_a_draw_are_those_of_the_whole_draw():
    key, rows = jax.random.key(6), jnp.asarray([3, 0, 7])
    for some, whole in ((threefry.uniform_at_rows, threefry.uniform), (draws.normal_rows, draws.normal)):
        of_rows, of_all = jax.jit(some, static_argnums=2), jax.jit(whole, static_argnums=1)
        np.testing.assert_array_equal(of_rows(key, rows, 5), of_all(key, (8, 5))[rows])
