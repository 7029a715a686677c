"""The scores of peers with linear models, and their objective, against plain loops."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize
from small_linear_p2p import MU, N, P, models_of, plain_objective, task_of
from tiny_peers import with_padding, with_peers

from bench.data.graphs import from_weights
from bench.data.tasks.peers import linear_p2p, objective
from bench.models.linear import Personal


@pytest.mark.parametrize("mu", [0.0, MU, 3.0])
def test_the_objective_is_that_of_plain_loops(mu):
    task, models = task_of(1), models_of(1)
    found = jax.jit(task.metrics)(Personal(jnp.asarray(models), jnp.asarray(mu)), task)["objective"]
    assert float(found) == pytest.approx(plain_objective(task, models, mu), rel=1e-5)


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


def test_the_target_itself_is_right_but_for_the_flips():
    task = linear_p2p(0, num_features=2)
    inputs, labels = (np.asarray(leaf, float) for leaf in task.evaluation["test"][:2])
    normals = np.einsum("nmp,nm->np", inputs, labels)
    assert 0.85 < float(jax.jit(task.metrics)(jnp.asarray(normals, jnp.float32), task)["test_accuracy"]) <= 0.95
    assert float(jax.jit(task.metrics)(task.init_params, task)["test_accuracy"]) == 0


def test_models_that_are_not_finite_have_no_score():
    task = task_of()
    for bad in (np.nan, np.inf):
        found = jax.jit(task.metrics)(Personal(jnp.asarray(models_of()).at[3, 1].set(bad), jnp.asarray(MU)), task)
        assert not np.isfinite([float(value) for value in found.values()]).any()


@pytest.mark.parametrize("value", [7.0, -1e20])
def test_what_pads_the_examples_has_no_effect(value):
    task = task_of()
    params = Personal(jnp.asarray(models_of()), jnp.asarray(MU))
    padded = with_padding(task, value)
    jax.tree.map(
        np.testing.assert_array_equal, jax.jit(task.metrics)(params, task), jax.jit(task.metrics)(params, padded)
    )
    counted = replace(padded, num_examples=jnp.full(N, 100, jnp.int32))  # the check can fail: padding taken as real
    assert float(objective(params, counted)) != pytest.approx(float(objective(params, task)), rel=0.01)


def test_what_pads_the_neighbours_has_no_effect():
    task = task_of()
    wider = task.peers.graph._replace(
        **{
            name: jnp.pad(leaf, ((0, 0), (0, 9)), constant_values=3 if name == "neighbors" else 0)
            for name, leaf in task.peers.graph._asdict().items()
        }
    )
    params = Personal(jnp.asarray(models_of()), jnp.asarray(MU))
    changed = with_peers(task, graph=wider)
    assert float(objective(params, changed)) == pytest.approx(float(objective(params, task)), rel=1e-6)


def test_the_objective_of_a_small_problem_has_the_minimum_that_its_stationary_point_says():
    """Independent agents' losses pull their models together through the graph: the gradient of Q as the paper has it,

    D_ii (theta_i + mu c_i grad L_i) - sum_j W_ij theta_j, vanishes where scipy finds the minimum.
    """
    task = task_of(num_agents=6, num_features=3, input_range=1.0, graph_width=1.0, num_examples=(2, 8))
    inputs, labels = (np.asarray(leaf, float) for leaf in task.train)
    sizes = np.asarray(task.num_examples)
    degrees = np.asarray(task.peers.graph.degrees, float)
    weights, neighbors = np.asarray(task.peers.graph.weights, float), np.asarray(task.peers.graph.neighbors)

    def paper_gradient(models):
        slope = np.zeros_like(models)
        for i in range(6):
            x, y = inputs[i, : sizes[i]], labels[i, : sizes[i]]
            own = -(y / (1 + np.exp(y * (x @ models[i])))) @ x / sizes[i] + 2 / sizes[i] * models[i]
            slope[i] = degrees[i] * (models[i] + MU * sizes[i] / sizes.max() * own)
            slope[i] -= weights[i] @ models[neighbors[i]]
        return slope

    found = minimize(
        lambda flat: plain_objective(task, flat.reshape(6, 3), MU),
        np.zeros(18),
        jac=lambda flat: paper_gradient(flat.reshape(6, 3)).ravel(),
        tol=1e-10,
    )
    best = float(jax.jit(objective)(Personal(jnp.asarray(found.x.reshape(6, 3), jnp.float32), jnp.asarray(MU)), task))
    slope = jax.jit(jax.grad(lambda models: objective(Personal(models, jnp.asarray(MU)), task)))(
        jnp.asarray(found.x.reshape(6, 3), jnp.float32)
    )
    assert np.abs(slope).max() < 1e-5
    assert best < float(objective(Personal(jnp.zeros((6, 3)), jnp.asarray(MU)), task))


def test_a_graph_of_ones_own_takes_the_place_of_the_made_one():
    """The task is a plain dataclass: another graph is another leaf."""
    task = task_of()
    full = np.ones((N, N)) - np.eye(N)
    changed = with_peers(task, graph=from_weights(full))
    models = models_of()
    spread = N * np.sum((models - models.mean(0)) ** 2)  # sum over pairs of |difference|^2
    found = objective(Personal(jnp.asarray(models), jnp.asarray(0.0)), changed)
    assert float(found) == pytest.approx(spread / 2, rel=1e-5)
