"""Networks: sizes, shapes and values against tables of their layers, initial values, and names."""

from functools import cache
from itertools import combinations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import random
from network_tables import TABLES, walk

from bench.models.networks import NETWORKS, DigitCNN, TemperedSigmoid, network

INPUTS = {
    "mnist": {"pixels": (28, 28, 1), "scattering": (7, 7, 81)},
    "cifar10": {"pixels": (32, 32, 3), "scattering": (8, 8, 243)},
}


@cache
def initial(dataset, model, seed=0):
    module, features = network(dataset, model)
    x = jnp.zeros((1, *INPUTS[dataset][features]))
    # This kind of key is compiled in a tenth of the time.
    return jax.jit(module.init)(random.key(seed, impl="rbg"), x)["params"]


def test_the_tables_name_every_network():
    assert NETWORKS["fashion_mnist"] == NETWORKS["mnist"]
    named = {(dataset, model) for dataset in NETWORKS if dataset != "fashion_mnist" for model in NETWORKS[dataset]}
    assert set(TABLES) == named


@pytest.mark.parametrize(("dataset", "model"), TABLES)
def test_networks_are_their_tables(dataset, model):
    """Logits, for random parameters and inputs."""
    module, features = network(dataset, model)
    rng = np.random.default_rng(1)
    x = rng.standard_normal((2, *INPUTS[dataset][features]), np.float32)
    shapes = jax.eval_shape(module.init, random.key(0), x)["params"]
    params = jax.tree.map(lambda p: 0.1 * rng.standard_normal(p.shape, np.float32), shapes)
    wanted = walk(*TABLES[dataset, model], params, x)
    found = jax.jit(module.apply)({"params": params}, x)
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4 * np.abs(wanted).max())


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
    models = [(name, module) for dataset in INPUTS for name, (module, _) in NETWORKS[dataset].items()]
    assert [(name, other) for (name, a), (other, b) in combinations(models, 2) if a == b] == [
        ("scatter_linear", "scatter_linear"),
        ("tramer_scatter_linear", "tramer_scatter_linear"),
        ("cnn_tempered", "papernot_cnn"),
    ]
