"""The scores of peers with linear models, and their objective, against plain implementations."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small_linear_p2p import MU, N, P, models_of, task_of
from tiny_peers import minimizer, value, with_padding

from bench.data.tasks.peers import objective
from bench.models.linear import Personal


@pytest.mark.parametrize("mu", [0.0, MU, 3.0])
def test_the_objective_is_that_of_the_plain_implementation(mu):
    task, models = task_of(1), models_of(1)
    found = jax.jit(task.metrics)(Personal(jnp.asarray(models), jnp.asarray(mu)), task)["objective"]
    assert float(found) == pytest.approx(value(task, models, mu), rel=1e-5)


def test_the_objective_needs_mu():
    task = task_of()
    assert np.isnan(jax.jit(task.metrics)(jnp.asarray(models_of()), task)["objective"])


@pytest.mark.parametrize("form", ["personal", "matrix", "shared"])
def test_accuracy_is_the_mean_over_agents_of_right_signs(form):
    task = task_of(2, num_test=30, num_examples=(30, 100))
    inputs, labels, _ = (np.asarray(leaf) for leaf in task.evaluation["test"])
    models = models_of(2, (P,) if form == "shared" else (N, P))
    params = jnp.asarray(models)
    params = Personal(params, jnp.asarray(MU)) if form == "personal" else params
    found = jax.jit(task.metrics)(params, task)
    sizes, right = np.asarray(task.num_examples), []
    for i in range(N):
        model = models if form == "shared" else models[i]
        right.append(np.mean([x @ model * y > 0 for x, y in zip(inputs[i], labels[i], strict=True)]))
    assert float(found["test_accuracy"]) == pytest.approx(np.mean(right), rel=1e-5)
    groups = np.minimum(sizes // 10 * 10, 90)
    for lower in range(10, 100, 10):
        group = [r for r, g in zip(right, groups, strict=True) if g == lower]
        value = float(found[f"test_accuracy_m{lower}"])
        assert value == pytest.approx(np.mean(group), rel=1e-5) if group else np.isnan(value)
    assert min(groups) == 30  # so that NaN was seen
    assert float(jax.jit(task.metrics)(task.init_params, task)["test_accuracy"]) == 0


def test_models_that_are_not_finite_have_no_score():
    task = task_of()
    for bad in (np.nan, np.inf):
        found = jax.jit(task.metrics)(Personal(jnp.asarray(models_of()).at[3, 1].set(bad), jnp.asarray(MU)), task)
        assert not np.isfinite([float(value) for value in found.values()]).any()


@pytest.mark.parametrize("number", [7.0, -1e20])
def test_what_pads_the_examples_has_no_effect(number):
    task = task_of()
    params = Personal(jnp.asarray(models_of()), jnp.asarray(MU))
    padded = with_padding(task, number)
    jax.tree.map(
        np.testing.assert_array_equal, jax.jit(task.metrics)(params, task), jax.jit(task.metrics)(params, padded)
    )
    counted = replace(padded, num_examples=jnp.full(N, 100, jnp.int32))  # the check can fail: padding taken as real
    assert float(objective(params, counted)) != pytest.approx(float(objective(params, task)), rel=0.01)


def test_the_objective_is_stationary_where_scipy_finds_its_minimum():
    task = task_of(num_agents=6, num_features=3, input_range=1.0, graph_width=1.0, num_examples=(2, 8))
    best = jnp.asarray(minimizer(task, MU), jnp.float32)
    slope = jax.jit(jax.grad(lambda models: objective(Personal(models, jnp.asarray(MU)), task)))(best)
    assert np.abs(slope).max() < 1e-5
