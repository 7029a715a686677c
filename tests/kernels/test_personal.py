"""Local models: both ways to keep them against explicit gradients, and each other."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.kernels import personal
from bench.models.additive import Additive, scores, squared_loss

CLIENTS, CAPACITY, D, K = 5, 4, 6, 3  # fewer examples than features, as where the dual form is used
SAMPLED, BATCH = 3, 2
CLIP_NORM = 1.0


def problem(seed):
    """Stored examples, w, a batch of three clients with padding, and coefficients of the local models."""
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((CLIENTS, CAPACITY, D)), rng.standard_normal((CLIENTS, CAPACITY, K))
    clients = rng.permutation(CLIENTS)[:SAMPLED]
    rows = np.stack([rng.permutation(CAPACITY)[:BATCH] for _ in range(SAMPLED)])
    weight = rng.uniform(0.2, 1.5, (SAMPLED, BATCH)) * [[1, 1], [1, 0], [0, 0]]  # the last does not take part
    w, coefficients = rng.standard_normal((K, D)), rng.standard_normal((CLIENTS, CAPACITY, K))
    x, y, w, coefficients, weight = (jnp.asarray(a, jnp.float32) for a in (x, y, w, coefficients, weight))
    examples = (x[clients[:, None], rows], y[clients[:, None], rows])
    return x, y, w, coefficients, personal.Batch(jnp.asarray(clients), jnp.asarray(rows), examples, weight)


def gradient_of_client(w, theta, batch, place):
    """sum_k weight_k (prediction_k - y_k) x_k^T, one example after the other, in float64."""
    total = np.zeros((K, D))
    for k in range(BATCH):
        x, y = (np.asarray(leaf[place, k], float) for leaf in batch.examples)
        total += float(batch.weight[place, k]) * np.outer((np.asarray(w, float) + theta) @ x - y, x)
    return total


def summed(messages):
    return messages.clipped_sum(CLIP_NORM), messages.norms


@jax.jit
def dense_round(local, w, batch):
    form = personal.dense(squared_loss, jnp.zeros((K, D)), CLIENTS)
    grads = form.gradients(w, local, batch)
    return form.move(local, batch, grads, 0.3), summed(form.messages(batch, grads))


@jax.jit
def dual_round(local, w, batch, x):
    form = personal.dual(jnp.einsum("nid,njd->nij", x, x), K)
    grads = form.gradients(w, local, batch)
    return form.move(local, batch, grads, 0.3), summed(form.messages(batch, grads))


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-4 * max(1.0, float(np.max(np.abs(b)))))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_both_forms_are_the_explicit_gradients_of_every_client(seed):
    """One round from arbitrary local models: moved models, clipped sum and norms; others stay where they are."""
    x, _, w, coefficients, batch = problem(seed)
    theta = np.einsum("njk,njd->nkd", np.asarray(coefficients, float), np.asarray(x, float))
    expected, total, norms = theta.copy(), np.zeros((K, D)), []
    for place, client in enumerate(np.asarray(batch.clients)):
        g = gradient_of_client(w, theta[client], batch, place)
        expected[client] -= 0.3 * g
        norms.append(np.linalg.norm(g))
        total += g / max(1.0, norms[-1] / CLIP_NORM)
    before = jnp.asarray(theta, jnp.float32)
    local, (dense_sum, dense_norms) = dense_round(before, w, batch)
    coefficients_after, (dual_sum, dual_norms) = dual_round(coefficients, w, batch, x)
    idle = np.setdiff1d(np.arange(CLIENTS), batch.clients[:2])  # not drawn, or of weight 0
    np.testing.assert_array_equal(local[idle], before[idle])
    np.testing.assert_array_equal(coefficients_after[idle], coefficients[idle])
    close(local, expected)
    close(np.einsum("njk,njd->nkd", coefficients_after, x), expected)
    for ours in (dense_sum, dual_sum):
        close(ours, total)
    for ours in (dense_norms, dual_norms):
        close(ours, norms)


def test_dense_differentiates_any_loss_over_any_pytree():
    """A nonlinear loss whose shared and local parts have different shapes, against differences of its values."""

    def loss(w, theta, example):
        x, y = example
        return jnp.sin(jnp.tanh(w["in"] @ x) @ theta["out"] - y) + jnp.sum(w["bias"] * theta["out"])

    rng = np.random.default_rng(0)
    w = {"in": jnp.asarray(rng.standard_normal((2, D)), jnp.float32), "bias": jnp.ones(2)}
    theta = {"out": jnp.asarray(rng.standard_normal((CLIENTS, 2)), jnp.float32)}
    x, y = (jnp.asarray(rng.standard_normal(shape), jnp.float32) for shape in ((2, BATCH, D), (2, BATCH)))
    clients, weight = jnp.array([3, 1]), jnp.array([[0.5, 0.5], [1.0, 0.0]])
    form = personal.dense(loss, {"out": jnp.zeros(2)}, CLIENTS)
    batch = personal.Batch(clients, None, (x, y), weight)
    grads = jax.jit(form.gradients)(w, theta, batch)
    for place, client in enumerate((3, 1)):

        @jax.jit
        def total(w, out, place=place):
            return sum(weight[place, k] * loss(w, {"out": out}, (x[place, k], y[place, k])) for k in range(BATCH))

        out = theta["out"][client]
        for direction in range(2):
            step = 1e-2 * jnp.eye(2)[direction]
            slope = (total(w, out + step) - total(w, out - step)) / 2e-2
            assert float(grads[1]["out"][place, direction]) == pytest.approx(float(slope), abs=2e-3)
            up, down = (w | {"bias": w["bias"] + sign * step} for sign in (1, -1))
            slope = (total(up, out) - total(down, out)) / 2e-2
            assert float(grads[0]["bias"][place, direction]) == pytest.approx(float(slope), abs=2e-3)
    norms = form.messages(batch, grads).norms
    joint = np.sqrt(np.sum(np.square(grads[0]["in"]), (1, 2)) + np.sum(np.square(grads[0]["bias"]), 1))
    close(norms, joint)  # one norm over all shared leaves, none of the local ones


def test_predictions_are_those_of_w_plus_theta_in_every_form():
    x, _, w, coefficients, _ = problem(2)
    theta = np.einsum("njk,njd->nkd", coefficients, x)
    inputs = jnp.asarray(np.random.default_rng(3).standard_normal((CLIENTS, 7, D)), jnp.float32)
    expected = [[(np.asarray(w) + theta[i]) @ np.asarray(inputs[i, j]) for j in range(7)] for i in range(CLIENTS)]
    close(scores(Additive(w, theta=jnp.asarray(theta)), inputs, x), expected)
    close(scores(Additive(w, coefficients=coefficients), inputs, x), expected)
    alone = np.einsum("kd,nmd->nmk", w, inputs)
    close(scores(Additive(w), inputs, x), alone)
    close(scores(w, inputs, x), alone)
    close(scores(Additive(w[0], theta=jnp.asarray(theta[:, 0])), inputs, x), np.asarray(expected)[..., 0])
