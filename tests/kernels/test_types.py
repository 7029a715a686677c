"""The annotations of all public kernels: complete, and checked at run time by the hook in tests/conftest.py."""

import importlib
import inspect
import pkgutil

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array
from jaxtyping import TypeCheckError

import bench.kernels
from bench.kernels.graph import Graph
from bench.kernels.personal import Batch
from bench.kernels.sparse import Rows

FUNCTIONS = {
    f"{module.name}.{name}": function
    for module in pkgutil.iter_modules(bench.kernels.__path__)
    for name, function in vars(importlib.import_module(f"bench.kernels.{module.name}")).items()
    if inspect.isfunction(function)
    and function.__module__ == f"bench.kernels.{module.name}"
    and not name.startswith("_")
}

KEY = jax.random.key(0)
VECTOR, MATRIX, STACK = jnp.ones(3), jnp.ones((2, 3)), jnp.ones((4, 2, 3))
PAIR = Graph(jnp.array([[1], [0]], jnp.int32), jnp.ones((2, 1)), jnp.zeros((2, 1), jnp.int32))
ROWS = Rows(jnp.zeros((2, 1), jnp.int32), jnp.ones((2, 1)), num_features=3)
BATCH = Batch(None, jnp.zeros((4, 1), jnp.int32), (jnp.ones((4, 1, 3)),), jnp.ones((4, 1)))


def link(score, target):
    return 0.5 * (score - target) ** 2


WRONG = {  # a call with one argument that is not what it is said to be, of each kind, and that argument's name
    "draws.normal_rows": ((KEY, VECTOR, 3), "rows"),
    "gradient.clip": ((VECTOR.astype(int), 1.0), "tree"),
    "gradient.clipped_sum": (({"a": jnp.ones((2, 3)), "b": jnp.ones((3, 3))}, 1.0), "trees"),
    "graph.neighbor_sum": ((PAIR, VECTOR), "models"),
    "messages.linear": ((STACK, jnp.ones((4, 2, 5)), jnp.ones((4, 2, 3))), "gram"),
    "linear.clipped_gradient": ((link, VECTOR, MATRIX, VECTOR, jnp.ones(2), 1.0), "targets"),
    "personal.dual": ((STACK, 1), "gram"),
    "proximal.project_ball": ((VECTOR, jnp.ones(2), 1.0), "center"),
    "sampling.poisson": ((KEY, 4.5, 0.5, 4), "num_clients"),
    "sampling.queue_rounds": (([3, 3], 1.5, 1), "num_epochs"),
    "sparse.transposed_product": ((ROWS, jnp.ones((2, 2), jnp.int32)), "coefficients"),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_argument_and_result_says_what_it_is(name):
    function = FUNCTIONS[name]
    signature = inspect.signature(function)
    said = [parameter.annotation for parameter in signature.parameters.values()] + [signature.return_annotation]
    assert inspect.Signature.empty not in said
    assert not any(annotation is Array for annotation in said), "an array without its shape"


@pytest.mark.parametrize("name", WRONG)
def test_another_shape_or_type_is_refused(name):
    args, parameter = WRONG[name]
    with pytest.raises(TypeCheckError, match=f"whilst typechecking parameter '{parameter}'"):
        FUNCTIONS[name](*args)


def test_results_are_checked_too(monkeypatch):
    monkeypatch.setattr(bench.kernels.gradient.jnp, "where", lambda *_: np.ones(3))
    with pytest.raises(TypeCheckError, match="return value"):
        FUNCTIONS["gradient.noise_scale"](1.0, 1.0)
