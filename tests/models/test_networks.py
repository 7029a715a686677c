"""Networks: sizes, shapes and values against tables of their layers walked in plain NumPy."""

from functools import cache

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import random

from bench.errors import InputError
from bench.models import networks
from bench.models.networks import NETWORKS, DigitCNN, OriginalDigitCNN, TemperedSigmoid, max_pool, mean_pool, network

pytestmark = pytest.mark.usefixtures("quick_compilation")

INPUTS = {
    "mnist": {"pixels": (28, 28, 1), "scattering": (7, 7, 81)},
    "fashion_mnist": {"pixels": (28, 28, 1), "scattering": (7, 7, 81)},
    "cifar10": {"pixels": (32, 32, 3), "scattering": (8, 8, 243)},
}
SIZES = {
    "mnist": {
        "cnn_relu": 10_650,
        "cnn_tempered": 10_650,
        "scatter_linear": 47_638,
        "scatter_cnn": 20_940,
        "papernot_cnn": 26_010,
        "tramer_cnn": 26_010,
        "tramer_scatter_linear": 7 * 7 * 81 * 10 + 10,
        "tramer_scatter_cnn": 33_066,
    },
    "cifar10": {
        "cnn_relu": 605_226,
        "cnn_tempered": 605_226,
        "scatter_linear": 186_634,
        "scatter_cnn": 180_016,
        "papernot_cnn": 605_226,
        "tramer_cnn": 550_570,
        "tramer_scatter_linear": 8 * 8 * 243 * 10 + 10,
        "tramer_scatter_cnn": 187_210,
    },
}
SIZES["fashion_mnist"] = SIZES["mnist"]
ALL = [(dataset, model) for dataset, models in SIZES.items() for model in models]


def shapes(dataset, model):
    module, features = network(dataset, model)
    return jax.eval_shape(module.init, random.key(0), jnp.zeros((1, *INPUTS[dataset][features])))["params"]


@cache
def initial(dataset, model, seed=0):
    module, features = network(dataset, model)
    x = jnp.zeros((1, *INPUTS[dataset][features]))
    # This kind of key is compiled in a tenth of the time.
    return jax.jit(module.init)(random.key(seed, impl="rbg"), x)["params"]


# ---- Tables of layers: (kind, its arguments, height and width of what it makes) ----

# conv: outputs, size, stride, padding. max, mean: stride. dense: outputs. affine: how many axes of features.
DIGITS = [
    ("conv", (16, 8, 2, 0), 11),
    ("act", (), 11),
    ("max", (2,), 5),
    ("conv", (32, 4, 2, 1), 2),
    ("act", (), 2),
    ("max", (2,), 1),
    ("dense", (32,), None),
    ("relu", (), None),
    ("dense", (10,), None),
]
COLOURS = [
    ("conv", (32, 3, 1, 1), 32),
    ("act", (), 32),
    ("conv", (32, 3, 1, 1), 32),
    ("act", (), 32),
    ("mean", (2,), 16),
    ("conv", (64, 3, 1, 1), 16),
    ("act", (), 16),
    ("conv", (64, 3, 1, 1), 16),
    ("act", (), 16),
    ("mean", (2,), 8),
    ("conv", (128, 3, 1, 1), 8),
    ("act", (), 8),
    ("conv", (128, 3, 1, 1), 8),
    ("act", (), 8),
    ("mean", (2,), 4),
    ("conv", (256, 3, 1, 1), 4),
    ("act", (), 4),
    ("conv", (10, 3, 1, 1), 4),
    ("average", (), None),
]
SCATTER_DIGITS = [
    ("affine", (1,), 7),
    ("conv", (16, 3, 2, 1), 4),
    ("tanh", (), 4),
    ("max", (1,), 3),
    ("conv", (32, 3, 1, 1), 3),
    ("tanh", (), 3),
    ("max", (1,), 2),
    ("dense", (32,), None),
    ("tanh", (), None),
    ("dense", (10,), None),
]
SCATTER_COLOURS = [
    ("affine", (1,), 8),
    ("conv", (64, 3, 1, 1), 8),
    ("tanh", (), 8),
    ("max", (2,), 4),
    ("conv", (64, 3, 1, 1), 4),
    ("tanh", (), 4),
    ("max", (2,), 2),
    ("dense", (10,), None),
]
PAPERNOT_DIGITS = [
    ("conv", (16, 8, 2, 3), 14),
    ("tanh", (), 14),
    ("max", (1,), 13),
    ("conv", (32, 4, 2, 0), 5),
    ("tanh", (), 5),
    ("max", (1,), 4),
    ("dense", (32,), None),
    ("tanh", (), None),
    ("dense", (10,), None),
]
TRAMER_DIGITS = [("conv", (16, 8, 2, 2), 13), ("tanh", (), 13), ("max", (1,), 12), *PAPERNOT_DIGITS[3:]]
TRAMER_COLOURS = [
    *(("max" if kind == "mean" else kind, *rest) for kind, *rest in COLOURS[:15]),
    ("dense", (128,), None),
    ("tanh", (), None),
    ("dense", (10,), None),
]
TRAMER_SCATTER_DIGITS = [
    ("conv", (16, 3, 2, 1), 4),
    ("tanh", (), 4),
    ("conv", (32, 3, 1, 1), 4),
    ("tanh", (), 4),
    ("dense", (32,), None),
    ("tanh", (), None),
    ("dense", (10,), None),
]
TRAMER_SCATTER_COLOURS = [*SCATTER_COLOURS[1:6], ("dense", (10,), None)]
TABLES = {
    ("mnist", "cnn_relu"): (DIGITS, "relu"),
    ("mnist", "cnn_tempered"): (DIGITS, "tanh"),
    ("mnist", "scatter_linear"): ([("affine", (3,), 7), ("dense", (10,), None)], None),
    ("mnist", "scatter_cnn"): (SCATTER_DIGITS, None),
    ("mnist", "papernot_cnn"): (PAPERNOT_DIGITS, None),
    ("mnist", "tramer_cnn"): (TRAMER_DIGITS, None),
    ("mnist", "tramer_scatter_linear"): ([("dense", (10,), None)], None),
    ("mnist", "tramer_scatter_cnn"): (TRAMER_SCATTER_DIGITS, None),
    ("cifar10", "cnn_relu"): (COLOURS, "relu"),
    ("cifar10", "cnn_tempered"): (COLOURS, "tanh"),
    ("cifar10", "scatter_linear"): ([("affine", (3,), 8), ("dense", (10,), None)], None),
    ("cifar10", "scatter_cnn"): (SCATTER_COLOURS, None),
    ("cifar10", "papernot_cnn"): (COLOURS, "tanh"),
    ("cifar10", "tramer_cnn"): (TRAMER_COLOURS, "tanh"),
    ("cifar10", "tramer_scatter_linear"): ([("dense", (10,), None)], None),
    ("cifar10", "tramer_scatter_cnn"): (TRAMER_SCATTER_COLOURS, None),
}


def windows(x, size, stride):
    """Row, column, and the window [batch, size, size, channel] there, for all that fit."""
    for i in range((x.shape[1] - size) // stride + 1):
        for j in range((x.shape[2] - size) // stride + 1):
            yield i, j, x[:, stride * i : stride * i + size, stride * j : stride * j + size]


def pooled(x, stride, how):
    found = {(i, j): how(window, axis=(1, 2)) for i, j, window in windows(x, 2, stride)}
    height, width = (1 + max(place[axis] for place in found) for axis in (0, 1))
    return np.stack([np.stack([found[i, j] for j in range(width)], 1) for i in range(height)], 1)


def convolved(x, kernel, bias, stride, padding):
    size = kernel.shape[0]
    pads = tuple(np.broadcast_to(padding, 2))  # before and after, or one number for both
    x = np.pad(x, ((0, 0), pads, pads, (0, 0)))
    side = (x.shape[1] - size) // stride + 1
    out = np.empty((x.shape[0], side, side, kernel.shape[-1]))
    for i, j, window in windows(x, size, stride):
        out[:, i, j] = np.tensordot(window, kernel, 3) + bias
    return out


def walk(table, activation, params, x):
    """Logits of the layers of a table; every layer takes the next parameters of its kind."""
    params = jax.tree.map(np.float64, params)
    acts = {"relu": lambda z: np.maximum(z, 0), "tanh": np.tanh}
    seen = {"Conv": 0, "Dense": 0, "Affine": 0}

    def following(kind):
        seen[kind] += 1
        return params[f"{kind}_{seen[kind] - 1}"]

    for kind, args, side in table:
        kind = activation if kind == "act" else kind
        if kind == "conv":
            outputs, size, stride, padding = args
            layer = following("Conv")
            assert layer["kernel"].shape == (size, size, x.shape[-1], outputs)
            x = convolved(x, layer["kernel"], layer["bias"], stride, padding)
        elif kind == "dense":
            x = x.reshape(len(x), -1)
            layer = following("Dense")
            assert layer["kernel"].shape == (x.shape[-1], *args)
            x = x @ layer["kernel"] + layer["bias"]
        elif kind == "affine":
            layer = following("Affine")
            assert layer["scale"].shape == layer["bias"].shape == x.shape[x.ndim - args[0] :]
            x = x * layer["scale"] + layer["bias"]
        elif kind in ("max", "mean"):
            x = pooled(x, *args, getattr(np, kind))
        elif kind == "average":
            x = x.mean((1, 2))
        else:
            x = acts[kind](x)
        assert x.shape[1:-1] == ((side, side) if side else ())
    assert sum(seen.values()) == len(params)
    return x


# ---- Networks ----


def test_the_tables_name_every_network():
    assert {dataset: set(models) for dataset, models in NETWORKS.items()} == {d: set(m) for d, m in SIZES.items()}
    assert set(TABLES) == {pair for pair in ALL if pair[0] != "fashion_mnist"}
    assert NETWORKS["fashion_mnist"] == NETWORKS["mnist"]


@pytest.mark.parametrize(("dataset", "model"), ALL)
def test_sizes_are_the_published_ones(dataset, model):
    module, features = network(dataset, model)
    assert features == ("scattering" if "scatter" in model else "pixels")
    x = jnp.zeros((2, *INPUTS[dataset][features]))
    params = jax.eval_shape(module.init, random.key(0), x)
    assert sum(leaf.size for leaf in jax.tree.leaves(params)) == SIZES[dataset][model]
    logits = jax.eval_shape(module.apply, params, x)
    assert (logits.shape, logits.dtype) == ((2, 10), jnp.float32)


def compare(dataset, model, table, activation):
    """Logits of the network with those of a table, for random parameters and inputs."""
    module, features = network(dataset, model)
    rng = np.random.default_rng(1)
    params = jax.tree.map(lambda p: 0.1 * rng.standard_normal(p.shape, np.float32), shapes(dataset, model))
    x = rng.standard_normal((2, *INPUTS[dataset][features]), np.float32)
    theirs = walk(table, activation, params, x)
    np.testing.assert_allclose(
        jax.jit(module.apply)({"params": params}, x), theirs, rtol=1e-3, atol=1e-4 * np.abs(theirs).max()
    )


@pytest.mark.parametrize("pair", TABLES)
def test_networks_are_their_tables(pair):
    compare(*pair, *TABLES[pair])


@pytest.mark.parametrize(
    ("pair", "at", "wrong"),
    [
        (("mnist", "cnn_tempered"), 0, ("conv", (16, 8, 2, 1), 12)),
        (("mnist", "cnn_tempered"), 3, ("conv", (32, 4, 2, (0, 2)), 2)),  # as many places: only the values tell
        (("mnist", "cnn_tempered"), 7, ("tanh", (), None)),  # the dense layer keeps its ReLU
        (("mnist", "cnn_relu"), 3, ("conv", (32, 4, 2, 0), 1)),
        (("mnist", "papernot_cnn"), 0, ("conv", (16, 8, 2, 2), 13)),
        (("mnist", "scatter_cnn"), 3, ("max", (2,), 2)),
        (("cifar10", "cnn_relu"), 4, ("max", (2,), 16)),
        (("cifar10", "scatter_cnn"), 2, ("relu", (), 8)),
    ],
)
def test_a_wrong_layer_is_seen(pair, at, wrong):
    table, activation = TABLES[pair]
    with pytest.raises(AssertionError):
        compare(*pair, [*table[:at], wrong, *table[at + 1 :]], activation)


@pytest.mark.parametrize("pair", [("mnist", "papernot_cnn"), ("mnist", "scatter_linear"), ("cifar10", "scatter_cnn")])
def test_initial_values_are_uniform_in_one_over_the_root_of_the_fan_in(pair):
    for name, layer in initial(*pair).items():
        if name.startswith("Affine"):
            np.testing.assert_array_equal(layer["scale"], 1)
            np.testing.assert_array_equal(layer["bias"], 0)
            continue
        bound = np.prod(layer["kernel"].shape[:-1]) ** -0.5
        kernel = np.asarray(layer["kernel"]) / bound
        assert np.abs(kernel).max() <= 1
        assert np.abs(layer["bias"]).max() <= bound
        if kernel.size >= 1000:
            assert np.abs(kernel).max() > 0.98
            np.testing.assert_allclose(kernel.std(), 3**-0.5, rtol=0.05)
        assert np.abs(layer["bias"]).max() > 0.5 * bound


def test_initial_values_depend_on_the_key_and_differ_among_layers():
    first, again, other = (initial("cifar10", "scatter_cnn", seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first["Conv_1"]["kernel"], again["Conv_1"]["kernel"])
    assert np.abs(first["Conv_1"]["kernel"] - other["Conv_1"]["kernel"]).max() > 0.01
    assert np.abs(first["Conv_0"]["kernel"][0, 0, :64] - first["Conv_1"]["kernel"][0, 0]).max() > 0.01


def test_networks_compare_by_what_they_are():
    """A compiled program is found again by its network, and no other network's is taken for it."""
    assert DigitCNN() == DigitCNN(TemperedSigmoid())
    assert hash(DigitCNN()) == hash(DigitCNN(TemperedSigmoid()))
    assert DigitCNN(TemperedSigmoid(scale=1.0)) != DigitCNN()
    modules = [module for module, _ in (*NETWORKS["mnist"].values(), *NETWORKS["cifar10"].values())]
    pairs = [(i, j) for i, a in enumerate(modules) for j, b in enumerate(modules) if i < j and a == b]
    names = [*NETWORKS["mnist"], *NETWORKS["cifar10"]]
    assert [(names[i], names[j]) for i, j in pairs] == [
        ("scatter_linear", "scatter_linear"),
        ("tramer_scatter_linear", "tramer_scatter_linear"),
        ("cnn_tempered", "papernot_cnn"),
    ]


@pytest.mark.parametrize(
    ("dataset", "model", "said"),
    [
        ("mnsit", "cnn_relu", "no data set with networks is called 'mnsit': did you mean mnist?"),
        ("cifar10", "cnn_tempred", "no model for cifar10 is called 'cnn_tempred': did you mean cnn_tempered?"),
        ("mnist", "xyz", "no model for mnist is called 'xyz': there are cnn_relu, "),
    ],
)
def test_unknown_names_are_refused(dataset, model, said):
    with pytest.raises(InputError) as raised:
        network(dataset, model)
    assert str(raised.value).startswith(said)


# ---- Layers ----


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("shape", [(2, 5, 5, 3), (1, 4, 7, 2), (1, 2, 2, 1)])
def test_pools_are_maxima_and_means_of_windows(shape, stride):
    x = np.random.default_rng(0).standard_normal(shape, np.float32)
    np.testing.assert_array_equal(max_pool(x, stride), pooled(x, stride, np.max))
    np.testing.assert_allclose(mean_pool(x, stride), pooled(x, stride, np.mean), atol=1e-6)


@pytest.mark.parametrize("stride", [1, 2])
def test_gradients_of_pools_are_those_of_reduced_windows(stride):
    rng = np.random.default_rng(0)
    x = rng.permutation(2 * 7 * 7 * 3).astype(np.float32).reshape(2, 7, 7, 3)  # no ties
    weight = rng.standard_normal(max_pool(x, stride).shape, np.float32)
    window = (2, 2), (stride, stride), "VALID"
    for ours, theirs in (
        (max_pool, lambda x: nn.max_pool(x, *window)),
        (mean_pool, lambda x: nn.pooling.pool(x, 0.0, jax.lax.add, *window) / 4),
    ):
        found = jax.grad(lambda x, ours=ours: jnp.sum(weight * ours(x, stride)))(x)
        wanted = jax.grad(lambda x, theirs=theirs: jnp.sum(weight * theirs(x)))(x)
        np.testing.assert_allclose(found, wanted, atol=1e-6)


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
