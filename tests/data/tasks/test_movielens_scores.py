"""The scores of MovieLens' task and the objective of its users, against loops and a dense linear solution."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiny_peers import minimizer, value, with_padding
from tiny_ratings import SMALL, USERS

from bench.data.tasks.movielens import movielens
from bench.models.linear import Personal

pytestmark = pytest.mark.usefixtures("here")


@jax.jit
def scores(params, task):
    return task.metrics(params, task)


def with_padding_everywhere(task):
    """The task with numbers other than 0 where there is no example, of the test as well."""
    inputs, targets, sizes = task.evaluation["test"]
    test = with_padding(replace(task, train=(inputs, targets), num_examples=sizes), 5.0).train
    return replace(with_padding(task, 5.0), evaluation={"test": (*test, sizes)})


def test_scores_are_those_of_loops_over_users_whatever_pads_the_examples():
    task = with_padding_everywhere(movielens(0, **SMALL))
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

    assert float(found["objective"]) == pytest.approx(value(task, models, 0.04), rel=1e-5)
    assert np.isnan(scores(task.init_params, task)["objective"])


def test_the_objective_is_stationary_at_the_dense_linear_solution():
    task, mu = movielens(0, **SMALL), jnp.asarray(0.04)
    best = jnp.asarray(minimizer(task, 0.04), jnp.float32)
    found, slope = jax.jit(jax.value_and_grad(lambda models: scores(Personal(models, mu), task)["objective"]))(best)
    assert np.abs(slope).max() < 1e-5 * float(found)
