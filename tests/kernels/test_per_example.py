"""Fast clipping of flax networks equals the gradients formed one by one, and keeps what it promises."""

import math
from functools import partial

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax_privacy import clipping
from tiny_networks import SHAPE, Tiny, task

from bench.kernels import per_example
from bench.kernels.per_example import (
    Affine,
    ScaledLinear,
    clipped_gradient_of_rows,
    clipped_gradient_sum,
    cross_entropy,
)
from bench.kernels.platforms import made_for

TINY = Tiny()


@pytest.fixture(scope="module")
def tiny():
    made = task(np.zeros((1, 1)))
    inputs, labels = made.network.pool
    return made.init_params, inputs, labels


@partial(jax.jit, static_argnames="network")
def one_by_one(params, inputs, labels, weight, clip_norm, network=TINY):
    def loss(params, x, y):
        return cross_entropy(network.apply({"params": params}, x[None]), y[None])[0]

    grads = jax.vmap(jax.grad(loss), (None, 0, 0))(params, inputs, labels)
    norms = jnp.sqrt(sum(jnp.sum(jnp.square(g), axis=range(1, g.ndim)) for g in jax.tree.leaves(grads)))
    factor = weight * jnp.minimum(1.0, clip_norm / norms)
    return jax.tree.map(lambda g: jnp.tensordot(factor, g, 1), grads), norms


@jax.jit
def gradient_of_one(params, x, y):
    return jax.grad(lambda params: cross_entropy(TINY.apply({"params": params}, x[None]), y[None])[0])(params)


fast = jax.jit(partial(clipped_gradient_sum, TINY))
by_layer = jax.jit(partial(clipped_gradient_sum, TINY, per_layer=True))
of_rows = jax.jit(partial(clipped_gradient_of_rows, TINY, usual=16))
predicted = jax.jit(
    lambda network, params, inputs: jnp.argmax(network.apply({"params": params}, inputs), -1), static_argnums=0
)


def assert_close(a, b, rtol=2e-5, atol=1e-6):
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_allclose(x, y, rtol=rtol, atol=atol)


@pytest.mark.parametrize("clip_norm", [0.3, 1.5, np.inf])
def test_clipping_by_layer_equals_the_layers_clipped_one_by_one(tiny, clip_norm):
    params, inputs, labels = tiny
    weight = jnp.asarray(np.random.default_rng(2).integers(0, 2, len(labels)), jnp.float32)
    got, norms, _ = by_layer(params, inputs, labels, weight, clip_norm)
    want = jax.tree.map(np.zeros_like, params)
    for x, y, counts, norm in zip(inputs, labels, weight, norms, strict=True):
        layers = gradient_of_one(params, x, y)
        lengths = {name: float(optax.tree.norm(layer)) for name, layer in layers.items()}
        np.testing.assert_allclose(norm, math.sqrt(len(layers)) * max(lengths.values()), rtol=2e-5)
        for name, layer in layers.items():
            factor = float(counts) * min(1, clip_norm / math.sqrt(len(layers)) / lengths[name])
            want[name] = jax.tree.map(lambda a, b, factor=factor: a + factor * b, want[name], layer)
    assert_close(got, want)


@pytest.mark.parametrize("platform", ["cpu", "cuda"])
@pytest.mark.parametrize("clip_norm", [0.3, 1.5, np.inf])
def test_equals_the_gradients_formed_one_by_one(tiny, clip_norm, platform):
    params, inputs, labels = tiny
    weight = jnp.asarray(np.random.default_rng(2).integers(0, 2, len(labels)), jnp.float32)
    with made_for(platform):
        got, norms, _ = fast(params, inputs, labels, weight, clip_norm)
    want, want_norms = one_by_one(params, inputs, labels, weight, clip_norm)
    np.testing.assert_allclose(norms, want_norms, rtol=2e-5)
    assert norms.max() > 1.5 * norms.min()  # so that 1.5 clips some of them
    assert_close(got, want)


@pytest.mark.parametrize(("places", "inputs", "outputs", "formed"), [(4, 20, 30, False), (9, 20, 30, True)])
def test_a_convolution_in_either_form_gives_norms_and_sums_of_its_gradients(places, inputs, outputs, formed):
    keys = jax.random.split(jax.random.key(0), 3)
    a, d = jax.random.normal(keys[0], (5, places, inputs)), jax.random.normal(keys[1], (5, places, outputs))
    scale = jax.random.uniform(keys[2], (5,)).at[1].set(0.0)
    text = str(jax.make_jaxpr(lambda *args: per_example._product(*args)[0])(a, d))
    assert (f"f32[5,{places},{places}]" not in text) == formed
    gradients = jnp.einsum("bpi,bpo->bio", a, d)
    squares, sums = per_example._product(a, d)
    np.testing.assert_allclose(squares, jnp.sum(gradients**2, (1, 2)) + jnp.sum(d.sum(1) ** 2, 1), rtol=1e-5)
    assert_close(sums(scale), {"kernel": jnp.tensordot(scale, gradients, 1), "bias": scale @ d.sum(1)}, atol=1e-5)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:optax.global_norm:DeprecationWarning")
def test_equals_jax_privacy(tiny):
    params, inputs, labels = tiny

    def loss(params, inputs, labels):
        return jnp.mean(cross_entropy(Tiny().apply({"params": params}, inputs), labels))

    theirs = clipping.clipped_grad(loss, l2_clip_norm=0.5, batch_argnums=(1, 2))(params, inputs, labels)
    ours, *_ = fast(params, inputs, labels, jnp.ones(len(labels)), 0.5)
    assert_close(ours, theirs)


@pytest.mark.parametrize("platform", ["cpu", "cuda"])
@pytest.mark.parametrize(("clipped_sum", "least"), [(fast, 0.999), (by_layer, 0.77)])
def test_one_example_moves_the_sum_by_at_most_the_clipping_norm(clipped_sum, least, platform, tiny):
    """By layer too: were each of the five layers clipped to C, it would be sqrt(3) C for the three that are longer."""
    params, inputs, labels = tiny
    inputs = inputs.at[0].mul(1e3)  # a gradient that is long without clipping
    everybody = jnp.ones(len(labels))

    def moved(clip_norm):
        with made_for(platform):
            total, *_ = clipped_sum(params, inputs, labels, everybody, clip_norm)
            without, *_ = clipped_sum(params, inputs, labels, everybody.at[0].set(0.0), clip_norm)
        return float(optax.tree.norm(optax.tree.sub(total, without)))

    assert least * 0.2 < moved(0.2) <= 0.2 * (1 + 1e-4)
    assert moved(np.inf) > 1  # without clipping it does move


@pytest.mark.parametrize("platform", ["cpu", "cuda"])
@pytest.mark.parametrize("count", [0, 1, 15, 16, 17, 40])
def test_rows_beyond_the_count_have_no_effect(tiny, count, platform):
    params, inputs, labels = tiny
    rng = np.random.default_rng(5)
    rows = jnp.asarray(rng.integers(0, len(labels), 40), jnp.int32)
    with made_for(platform):
        got, clipped, correct = of_rows(params, (inputs, labels), rows, count, 1.0)
    used = jnp.asarray(np.arange(40) < count, jnp.float32)
    want, norms = one_by_one(params, inputs[rows], labels[rows], used, 1.0)
    assert_close(got, want)
    assert int(clipped) == np.sum(norms[:count] > 1.0)
    right = predicted(TINY, params, inputs[rows]) == labels[rows]
    assert int(correct) == np.sum(right[:count])


def small(fan_in):
    return nn.initializers.normal(1 / math.sqrt(fan_in))


@pytest.fixture(scope="module", params=[True, False], ids=["scaled", "plain"])
def linear(request, tiny):
    """A linear classifier, parameters of which none is 0 or 1, and `clipped_gradient_of_rows` of it."""
    network = ScaledLinear(4, small, affine=request.param)
    params = network.init(jax.random.key(4), tiny[1][:1])["params"]
    keys = jax.random.split(jax.random.key(5), len(jax.tree.leaves(params)))
    keys = jax.tree.unflatten(jax.tree.structure(params), keys)
    params = jax.tree.map(lambda leaf, key: leaf + 0.3 * jax.random.normal(key, leaf.shape), params, keys)
    return network, params, jax.jit(partial(clipped_gradient_of_rows, network), static_argnames="per_layer")


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float16])
@pytest.mark.parametrize(("count", "clip_norm"), [(0, 1.0), (1, 0.3), (17, 5.0), (40, 5.0), (40, np.inf)])
def test_the_kernel_of_linear_classifiers_equals_the_gradients_formed_one_by_one(linear, tiny, count, clip_norm, dtype):
    (network, params, of_rows), (_, inputs, labels) = linear, tiny
    inputs = inputs.astype(dtype)
    rows = jnp.asarray(np.random.default_rng(5).integers(0, len(labels), 40), jnp.int32)
    got, clipped, correct = of_rows(params, (inputs, labels), rows, count, clip_norm)
    used = jnp.asarray(np.arange(40) < count, jnp.float32)
    inputs = inputs.astype(jnp.float32)
    want, norms = one_by_one(params, inputs[rows], labels[rows], used, clip_norm, network)
    assert_close(got, want, atol=1e-5)
    assert 0 < np.sum(norms > 5) < 40
    assert int(clipped) == np.sum(norms[:count] > clip_norm)
    right = predicted(network, params, inputs[rows]) == labels[rows]
    assert int(correct) == np.sum(right[:count])


def test_linear_classifiers_clipped_by_layer_are_those_of_other_networks(linear, tiny):
    """By layer, and through `clipped_gradient_sum`, they are networks like any other."""
    (network, params, of_rows), (_, inputs, labels) = linear, tiny
    rows, everybody = jnp.arange(len(labels)), jnp.ones(len(labels))
    got, *_ = of_rows(params, (inputs, labels), rows, len(labels), 1.0, per_layer=True)
    of_sum = jax.jit(partial(clipped_gradient_sum, network, per_layer=True))
    want, *_ = of_sum(params, inputs, labels, everybody, 1.0)
    assert_close(got, want)


def test_one_example_moves_the_sum_of_a_linear_classifier_by_at_most_the_clipping_norm(linear, tiny):
    (network, params, of_rows), (_, inputs, labels) = linear, tiny
    inputs, rows = inputs.at[0].mul(1e3), jnp.arange(len(labels))
    wrong = jnp.argmin(network.apply({"params": params}, inputs[:1])[0])  # else the loss, and its gradient, may be 0
    pool = inputs, labels.at[0].set(wrong)

    def moved(clip_norm):
        total, *_ = of_rows(params, pool, rows, len(labels), clip_norm)
        without, *_ = of_rows(params, pool, rows[1:], len(labels) - 1, clip_norm)
        return float(optax.tree.norm(optax.tree.sub(total, without)))

    assert 0.999 * 0.2 < moved(0.2) <= 0.2 * (1 + 1e-4)
    assert moved(np.inf) > 1


@pytest.mark.parametrize("padding", ["SAME", "VALID", 1, ((2, 0), (1, 3))])
@pytest.mark.parametrize("strides", [(1, 1), (2, 3)])
def test_patches_are_those_of_the_convolution(padding, strides):
    network = nn.Sequential([nn.Conv(4, (3, 2), strides, padding=padding), lambda x: x.reshape(x.shape[0], -1)])
    x = jax.random.normal(jax.random.key(0), (3, 7, 8, 2))
    params = jax.jit(network.init)(jax.random.key(1), x)["params"]
    labels = jnp.arange(3)
    got, *_ = jax.jit(partial(clipped_gradient_sum, network))(params, x, labels, jnp.ones(3), np.inf)
    want = jax.jit(jax.grad(lambda p: jnp.sum(cross_entropy(network.apply({"params": p}, x), labels))))(params)
    assert_close(got, want)


def test_parameters_elsewhere_are_refused():
    network = nn.Sequential([nn.LayerNorm(), nn.Dense(3)])
    x = jnp.ones((2, 5))
    params = jax.eval_shape(network.init, jax.random.key(0), x)["params"]
    of_sum = partial(clipped_gradient_sum, network)
    with pytest.raises(TypeError, match="every parameter"):
        jax.eval_shape(of_sum, params, x, jnp.zeros(2, jnp.int32), jnp.ones(2), 1.0)


def test_affine_starts_as_the_identity():
    x = jax.random.normal(jax.random.key(0), (2, *SHAPE))
    for axes, shape in ((1, SHAPE[-1:]), (3, SHAPE)):
        params = Affine(axes).init(jax.random.key(0), x)["params"]
        assert params["scale"].shape == params["bias"].shape == shape
        np.testing.assert_array_equal(Affine(axes).apply({"params": params}, x), x)
