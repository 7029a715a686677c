"""Decentralised SGD with local and with shared noise: a plain second implementation, and what is refused."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiny_gossip import laplacian, mixing, of_graph, path, plain_noise, plain_path, ring, standing_still
from tiny_peers import (
    N,
    P,
    dense,
    logistic_peers,
    squared_peers,
    with_budget,
    with_nothing,
    with_padding,
    with_slots,
)

from bench.algorithms import ALGORITHMS
from bench.algorithms.dp_dsgd import METHOD, metropolis, shared_noise
from bench.comparison.plan import make_plan
from bench.comparison.request import make_request
from bench.comparison.stages import _points
from bench.errors import InputError
from bench.kernels.graph import dense as matrix
from bench.privacy.accounting import epsilon

ARGS = {"step_size": 0.4, "clip_norm": 0.3, "noise_multiplier": 1.5, "pair_noise_ratio": 2.0}


# ---- What it computes ----


@pytest.mark.parametrize("task", [logistic_peers(), with_budget(logistic_peers(), agent_2=0.5, agent_4=0.0)])
def test_every_round_is_that_of_the_plain_implementation(task):
    models, _, keys = path(METHOD, task, 6, **ARGS)
    np.testing.assert_allclose(models, plain_path(task, keys, **ARGS), rtol=1e-4, atol=1e-5)
    assert np.abs(models).max() > 0.1


def test_mixing_is_symmetric_keeps_the_mean_and_joins_neighbors_alone():
    task = logistic_peers()
    found = np.asarray(matrix(metropolis(task.peers.graph)), float)
    found += np.diag(1 - found.sum(1))
    np.testing.assert_allclose(found, mixing(task), atol=1e-6)
    np.testing.assert_array_equal(found, found.T)
    assert np.all(found >= 0)
    np.testing.assert_array_equal((found > 0) & ~np.eye(N, dtype=bool), dense(task) > 0)


def test_where_all_are_neighbors_it_is_gradient_descent_on_all_points():
    """The same clipped steps as minibatch SGD on all records, whose answer is the mean of its iterates."""
    task = logistic_peers(num_examples=(4, 4))
    task = of_graph(replace(task, peers=replace(task.peers, regularization=jnp.zeros(N))), np.ones((N, N)) - np.eye(N))
    models, _, _ = path(METHOD, task, 5, **ARGS | {"noise_multiplier": 0.0})
    sgd = ALGORITHMS["minibatch_sgd"]
    made = sgd.make(
        task,
        num_sampled=N,
        sampler="all",
        phase_rounds=5,
        clip_norm=ARGS["clip_norm"],
        noise_multiplier=0.0,
        step_size=ARGS["step_size"],
    )
    state = made.init(jax.random.key(0))
    for t in range(5):
        state, _ = jax.jit(made.round)(jax.random.key(t), state)
    np.testing.assert_allclose(models.mean(0), np.broadcast_to(made.params(state), (N, P)), rtol=1e-4, atol=1e-6)


def test_agents_end_nearer_to_their_common_minimizer_the_shorter_the_steps():
    task = squared_peers()
    inputs, targets = (np.asarray(leaf, float) for leaf in task.train)
    sizes = np.asarray(task.num_examples)
    real = (np.arange(inputs.shape[1]) < sizes[:, None])[..., None] * inputs
    ridge = float(sizes @ np.asarray(task.peers.regularization)) * np.eye(P)
    common = np.linalg.solve(np.einsum("nmp,nmq->pq", real, real) + ridge, np.einsum("nmp,nm->p", real, targets))
    far = [np.abs(standing_still(task, step) - common).max() for step in (0.01, 0.001, 0.0001)]
    np.testing.assert_allclose(np.divide(far[:-1], far[1:]), 10, rtol=0.2)
    assert far[0] > 0.002


def test_padding_empty_slots_and_agents_without_data_change_nothing():
    task, args = logistic_peers(), ARGS | {"noise_multiplier": 0.0}
    models, _, _ = path(METHOD, task, 4, **args)
    for same in (with_padding(task, 7.0), with_slots(task)):
        np.testing.assert_allclose(path(METHOD, same, 4, **args)[0], models, rtol=1e-5, atol=1e-6)
    assert np.isfinite(path(METHOD, with_nothing(task, *range(N)), 4, **ARGS)[0]).all()


# ---- Noise ----


def test_what_neighbors_share_cancels_in_the_sum_and_has_the_laplacian_as_covariance():
    task = logistic_peers()
    everybody = jnp.ones(N, bool)
    keys = jax.random.split(jax.random.key(0), 4000)
    drawn = jax.jit(jax.vmap(lambda key: shared_noise(key, task.peers.graph, everybody, P)))(keys)
    drawn = np.asarray(drawn, float)
    assert np.abs(drawn.sum(1)).max() < 1e-4
    rows = drawn.transpose(0, 2, 1).reshape(-1, N)
    largest = laplacian(task).max()
    np.testing.assert_allclose(rows.T @ rows / len(rows), laplacian(task), atol=0.06 * largest)


def test_an_agent_without_a_budget_uses_no_data_and_shares_no_noise():
    task = with_budget(logistic_peers(), agent_4=0.0)
    _, sent, keys = path(METHOD, task, 1, **ARGS)
    np.testing.assert_array_equal(sent[0, 4], 0)
    for key in keys:
        assert np.abs(plain_noise(task, key, 2.0)[4]).max() == 0


# ---- Bad input, comparisons ----


def test_shared_noise_of_more_agents_than_can_be_computed_is_refused():
    many = replace(logistic_peers(num_agents=3), num_examples=jnp.ones(5000, jnp.int32))
    many = replace(
        many,
        peers=replace(
            of_graph(many, ring(3)).peers,
            regularization=jnp.ones(5000),
            smoothness=jnp.ones(5000),
            budget=jnp.ones(5000),
            graph=jax.tree.map(lambda leaf: jnp.zeros((5000, 2), leaf.dtype), many.peers.graph),
        ),
    )
    METHOD.fits(many, **ARGS | {"pair_noise_ratio": 0.0})
    with pytest.raises(InputError, match="5000 agents"):
        METHOD.fits(many, **ARGS)


def test_both_are_baselines_that_run_where_they_are_named():
    small = {"task": "linear_p2p", "methods": [], "epsilons": [1.0]}
    assert "DP-D-SGD" not in make_plan(make_request(**small)).candidates
    names = ("DP-D-SGD", "DECOR (against outsiders)")
    plan = make_plan(make_request(**small, baselines=names))
    assert tuple(plan.candidates) == names
    assert plan.candidates["DP-D-SGD"].args["pair_noise_ratio"] == 0
    assert min(one["pair_noise_ratio"] for one in plan.candidates[names[1]].settings) > 0


def test_a_comparison_finds_noise_that_is_enough_on_the_graph_of_every_split():
    names = ("DP-D-SGD", "DECOR (against outsiders)")
    plan = make_plan(make_request(task="linear_p2p", methods=[], epsilons=[1.0], baselines=names))
    tasks = [plan.request.problem.test_tasks()(split) for split in range(3)]
    for candidate in plan.candidates.values():
        (args,) = _points(candidate, tasks, candidate.settings, [(1.0, 0)]).to_dict("records")
        whole = {name: args[name] for name in ("noise_multiplier", "clip_norm", "pair_noise_ratio", "step_size")}
        readings = [METHOD.readings(task, delta=candidate.statement.delta, **whole)["paper"] for task in tasks]
        spent = [epsilon(release, 30) for release in readings]
        assert max(spent) == pytest.approx(1, rel=1e-3)
        assert (min(spent) < 0.99) == (candidate.label == names[1])
