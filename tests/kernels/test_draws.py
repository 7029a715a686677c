"""Noise: the places of `jax.random`, the right distribution out to the last bit, and nothing private without it."""

import ast
import re
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats

import bench
from bench.kernels import draws

SHAPE = (400, 1000)
NOT_PRIVATE = {  # modules that draw normal numbers which hide nothing
    "kernels/draws.py",
    "kernels/smoothing.py",  # directions in which a loss is smoothed
    "models/digits_cnn.py",  # initial weights
}


def exact(bits: int, more: int) -> tuple[float, float]:
    """The sign and q of one number in float64, from its bits as whole numbers."""
    lower = bits < 1 << 31
    place = bits if lower else (1 << 32) - 1 - bits
    return (-1.0 if lower else 1.0), (place + ((more >> 1) + 0.5) * 2.0**-31) * 2.0**-31


@pytest.mark.parametrize("bits", [0, 1, 2, 3, 511, 2**20, 2**31 - 1, 2**31, 2**32 - 2**20, 2**32 - 2, 2**32 - 1])
@pytest.mark.parametrize("more", [0, 2**16, 2**31, 2**32 - 1])
def test_every_number_is_the_quantile_of_its_bits(bits, more):
    sign, q = exact(bits, more)
    found = draws._sign_and_tail_of_bits(jnp.asarray([bits], jnp.uint32), jnp.asarray([more], jnp.uint32))
    np.testing.assert_allclose(found[1], q, rtol=1e-6)
    z = -sign * special.ndtri_exp(np.log(q / 2))
    np.testing.assert_allclose(draws._normal(*found), z, rtol=1e-6, atol=2e-7)


def test_the_ends_are_those_that_the_page_names():
    for bits, sign in ((0, -1), (2**32 - 1, 1)):
        end = draws._normal(
            *draws._sign_and_tail_of_bits(jnp.asarray([bits], jnp.uint32), jnp.asarray([0], jnp.uint32))
        )
        assert 9.0 < sign * float(end[0]) < 9.1
    sign, q = draws._sign_and_tail_of_bits(jnp.asarray([0], jnp.uint32), jnp.asarray([0], jnp.uint32))
    assert 43 < float(sign[0] * jnp.log(q[0])) < 44


@pytest.mark.parametrize("ours", [draws.normal, draws.laplace])
def test_they_have_the_places_of_those_of_jax(ours):
    """Only the coarseness of the latter lies between them, so that results of one are results of the other."""
    key, of_jax = jax.random.key(1), getattr(jax.random, ours.__name__)
    mine, theirs = (np.asarray(draw(key, SHAPE), float) for draw in (ours, of_jax))
    cell = 2.0**-22  # of the probability, in the arithmetic of jax
    spread = np.abs(theirs) + 1
    near = np.abs(theirs) < 3
    np.testing.assert_allclose(mine[near], theirs[near], atol=3e-5)
    assert np.abs(mine - theirs).mean() < 1e-5
    law = stats.norm if ours is draws.normal else stats.laplace
    np.testing.assert_allclose(law.cdf(mine), law.cdf(theirs), atol=2 * cell)
    assert np.all(np.abs(mine - theirs) < 0.5 * spread)


@pytest.mark.parametrize(("ours", "law"), [(draws.normal, stats.norm), (draws.laplace, stats.laplace)])
def test_the_distribution_is_the_one_that_is_named(ours, law):
    numbers = np.asarray(ours(jax.random.key(2), (4_000_000,)), float)
    assert stats.kstest(numbers[:200_000], law.cdf).pvalue > 1e-4
    for end in (3.0, 4.0, 4.5):
        for tail in (numbers > end, numbers < -end):
            expected = law.sf(end) * len(numbers)
            assert stats.binomtest(int(tail.sum()), len(numbers), law.sf(end)).pvalue > 1e-4, (end, expected)


def test_numbers_whose_own_bits_are_used_up_differ():
    """One array of numbers in the outermost place: their q fills the place, and no two agree."""
    bits, places = jnp.zeros(4000, jnp.uint32), jnp.arange(4000, dtype=jnp.uint32)
    more = draws._more_bits(jax.random.bits(jax.random.key(5), (), jnp.uint32), bits, places)
    q = np.asarray(draws._sign_and_tail_of_bits(bits, more)[1], float) * 2.0**31
    assert stats.kstest(q, "uniform").pvalue > 1e-4
    assert len(set(q)) > 3990
    other = draws._more_bits(jax.random.bits(jax.random.key(6), (), jnp.uint32), bits, places)
    assert abs(np.corrcoef(np.asarray(more, float), np.asarray(other, float))[0, 1]) < 0.1


def test_shapes_types_and_keys():
    key = jax.random.key(0)
    assert jax.eval_shape(draws.normal, key).shape == ()
    assert jax.eval_shape(lambda: draws.normal(key, (2, 3), jnp.bfloat16)).dtype == jnp.bfloat16
    keys, five = jax.random.split(key, 3), partial(draws.normal, shape=(5,))
    together, alone = jax.jit(jax.vmap(five))(keys), np.stack(list(map(jax.jit(five), keys)))
    np.testing.assert_allclose(together, alone, rtol=1e-5)
    assert not np.any(alone[0] == alone[1])


def test_no_noise_of_the_suite_is_drawn_elsewhere():
    root = Path(bench.__file__).parent
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        if name in NOT_PRIVATE or name.startswith("data/"):
            continue
        if short := _short_tails(path.read_text()):
            pytest.fail(f"{name} draws its noise with {short[0]}, whose tail is cut off")


def _short_tails(code: str) -> list[str]:
    """What draws normal or Laplace numbers by JAX itself, under whatever name the module was imported."""
    found = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Attribute) and node.attr in ("normal", "laplace"):
            found += [name for name in [ast.unparse(node)] if re.search(r"\brandom\.\w+$", name)]
        if isinstance(node, ast.ImportFrom) and node.module == "jax.random":
            found += [f"jax.random.{name.name}" for name in node.names if name.name in ("normal", "laplace", "*")]
    return found


@pytest.mark.parametrize(
    "code",
    [
        "jax.random.normal(key)",
        "from jax import random\nrandom.laplace(key)",
        "from jax.random import normal\nnormal(key)",
        "__import__('jax').random.normal(key)",
    ],
)
def test_it_would_be_found(code):
    assert _short_tails(code)
    assert not _short_tails(code.replace("normal", "bits").replace("laplace", "bits"))
