"""Linear models: links against JAX's own derivatives, and gradients clipped without being formed."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.kernels.linear import clipped_gradient
from bench.models.additive import Additive
from bench.models.linear import (
    Personal,
    hinge,
    hinge_loss,
    logistic,
    logistic_loss,
    personal,
    squared,
    squared_loss,
)

LINKS = {logistic: logistic_loss, squared: squared_loss, hinge: hinge_loss}
M, P = 7, 4


def examples(seed=0, scale=3.0):
    rng = np.random.default_rng(seed)
    inputs = scale * rng.standard_normal((M, P)).astype(np.float32)
    labels = rng.choice([-1, 1], M).astype(np.float32)
    return inputs, labels, rng.standard_normal(P).astype(np.float32), rng.random(M).astype(np.float32)


# ---- Links ----


def plain_logistic(score, label):
    return jax.nn.softplus(-label * score)


@pytest.mark.parametrize("times", [0, 1, 2])
@pytest.mark.parametrize("argument", [0, 1])
def test_derivatives_of_the_logistic_loss_are_those_of_softplus(times, argument):
    """The closed form takes the place of what JAX would derive; in the label too, and once more."""
    ours, theirs, tolerance = logistic, plain_logistic, 1e-6 * 20**times  # of sums that the scores, up to 20, multiply
    for _ in range(times):
        ours, theirs = jax.grad(ours, argument), jax.grad(theirs, argument)
    scores = np.linspace(-20, 20, 81).astype(np.float32)
    for label in (np.float32(-1), np.float32(1)):
        labels = np.full_like(scores, label)
        np.testing.assert_allclose(
            jax.vmap(ours)(scores, labels), jax.vmap(theirs)(scores, labels), rtol=1e-5, atol=tolerance
        )


def test_derivatives_of_the_logistic_loss_go_forward_and_mixed():
    at, towards = (jnp.float32(0.7), jnp.float32(-1)), (jnp.float32(0.3), jnp.float32(-2.0))
    pushed = [np.array(jax.jvp(link, at, towards)) for link in (logistic, plain_logistic)]
    np.testing.assert_allclose(*pushed, rtol=1e-6)
    mixed = [jax.grad(jax.grad(link, 0), 1)(*at) for link in (logistic, plain_logistic)]
    assert float(mixed[0]) == pytest.approx(float(mixed[1]), rel=1e-5)


@pytest.mark.parametrize("score", [-1e4, 1e4])
def test_the_logistic_loss_of_a_large_score_is_finite_with_its_derivatives(score):
    at = jnp.float32(score), jnp.float32(1)
    loss, slope = jax.value_and_grad(logistic)(*at)
    assert float(loss) == max(-score, 0)
    assert float(slope) == (-1 if score < 0 else 0)
    assert float(jax.grad(jax.grad(logistic))(*at)) == 0


def test_links_bound_what_they_promise():
    scores = jnp.linspace(-30, 30, 1001)
    ones = jnp.ones_like(scores)
    for link in (logistic, hinge):
        assert jnp.abs(jax.vmap(jax.grad(link))(scores, ones)).max() <= 1
    curvature = jax.vmap(jax.grad(jax.grad(logistic)))(scores, ones)
    assert float(curvature.max()) == pytest.approx(0.25)
    assert curvature.min() >= 0


@pytest.mark.parametrize("link", LINKS)
def test_a_loss_is_its_link_at_the_score_of_both_models_together(link):
    inputs, labels, model, _ = examples()
    for x, y in zip(inputs, labels, strict=True):
        found = LINKS[link](0.3 * model, 0.7 * model, (x, y))
        assert float(found) == pytest.approx(float(link(x @ model, y)), rel=1e-4, abs=1e-6)


def test_what_each_client_predicts_with_comes_from_any_kind_of_params():
    w, theta = jnp.arange(3.0), jnp.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(personal(w, 2), [w, w])
    np.testing.assert_array_equal(personal(theta, 2), theta)
    np.testing.assert_array_equal(personal(Personal(theta, jnp.ones(())), 2), theta)
    np.testing.assert_array_equal(personal(Additive(w, theta), 2), w[None] + theta)
    np.testing.assert_array_equal(personal(Additive(w, None), 2), [w, w])


# ---- Clipped gradients ----


def clipped(link, model, inputs, targets, weight, clip_norm, order):
    """`clipped_gradient` of arrays that are numpy's."""
    return clipped_gradient(link, *map(jnp.asarray, (model, inputs, targets, weight)), clip_norm, order)


def explicit(link, model, inputs, labels, weight, clip_norm, order):
    """One gradient an example, clipped by its definition, summed in float64."""
    loss = LINKS[link]
    zero = jnp.zeros_like(model)
    gradients = jax.vmap(lambda x, y: jax.grad(loss)(jnp.asarray(model), zero, (x, y)))(inputs, labels)
    gradients = np.asarray(gradients, float)
    norms = np.linalg.norm(gradients, order, axis=1)
    factor = np.minimum(1, clip_norm / np.maximum(norms, 1e-30))
    return (weight * factor) @ gradients, norms


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("quantile", [0.0, 0.5, 2.0, np.inf])
def test_clipped_gradients_are_those_of_one_gradient_an_example(link, order, quantile):
    inputs, labels, model, weight = examples(seed=4)
    _, norms = explicit(link, model, inputs, labels, weight, np.inf, order)
    clip_norm = max(quantile * float(np.median(norms[norms > 0])), 1e-3) if np.isfinite(quantile) else np.inf
    if quantile == 0.5:
        assert (norms > clip_norm).any()
    expected, _ = explicit(link, model, inputs, labels, weight, clip_norm, order)
    found = clipped(link, model, inputs, labels, weight, clip_norm, order)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


def test_examples_of_weight_0_and_zeros_add_nothing_and_are_finite():
    inputs, labels, model, weight = examples()
    weight[-2:] = 0
    for clip_norm in (0.3, np.inf):
        short = clipped(logistic, model, inputs[:-2], labels[:-2], weight[:-2], clip_norm, 1)
        np.testing.assert_allclose(
            clipped(logistic, model, inputs, labels, weight, clip_norm, 1), short, rtol=1e-5, atol=1e-7
        )
        nothing = clipped(logistic, model, 0 * inputs, labels, weight, clip_norm, 1)
        np.testing.assert_array_equal(nothing, 0)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    order=st.sampled_from([1, 2]),
    clip_norm=st.floats(0.01, 100),
    link=st.sampled_from(list(LINKS)),
    scale=st.floats(0.1, 1000),
)
def test_one_example_moves_a_clipped_gradient_by_twice_its_share_of_the_norm(seed, order, clip_norm, link, scale):
    inputs, labels, model, _ = examples(seed, scale)
    others, other_labels, *_ = examples(seed + 1, scale)
    weight = np.full(M, 1 / M, np.float32)
    before = clipped(link, model, inputs, labels, weight, clip_norm, order)
    inputs[3], labels[3] = others[3], other_labels[3]
    after = clipped(link, model, inputs, labels, weight, clip_norm, order)
    assert np.linalg.norm(np.subtract(after, before), order) <= 2 * clip_norm / M * (1 + 1e-5)


@pytest.mark.parametrize("order", [1, 2])
def test_that_much_is_reached(order):
    """So the noise could not be any smaller: one example replaced by its opposite, both beyond the threshold."""
    inputs, _, model, _ = examples(scale=100.0)
    weight, targets = np.full(M, 1 / M, np.float32), np.zeros(M, np.float32)
    targets[3] = 1e6
    before = clipped(squared, model, inputs, targets, weight, 1.0, order)
    targets[3] = -1e6
    after = clipped(squared, model, inputs, targets, weight, 1.0, order)
    assert np.linalg.norm(np.subtract(after, before), order) == pytest.approx(2 / M, rel=1e-4)
