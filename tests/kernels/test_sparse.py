"""Sparse rows: products against dense ones, on both ways that they may take; PPSGD on them in both forms."""

import math
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_tags import tiny

from bench.algorithms import ALGORITHMS
from bench.kernels import messages, sparse


def rows(rng, shape=(3, 4), entries=5, num_features=9):
    """Random rows, some features twice in a row, and the array that they stand for."""
    index = rng.integers(0, num_features, (*shape, entries))
    value = rng.standard_normal((*shape, entries)) * (rng.random((*shape, entries)) < 0.8)
    flat, dense = index.reshape(-1, entries), np.zeros((math.prod(shape), num_features))
    for row, (at, values) in enumerate(zip(flat, value.reshape(-1, entries), strict=True)):
        np.add.at(dense[row], at, values)
    return sparse.Rows(jnp.asarray(index, jnp.int32), jnp.asarray(value, jnp.float32), num_features), dense


@cache
def products(room: int):
    """Both products, compiled with room for so many words."""

    @jax.jit
    def both(x, w, coefficients):
        return sparse.product(x, w), sparse.transposed_product(x, coefficients), sparse.densify(x)

    def compiled(*args):
        before, sparse.DISTINCT = sparse.DISTINCT, room
        try:
            return both(*args)
        finally:
            sparse.DISTINCT = before

    return compiled


@pytest.mark.parametrize("room", [100, 6, 2])  # all words fit; some minibatches have too many; all have
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_products_are_those_of_the_dense_array(room, seed):
    rng = np.random.default_rng(seed)
    x, dense = rows(rng)
    w, coefficients = rng.standard_normal((9, 2)), rng.standard_normal((3, 4, 2))
    product, transposed, written_out = products(room)(x, np.float32(w), np.float32(coefficients))
    np.testing.assert_allclose(written_out.reshape(-1, 9), dense, atol=1e-6)
    np.testing.assert_allclose(product.reshape(-1, 2), dense @ w, atol=1e-5)
    np.testing.assert_allclose(transposed, dense.T @ coefficients.reshape(-1, 2), atol=1e-5)


def test_the_longer_way_is_taken_only_where_words_are_too_many(monkeypatch):
    """Words in use are counted, not entries: the same word twice takes no more room."""
    monkeypatch.setattr(sparse, "DISTINCT", 3)
    monkeypatch.setattr(sparse, "FEW", 0)
    taken = jax.jit(
        lambda x: sparse._by_words_or_entries(x, lambda words, place, small: jnp.sum(words >= 9), lambda: jnp.array(-1))
    )
    for used, expected in (([0, 1, 2, 2, 1], 0), ([4, 4, 4, 4, 4], 2), ([0, 1, 2, 3, 3], -1)):
        x = sparse.Rows(jnp.asarray([used], jnp.int32), jnp.ones((1, 5)), 9)
        assert taken(x) == expected


def test_the_clipped_sum_of_sparse_inputs_is_that_of_dense_ones():
    rng = np.random.default_rng(0)
    x, dense = rows(rng)
    dense = jnp.asarray(dense.reshape(3, 4, 9), jnp.float32)
    residuals = jnp.asarray(rng.standard_normal((3, 4, 2)), jnp.float32)
    gram = jnp.einsum("qid,qjd->qij", dense, dense)
    for clip_norm in (0.5, 2.0, math.inf):
        of_sparse, of_dense = (messages.linear(inputs, residuals, gram) for inputs in (x, dense))
        np.testing.assert_allclose(of_sparse.clipped_sum(clip_norm).T, of_dense.clipped_sum(clip_norm), atol=1e-5)
        np.testing.assert_allclose(of_sparse.norms, of_dense.norms)
        assert (clip_norm == math.inf) or np.max(of_dense.norms) > clip_norm


@pytest.mark.slow
@pytest.mark.parametrize("sampler", ["poisson", "all"])
def test_dual_and_dense_ppsgd_agree_on_tags(sampler):
    """Both forms on the same draws: the same shared model, the same local models, the same accuracy."""
    task = tiny()
    args = {
        "num_sampled": task.num_clients if sampler == "all" else 3,
        "batch_size": 4,
        "sampler": sampler,
        "num_epochs": 2,
        "step_size": 3.0,
        "personalization": 2.0,
        "clip_norm": 0.02,
        "noise_multiplier": 0.5,
    }
    ends = {}
    for form in ("dense", "dual"):
        algorithm = ALGORITHMS["ppsgd"].make(task, local=form, **args)
        state = algorithm.init(jax.random.key(0))
        one_round = jax.jit(algorithm.round)
        for t in range(5):
            state, info = one_round(jax.random.key(t), state)
        assert 0 < info["clipped"] <= 1
        ends[form] = algorithm.params(state)
    np.testing.assert_allclose(ends["dual"].w, ends["dense"].w, rtol=1e-4, atol=1e-5)
    stored = sparse.densify(task.train[0])
    theta = jnp.einsum("njd,njk->ndk", stored, ends["dual"].coefficients)
    np.testing.assert_allclose(theta, ends["dense"].theta, rtol=1e-4, atol=1e-5)
    assert float(jnp.max(jnp.abs(theta))) > 1e-3
    scores = [task.metrics(params, task) for params in ends.values()]
    assert scores[0] == scores[1]
