"""Norms and weighted sums of users' gradients: the two forms agree, on dense and sparse inputs and on real draws."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiny_ppsgd import stored_task

from bench.algorithms.parts.user_changes import user_gradients
from bench.errors import InputError
from bench.kernels import local_steps
from bench.kernels.gradient import clip
from bench.kernels.personal import Batch
from bench.kernels.sparse import Rows, densify
from bench.models.additive import sparse_squared_loss, squared_loss

USERS, STORED, FEATURES, OUTPUTS = 5, 6, 7, 3
PLACES = jnp.array([[0, 2], [5, 1], [3, 4]])  # of the stored examples of the sampled users
CLIENTS = jnp.array([4, 0, 2])
WEIGHT = jnp.array([[0.5, 0.5], [1.0, 0.0], [0.0, 0.0]])  # a mean, one example and padding, nobody


def normal(seed: int, *shape: int):
    return jax.random.normal(jax.random.key(seed), shape)


X, Y = normal(0, USERS, STORED, FEATURES), normal(1, USERS, STORED, OUTPUTS)
GRAM = jnp.einsum("nid,njd->nij", X, X, precision="highest")
W = normal(2, OUTPUTS, FEATURES)
BATCH = Batch(CLIENTS, PLACES, (X[CLIENTS[:, None], PLACES], Y[CLIENTS[:, None], PLACES]), WEIGHT)


def plain() -> np.ndarray:
    """The gradients, one after the other."""
    x, y, weight = (np.asarray(leaf, float) for leaf in (*BATCH.examples, WEIGHT))
    return np.einsum("qm,qmk,qmd->qkd", weight, x @ np.asarray(W).T - y, x)


ONE = local_steps.LocalSteps(1.0, 1)
FORMS = {
    "dense": lambda: local_steps.dense(squared_loss, jnp.zeros_like(W), ONE, W, BATCH),
    "dual": lambda: local_steps.dual(GRAM, ONE, W, BATCH),
}


@pytest.mark.parametrize("form", FORMS)
def test_norms_and_sums_are_those_of_the_gradients(form):
    found, expected = FORMS[form](), plain()
    norms = np.linalg.norm(expected, axis=(1, 2))
    np.testing.assert_allclose(found.norms, norms, rtol=2e-4, atol=1e-6)
    assert (np.asarray(found.norms) >= norms * (1 - 1e-6)).all()  # too small a norm would leave a gradient too long
    factors = jnp.array([2.0, -1.0, 3.0])
    np.testing.assert_allclose(found.weighted_sum(factors), np.einsum("q,qkd->kd", factors, expected), rtol=1e-4)
    clipped = sum(np.asarray(clip(jnp.asarray(g, jnp.float32), 1.5)) for g in expected)
    np.testing.assert_allclose(found.clipped_sum(1.5), clipped, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(found.clipped_sum(jnp.inf), expected.sum(0), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_a_clipped_sum_moves_by_at_most_c_without_a_user(form):
    """The sensitivity that `noisy_sums` declares, for users with gradients far above C."""
    whole = FORMS[form]()
    for user in range(2):
        alone = whole.weighted_sum(jnp.zeros(3).at[user].set(0.01 / whole.norms[user]))
        assert float(jnp.linalg.norm(alone)) <= 0.01 * (1 + 1e-5)
        rest = jnp.where(jnp.arange(3) == user, 0.0, jnp.minimum(1.0, 0.01 / whole.norms))
        moved = whole.clipped_sum(0.01) - whole.weighted_sum(jnp.nan_to_num(rest))
        assert float(jnp.linalg.norm(moved)) <= 0.01 * (1 + 1e-5)


def test_sparse_inputs_give_what_dense_ones_give():
    rng = np.random.default_rng(3)
    places = np.stack([rng.permutation(FEATURES)[:3] for _ in range(USERS * STORED)]).reshape(USERS, STORED, 3)
    rows = Rows(jnp.asarray(places, jnp.int32), normal(4, USERS, STORED, 3), num_features=FEATURES)
    x = densify(rows)
    here = jax.tree.map(lambda leaf: leaf[CLIENTS[:, None], PLACES], rows)
    batch = BATCH._replace(examples=(here, BATCH.examples[1]))
    gram = jnp.einsum("nid,njd->nij", x, x, precision="highest")
    sparse = local_steps.dual(gram, ONE, W.T, batch)
    dense = local_steps.dual(gram, ONE, W, BATCH._replace(examples=(densify(here), BATCH.examples[1])))
    loss = local_steps.dense(sparse_squared_loss, jnp.zeros_like(W.T), ONE, W.T, batch)
    of_sparse, of_dense, of_loss = jax.jit(lambda: [each.clipped_sum(1.0) for each in (sparse, dense, loss)])()
    for other in (of_dense.T, of_loss):
        np.testing.assert_allclose(of_sparse, other, rtol=1e-3, atol=1e-5)


def test_local_models_of_another_shape_are_held_at_0():
    """A loss of w and a number b_i beside it: at b_i = 0 the gradient in w is that of w alone."""
    task = dataclasses.replace(
        stored_task(),
        gram=None,
        init_local=jnp.ones(()),
        loss=lambda w, b, e: squared_loss(w, jnp.zeros_like(w) + b, e),
    )
    w = normal(5, *task.init_params.shape)
    batch = Batch(jnp.arange(2), None, jax.tree.map(lambda leaf: leaf[:2, :3], task.train), jnp.ones((2, 3)))
    plainly = local_steps.dense(squared_loss, jnp.zeros_like(w), ONE, w, batch)
    np.testing.assert_allclose(user_gradients(task, w, batch).norms, plainly.norms, rtol=1e-6)


def test_a_task_without_a_loss_is_refused():
    task = dataclasses.replace(stored_task(), gram=None, loss=None)
    with pytest.raises(InputError, match="has no loss of single examples"):
        user_gradients(task, task.init_params, BATCH)


@pytest.mark.parametrize("has_gram", [True, False])
def test_a_task_chooses_the_form(has_gram, monkeypatch):
    asked, task = [], stored_task()
    for name in FORMS:
        monkeypatch.setattr(local_steps, name, lambda *args, name=name: asked.append(name))
    user_gradients(task if has_gram else dataclasses.replace(task, gram=None), task.init_params, BATCH)
    assert asked == ["dual" if has_gram else "dense"]
