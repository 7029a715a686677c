"""The scores of MovieLens' task and the objective of its users, against loops and a dense linear solution."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import linalg
from tiny_ratings import SMALL, USERS

from bench.data.tasks.movielens import movielens
from bench.kernels.graph import confidence
from bench.models.linear import Personal

pytestmark = pytest.mark.usefixtures("here")


@jax.jit
def scores(params, task):
    return task.metrics(params, task)


def test_scores_are_those_of_loops_over_users():
    task = movielens(0, **SMALL)
    models = np.random.default_rng(0).standard_normal((USERS, 3)).astype(np.float32)
    found = scores(Personal(jnp.asarray(models), jnp.asarray(0.04)), task)
    inputs, targets, sizes = (np.asarray(leaf) for leaf in task.evaluation["test"])
    errors, plain = [], []
    for user in range(USERS):
        x, y = inputs[user, : sizes[user]], targets[user, : sizes[user]]
        errors.append(np.sqrt(np.mean((x @ models[user] - y) ** 2)))
        plain.append(np.sqrt(np.mean(y**2)))
    assert float(found["test_rmse"]) == pytest.approx(np.mean(errors), rel=1e-5)
    assert float(found["user_mean_rmse"]) == pytest.approx(np.mean(plain), rel=1e-5)
    assert float(scores(task.init_params, task)["test_rmse"]) == pytest.approx(np.mean(plain), rel=1e-5)

    inputs, targets = (np.asarray(leaf, float) for leaf in task.train)
    sizes, graph = np.asarray(task.num_examples), jax.tree.map(np.asarray, task.peers.graph)
    total = 0.0
    for i in range(USERS):
        weights = graph.weights[i]
        for j, weight in zip(graph.neighbors[i], weights, strict=True):
            total += 0.25 * weight * np.sum((models[i] - models[j]) ** 2)
        errors = inputs[i, : sizes[i]] @ models[i] - targets[i, : sizes[i]]
        own = np.mean(errors**2) + np.sum(models[i] ** 2) / sizes[i]
        total += 0.04 * weights.sum() * sizes[i] / sizes.max() * own
    assert float(found["objective"]) == pytest.approx(total, rel=1e-5)
    assert np.isnan(scores(task.init_params, task)["objective"])


def test_padding_has_no_effect():
    task = movielens(0, **SMALL)
    padded = np.arange(task.train[0].shape[1]) >= np.asarray(task.num_examples)[:, None]
    test_inputs, test_targets, sizes = task.evaluation["test"]
    test_padded = np.arange(test_inputs.shape[1]) >= np.asarray(sizes)[:, None]
    assert padded.any()
    assert test_padded.any()
    other = replace(
        task,
        train=(jnp.where(padded[..., None], 5.0, task.train[0]), jnp.where(padded, -9.0, task.train[1])),
        evaluation={
            "test": (
                jnp.where(test_padded[..., None], 5.0, test_inputs),
                jnp.where(test_padded, -9.0, test_targets),
                sizes,
            )
        },
    )
    models = np.random.default_rng(0).standard_normal((USERS, 3)).astype(np.float32)
    params = Personal(jnp.asarray(models), jnp.asarray(0.04))
    jax.tree.map(np.testing.assert_array_equal, scores(params, task), scores(params, other))


def test_the_minimum_of_the_objective_is_the_dense_linear_solution():
    """(D - W) theta + 2 mu D c ((Phi^T Phi / m + lambda) theta - Phi^T r / m) = 0 for all users at once."""
    task, mu = movielens(0, **SMALL), 0.04
    inputs, targets = (np.asarray(leaf, float) for leaf in task.train)
    sizes = np.asarray(task.num_examples)
    weights = np.zeros((USERS, USERS))
    i, slot = np.nonzero(np.asarray(task.peers.graph.weights))
    weights[i, np.asarray(task.peers.graph.neighbors)[i, slot]] = 1
    pull = 2 * mu * weights.sum(1) * np.asarray(confidence(task.num_examples))
    own = [x.T @ x / m + np.eye(3) / m for x, m in zip(inputs, sizes, strict=True)]
    right = np.stack([p * x.T @ y / m for p, x, y, m in zip(pull, inputs, targets, sizes, strict=True)])
    system = np.kron(np.diag(weights.sum(1)) - weights, np.eye(3))
    system += linalg.block_diag(*(p * a for p, a in zip(pull, own, strict=True)))
    best = np.linalg.solve(system, right.ravel()).reshape(USERS, 3)

    def value(models):
        return task.metrics(Personal(models, jnp.asarray(mu)), task)["objective"]

    found, slope = jax.jit(jax.value_and_grad(value))(jnp.asarray(best, jnp.float32))
    assert np.abs(slope).max() < 1e-5 * float(found)
    assert float(found) < float(value(jnp.zeros((USERS, 3))))
