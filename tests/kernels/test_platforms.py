"""A choice by platform is that of the platform that a program is made for."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bench.kernels.platforms import LARGE, by_platform, in_turn, made_for, over_clients


def either(x):
    return by_platform(jnp.sin, jnp.cos)(x)


def program_of(function, *args, platform="cpu"):
    """The text of the program that is made for a platform."""
    with made_for(platform):
        return jax.jit(function).trace(*args).lower(lowering_platforms=(platform,)).as_text()


def test_the_program_for_a_platform_has_its_own_branch_alone():
    for platform, chosen, other in (("cpu", "sine", "cosine"), ("cuda", "cosine", "sine"), ("cpu", "sine", "cosine")):
        text = program_of(jax.vmap(either), jnp.ones(3), platform=platform)
        assert f"stablehlo.{chosen}" in text
        assert f"stablehlo.{other}" not in text


def test_here_it_is_the_branch_of_this_platform_also_after_another_was_made():
    compiled = jax.jit(either)
    with made_for("cuda"):
        elsewhere = compiled(jnp.ones(3))
    right = np.sin if jax.default_backend() == "cpu" else np.cos
    np.testing.assert_allclose(compiled(jnp.ones(3)), right(np.ones(3)), rtol=1e-6)
    np.testing.assert_allclose(elsewhere, np.cos(np.ones(3)), rtol=1e-6)


def test_a_program_that_fails_leaves_no_choice_behind():
    with pytest.raises(ValueError, match="no"), made_for("cuda"):
        raise ValueError("no")
    test_here_it_is_the_branch_of_this_platform_also_after_another_was_made()


def test_in_turn_equals_together_and_vmaps_on_an_accelerator_alone():
    models, norms = jax.random.normal(jax.random.key(0), (3, 5)), jnp.array([0.1, 1.0])

    def one(model, norm):
        return jnp.outer(model, model) / (norm + model @ model)

    def all_of(function):
        return jax.vmap(jax.vmap(function, (0, None)), (None, 0))

    got, want = (jax.jit(all_of(function))(models, norms) for function in (in_turn(one), one))
    np.testing.assert_allclose(got, want, rtol=1e-6)
    assert "stablehlo.while" in program_of(all_of(in_turn(one)), models, norms)
    assert "stablehlo.while" not in program_of(all_of(in_turn(one)), models, norms, platform="cuda")


def slope(shared, inputs, target):
    """The gradient of one client, times a step size that all clients share."""
    model, step = shared
    grads = jax.grad(lambda w: jnp.sum((inputs @ w["a"] + w["b"] - target) ** 2))(model)
    return jax.tree.map(lambda g: step * g, grads)


def at(tree, *place):
    return jax.tree.map(lambda leaf: leaf[place], tree)


@pytest.mark.parametrize("size", [8, LARGE])
def test_the_gradients_of_clients_are_those_of_each(size):
    keys = jax.random.split(jax.random.key(1), 3)
    points = {"a": jax.random.normal(keys[0], (2, size)), "b": jnp.arange(2.0)}, jnp.array([0.1, 1.0])
    clients = jax.random.normal(keys[1], (3, 4, size)), jax.random.normal(keys[2], (3, 4))
    got = jax.jit(jax.vmap(lambda *point: over_clients(slope, point, *clients)))(*points)
    rounding = 1e-5 * math.sqrt(size)  # of float32 sums in another order
    for point in range(2):
        for client in range(3):
            want = slope(at(points, point), *at(clients, client))
            for name, leaf in at(got, point, client).items():
                np.testing.assert_allclose(leaf, want[name], rtol=1e-4, atol=rounding, err_msg=name)


@pytest.mark.parametrize(
    ("size", "platform", "loops"), [(8, "cpu", False), (LARGE, "cpu", True), (LARGE, "cuda", False)]
)
def test_clients_with_a_large_model_come_one_after_the_other_on_a_cpu_alone(size, platform, loops):
    model = {"a": jnp.ones(size), "b": jnp.zeros(())}
    clients = jnp.ones((3, 4, size)), jnp.ones((3, 4))
    text = program_of(lambda *args: over_clients(slope, (model, 1.0), *args), *clients, platform=platform)
    assert ("stablehlo.while" in text) == loops
