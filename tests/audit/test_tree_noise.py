"""Noise that is correlated between rounds: DP-FTRL (Kairouz et al. 2021), in which the model follows prefix sums of
clipped gradients and the noise of a prefix is that of the nodes of a binary tree.
"""

import math

import jax
import jax.numpy as jnp
import pytest
from scipy import stats

from bench import Algorithm, Method, Scalar, State
from bench.audit import audit
from bench.audit.commands import text_of
from bench.kernels.gradient import clip
from bench.privacy.events import full_gaussian

LEVELS = 4  # of the tree, at most


def ftrl(
    task, *, step_size: Scalar, clip_norm: Scalar, noise_multiplier: Scalar, takes_part: str = "once"
) -> Algorithm:
    """One user a round, in order; or everybody in every round."""

    def noise(key, t, shape):
        """Of the first t gradients: from the nodes that make up t in binary."""

        def of_level(level):
            node = jax.random.normal(jax.random.fold_in(jax.random.fold_in(key, level), t >> level), shape)
            return ((t >> level) & 1).astype(jnp.float32) * node

        return noise_multiplier * clip_norm * jax.vmap(of_level)(jnp.arange(LEVELS)).sum(0)

    def params(state):
        tree, total, t = state.variables
        return task.init_params - step_size * (total + noise(tree, t, total.shape))

    def one_round(key, state):
        tree, total, t = state.variables
        w = params(state)

        def message(examples):
            each = jax.vmap(lambda one: jax.grad(task.loss)(w, 0 * w, one))(examples)
            return clip(each.mean(0), clip_norm)

        messages = jax.vmap(message)(task.train)
        new = messages.sum(0) if takes_part == "always" else messages[t % task.num_clients]
        return State((), (tree, total + new, t + 1)), {}

    start = jnp.zeros_like(task.init_params), jnp.int32(0)
    return Algorithm(lambda key: State((), (key, *start)), one_round, params)


def method(noise_is: float) -> Method:
    """It adds so much of the noise that it declares."""

    def releases(task, *, delta, noise_multiplier, takes_part, **_):
        def event(rounds):
            # A leaf is in one node of every level. In 2^h rounds the nodes of a level hold 2^h leaves, 2^l in each.
            height = rounds.bit_length()
            assert rounds <= task.num_clients
            moved = sum(2**level * rounds for level in range(height)) if takes_part == "always" else height
            return full_gaussian(noise_multiplier / noise_is / math.sqrt(moved), delta=delta).event(1)

        return full_gaussian(noise_multiplier, delta=delta)._replace(event=event)

    return Method(ftrl, releases, version=1)


@pytest.mark.parametrize("takes_part", ["once", pytest.param("always", marks=pytest.mark.slow)])
def test_a_tree_of_half_the_height_is_refuted_and_one_of_the_whole_is_not(takes_part):
    """Half of the height is noise too small by the square root of 2."""
    args = {"takes_part": takes_part, "step_size": 1.0}
    right = audit(method(1.0), args=args, canaries=0)
    assert not right.refuted, text_of(right)
    assert right.findings[0].epsilon == pytest.approx(3, rel=2e-3)
    wrong = audit(method(0.5**0.5), args=args, canaries=0)
    assert wrong.findings[0].epsilon == pytest.approx(3, rel=2e-3)
    assert wrong.refuted, text_of(wrong)


@pytest.mark.slow
def test_what_it_would_have_found_is_found():
    """The power that is printed is that of an audit of a method whose noise is too small by that factor."""
    args = {"takes_part": "once"}
    found = audit(method(1.0), args=args, runs=9000, canaries=0, power=True)
    (finding,) = found.findings
    assert 1 < finding.detected <= 2**0.5
    assert f"noise that is too small by {finding.detected:.3g} (paper)" in text_of(found)
    assert audit(method(1 / finding.detected / 1.1), args=args, runs=9000, canaries=0).refuted
    few = audit(method(1.0), args=args, epsilon=0.2, runs=300, canaries=0, power=True)
    assert few.findings[0].detected == math.inf
    assert text_of(few).startswith("inconclusive: nothing contradicts epsilon ")
    assert few.findings[0].needed > 300
    assert "--runs" in text_of(few).splitlines()[0]


@pytest.mark.slow
def test_a_method_that_spends_all_it_declares_is_refuted_no_oftener_than_the_confidence_says():
    """The noise of a whole tree, which hides a canary of the first round exactly as well as is declared."""
    tries, confidence = 60, 0.8
    refuted = [
        audit(method(1.0), runs=1500, confidence=confidence, seed=10 * seed, canaries=0).refuted
        for seed in range(tries)
    ]
    assert sum(refuted) <= stats.binom.isf(1e-4, tries, 1 - confidence)
    assert audit(method(0.5), runs=1500, confidence=confidence, canaries=0).refuted
