"""A choice by platform is that of the platform that a program is lowered for, and is made once."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bench.kernels.platforms import by_platform, only

traced: list[str] = []


def sine(x):
    traced.append("sine")
    return jnp.sin(x)


def cosine(x):
    traced.append("cosine")
    return jnp.cos(x)


def either(x):
    return by_platform(sine, cosine, x)


@pytest.mark.parametrize(("platform", "chosen", "other"), [("cpu", "sine", "cosine"), ("cuda", "cosine", "sine")])
def test_the_program_for_a_platform_has_its_own_branch_alone(platform, chosen, other):
    text = jax.jit(jax.vmap(either)).trace(jnp.ones(3)).lower(lowering_platforms=(platform,)).as_text()
    assert f"stablehlo.{chosen}" in text
    assert f"stablehlo.{other}" not in text


def test_here_it_is_the_branch_of_this_platform():
    right = np.sin if jax.default_backend() == "cpu" else np.cos
    np.testing.assert_allclose(jax.jit(either)(jnp.ones(3)), right(np.ones(3)), rtol=1e-6)


def test_within_a_branch_the_choice_is_made():
    traced.clear()
    nested = jax.jit(lambda x: by_platform(either, either, x))
    nested.trace(jnp.ones(3))
    assert sorted(traced) == ["cosine", "sine"]
    traced.clear()
    jax.make_jaxpr(only(either, on_cpu=False))(jnp.ones(3))
    assert traced == ["cosine"]


def test_a_branch_that_fails_leaves_no_choice_behind():
    def fails(x):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        only(fails, on_cpu=True)(jnp.ones(3))
    traced.clear()
    jax.make_jaxpr(lambda x: either(x))(jnp.ones(3))
    assert set(traced) == {"cosine", "sine"}
