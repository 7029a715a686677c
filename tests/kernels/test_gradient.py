"""Clipping and noise: what one client can change, and what the noise is."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from bench.kernels import gradient, messages

CLIENTS, ROUNDING = 4, 1e-4  # what rounding may add to a bound, relative to it
numbers = st.floats(-1e6, 1e6, width=32)
thresholds = st.floats(0.125, 1024, width=32)


def gradients(count):
    """A pytree of gradients of `count` clients."""
    return st.fixed_dictionaries(
        {
            "a": arrays(np.float32, (count, 3), elements=numbers),
            "b": arrays(np.float32, (count, 2, 2), elements=numbers),
        }
    )


def opposite(sign):
    """One client's gradient far beyond any threshold, and the other way round."""
    return {"a": np.full((1, 3), sign * 1e5, np.float32), "b": np.full((1, 2, 2), sign * 1e5, np.float32)}


NONE = {"a": np.zeros((CLIENTS, 3), np.float32), "b": np.zeros((CLIENTS, 2, 2), np.float32)}
clipped_sum = jax.jit(gradient.clipped_sum)
clipped_sum_by_layer = jax.jit(gradient.clipped_sum_by_layer)


@jax.jit
def clipped_sum_linear(inputs, residuals, gram, clip_norm):
    sent = messages.linear(inputs, residuals, gram)
    return sent.clipped_sum(clip_norm), sent.norms


def length(tree):
    return math.sqrt(sum(float(np.sum(np.square(leaf, dtype=np.float64))) for leaf in jax.tree.leaves(tree)))


def distance(tree, other):
    return length(jax.tree.map(lambda a, b: np.asarray(a, np.float64) - np.asarray(b, np.float64), tree, other))


def with_client(trees, one):
    return jax.tree.map(lambda leaf, new: np.concatenate([new, leaf[1:]]), trees, one)


def moved_by_replacing(clip_norm, trees, one, other):
    sums = [clipped_sum(with_client(trees, client), clip_norm)[0] for client in (one, other)]
    return distance(*sums)


@settings(max_examples=60, deadline=None)
@given(gradients(CLIENTS), gradients(1), gradients(1), thresholds)
@example(NONE, opposite(1), opposite(-1), 1.0)
def test_a_client_moves_the_clipped_sum_by_at_most_2C_if_replaced_and_C_if_removed(trees, one, other, clip_norm):
    assert moved_by_replacing(clip_norm, trees, one, other) <= 2 * clip_norm * (1 + ROUNDING)
    absent = jax.tree.map(np.zeros_like, one)
    assert moved_by_replacing(clip_norm, trees, one, absent) <= clip_norm * (1 + ROUNDING)


def test_the_bounds_2C_and_C_are_attained_and_clipping_at_one_and_a_half_C_breaks_them():
    """The test above can fail: the least clipping too little shows."""
    absent = jax.tree.map(np.zeros_like, opposite(1))
    for clip_norm in (0.5, 1.0, 300.0):
        for other, bound in ((opposite(-1), 2 * clip_norm), (absent, clip_norm)):
            assert moved_by_replacing(clip_norm, NONE, opposite(1), other) == pytest.approx(bound, rel=1e-5)
            assert moved_by_replacing(1.5 * clip_norm, NONE, opposite(1), other) > bound * (1 + ROUNDING)
            assert moved_by_replacing(1.01 * clip_norm, NONE, opposite(1), other) > bound * (1 + ROUNDING)


@settings(max_examples=60, deadline=None)
@given(gradients(CLIENTS), thresholds)
def test_clipping_keeps_directions_and_what_is_short(trees, clip_norm):
    """clip(g, C) = g min(1, C / |g|), one client at a time, and the norms are those before clipping."""
    total, norms = clipped_sum(trees, clip_norm)
    expected = jax.tree.map(lambda leaf: np.zeros(leaf.shape[1:]), trees)
    for i in range(CLIENTS):
        g = jax.tree.map(lambda leaf, i=i: np.asarray(leaf[i], np.float64), trees)
        assert float(norms[i]) == pytest.approx(length(g), rel=1e-5, abs=1e-18)
        shorter = min(1.0, clip_norm / length(g)) if length(g) > 0 else 1.0
        expected = jax.tree.map(lambda total, leaf, shorter=shorter: total + shorter * leaf, expected, g)
        clipped = gradient.clip(jax.tree.map(jnp.float32, g), clip_norm)
        assert distance(clipped, jax.tree.map(lambda leaf, s=shorter: s * leaf, g)) <= 1e-5 * clip_norm
    assert distance(total, expected) <= CLIENTS * 1e-5 * clip_norm


def test_an_infinite_threshold_sums_and_a_zero_gradient_stays_zero():
    trees = {"w": jnp.array([[3.0, 4.0], [0.0, 0.0], [1e15, 0.0]])}
    total, norms = gradient.clipped_sum(trees, jnp.inf)
    np.testing.assert_allclose(total["w"], [1e15, 4.0])
    np.testing.assert_array_equal(norms, np.float32([5.0, 0.0, 1e15]))
    total, norms = gradient.clipped_sum({"w": jnp.zeros((3, 2))}, 1.0)
    assert not np.any(total["w"])
    assert not np.any(norms)
    np.testing.assert_array_equal(gradient.clip(jnp.zeros(3), 1.0), np.zeros(3))


LAYERS = {"first": {"kernel": (3, 2), "bias": (2,)}, "second": {"kernel": (2, 2)}, "scale": (4,)}


def layered(rng, size, clients=CLIENTS):
    """Gradients of a model with three layers, of which the last is an array in no module."""
    return jax.tree.map(
        lambda shape: size * rng.standard_normal((clients, *shape)).astype(np.float32),
        LAYERS,
        is_leaf=lambda node: isinstance(node, tuple),
    )


@pytest.mark.parametrize("size", [0.01, 0.3, 1.0, 100.0])
def test_by_layer_each_is_clipped_by_itself_with_all_its_leaves(size):
    trees = layered(np.random.default_rng(0), size)
    total, norms = clipped_sum_by_layer(trees, 1.2)
    longest = np.zeros(CLIENTS)
    for name, layer in trees.items():
        expected = jax.tree.map(lambda leaf: np.zeros(leaf.shape[1:]), layer)
        for i in range(CLIENTS):
            part = jax.tree.map(lambda leaf, i=i: np.asarray(leaf[i], np.float64), layer)
            longest[i] = max(longest[i], math.sqrt(3) * length(part))
            factor = min(1.0, 1.2 / math.sqrt(3) / length(part))
            expected = jax.tree.map(lambda total, leaf, factor=factor: total + factor * leaf, expected, part)
        assert distance(total[name], expected) <= 1e-5
    np.testing.assert_allclose(norms, longest, rtol=1e-5)


def test_by_layer_a_client_moves_the_sum_by_C_at_most_and_by_C_if_every_layer_is_long():
    """Were each layer clipped to C, it would be sqrt(3) C."""
    rng = np.random.default_rng(1)
    moved = []
    for size in (0.1, 1.0, 10.0, 1000.0):
        trees = layered(rng, size)
        without = jax.tree.map(lambda leaf: np.concatenate([0 * leaf[:1], leaf[1:]]), trees)
        sums = [clipped_sum_by_layer(found, 2.5)[0] for found in (trees, without)]
        moved.append(distance(*sums))
    assert max(moved) <= 2.5 * (1 + ROUNDING)
    assert moved[-1] == pytest.approx(2.5, rel=ROUNDING)


def test_with_one_layer_clipping_by_layer_is_clipping_as_a_whole():
    for trees in (np.ones((3, 4), np.float32), {"only": {"kernel": np.ones((3, 2, 2)), "bias": np.full((3, 2), 5.0)}}):
        trees = jax.tree.map(jnp.float32, trees)
        found, expected = (jax.tree.leaves(of(trees, 1.5)) for of in (clipped_sum_by_layer, clipped_sum))
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)


def linear_batch(rng, clients=CLIENTS, examples=5, features=6, outputs=3):
    """Inputs, weighted residuals with padding, and Gram matrices; lengths spread over two decades."""
    inputs = rng.standard_normal((clients, examples, features)).astype(np.float32)
    residuals = rng.standard_normal((clients, examples, outputs)) * 10 ** rng.uniform(-1, 1, (clients, 1, 1))
    residuals *= np.arange(examples)[:, None] < rng.integers(0, examples + 1, (clients, 1, 1))
    return inputs, residuals.astype(np.float32), np.einsum("nid,njd->nij", inputs, inputs)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.1, 1.0, 10.0, 100.0, np.inf]))
@example(seed=213, clip_norm=0.1)  # one client's gradients nearly cancel, and its allowance for rounding shows
def test_the_linear_form_is_the_general_one(seed, clip_norm):
    inputs, residuals, gram = linear_batch(np.random.default_rng(seed))
    per_client = np.einsum("nmk,nmd->nkd", residuals, inputs)
    total, norms = clipped_sum(per_client, clip_norm)
    total_linear, norms_linear = clipped_sum_linear(inputs, residuals, gram, clip_norm)
    lengths = np.linalg.norm(inputs, axis=2)
    without_cancelling = np.sum(np.einsum("nmk,nm->nk", np.abs(residuals), lengths) ** 2, axis=1)
    allowance = 4 * inputs.shape[1] * np.finfo(np.float32).eps * without_cancelling
    exact = np.linalg.norm(np.einsum("nmk,nmd->nkd", *map(np.float64, (residuals, inputs))), axis=(1, 2))
    assert (norms_linear >= exact * (1 - 1e-6)).all()  # or else a long gradient would get through
    np.testing.assert_array_less(np.abs(norms_linear - np.sqrt(exact**2 + allowance)), 1e-5 + 1e-5 * exact)
    np.testing.assert_allclose(total_linear, total, rtol=1e-4, atol=1e-5 * float(jnp.sum(norms)))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.0625, 20, width=32), st.sampled_from([0.0, 1.0, 1e4]))
def test_replacing_a_client_moves_the_linear_clipped_sum_by_at_most_2C(seed, clip_norm, boost):
    """Also when the two clients' residuals are opposite and large; a boost of 0 removes the client."""
    rng = np.random.default_rng(seed)
    before = linear_batch(rng)
    after = [np.array(part) for part in before]
    for part, new in zip(after, linear_batch(rng), strict=True):
        part[0] = new[0]
    after[1][0] = -boost * before[1][0] if boost else 0
    sums = [clipped_sum_linear(*batch, clip_norm)[0] for batch in (before, after)]
    assert distance(*sums) <= (2 if boost else 1) * clip_norm * (1 + 10 * ROUNDING)


def test_the_linear_bound_of_2C_is_attained_and_one_and_a_half_C_breaks_it():
    inputs, residuals, gram = linear_batch(np.random.default_rng(0))
    residuals = np.ones_like(residuals) * 1e3
    flipped = residuals * np.where(np.arange(CLIENTS) == 0, -1, 1)[:, None, None]
    for factor, low, high in ((1.0, 1.999, 2.001), (1.5, 2.999, 3.001)):
        sums = [clipped_sum_linear(inputs, r, gram, factor)[0] for r in (residuals, flipped)]
        assert low < distance(*sums) < high


def test_noise_is_standard_normal_and_independent_between_leaves_and_keys():
    tree = {"a": jnp.zeros(3000), "b": jnp.zeros((50, 60))}
    first, again = (gradient.gaussian_like(jax.random.key(0), tree) for _ in range(2))
    other = gradient.gaussian_like(jax.random.key(1), tree)
    assert jax.tree.map(jnp.shape, first) == {"a": (3000,), "b": (50, 60)}
    jax.tree.map(np.testing.assert_array_equal, first, again)
    samples = [np.ravel(leaf) for leaf in (first["a"], first["b"], other["a"], other["b"])]
    for i, sample in enumerate(samples):
        assert stats.kstest(sample, "norm").pvalue > 1e-6
        for later in samples[i + 1 :]:
            assert abs(np.corrcoef(sample, later)[0, 1]) < 5 / math.sqrt(3000)


@pytest.mark.parametrize("run", [gradient.noise_scale, jax.jit(gradient.noise_scale)])
def test_the_noise_on_the_sum_is_sigma_C_and_exactly_nothing_for_sigma_0(run):
    assert float(run(3.0, 0.5)) == 1.5
    assert float(run(0.0, 0.5)) == 0
    assert float(run(0.0, jnp.inf)) == 0


def test_noise_drawn_as_one_matrix_is_independent_and_standard():
    trees = {"a": jnp.zeros((2, 300, 3)), "b": jnp.zeros((2, 100))}
    noise = gradient.gaussian_rows_like(jax.random.key(0), trees)
    assert jax.tree.map(jnp.shape, noise) == jax.tree.map(jnp.shape, trees)
    everything = np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(noise)])
    assert len(np.unique(everything)) == everything.size  # no number is used twice
    assert stats.kstest(everything, "norm").pvalue > 1e-3
