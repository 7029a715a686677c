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

FUNCTIONS = {
    f"{module.name}.{name}": function
    for module in pkgutil.iter_modules(bench.kernels.__path__)
    for name, function in vars(importlib.import_module(f"bench.kernels.{module.name}")).items()
    if inspect.isfunction(function)
    and function.__module__ == f"bench.kernels.{module.name}"
    and not name.startswith("_")
}

KEY = jax.random.key(0)
VECTOR, MATRIX = jnp.ones(3), jnp.ones((2, 3))


def link(score, target):
    return 0.5 * (score - target) ** 2


WRONG = {  # a call with one argument that is not what it is said to be, of each kind, and that argument's name
    "gradient.clip": ((VECTOR.astype(int), 1.0), "tree"),
    "gradient.clipped_sum": (({"a": jnp.ones((2, 3)), "b": jnp.ones((3, 3))}, 1.0), "trees"),
    "linear.clipped_gradient": ((link, VECTOR, MATRIX, VECTOR, jnp.ones(2), 1.0), "targets"),
    "sampling.poisson": ((KEY, 4.5, 0.5, 4), "num_clients"),
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
