"""Decentralised SGD with local and with shared noise: a plain second implementation, and what is refused."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiny_gossip import of_graph, path, plain_path
from tiny_peers import (
    N,
    P,
    logistic_peers,
    with_budget,
    with_nothing,
    with_padding,
    with_peers,
    with_slots,
)

from bench.algorithms import ALGORITHMS
from bench.algorithms.dp_dsgd import METHOD
from bench.comparison.plan import make_plan
from bench.comparison.request import make_request
from bench.comparison.stages import _points
from bench.errors import InputError
from bench.privacy.accounting import epsilon

ARGS = {"step_size": 0.4, "clip_norm": 0.3, "noise_multiplier": 1.5, "pair_noise_ratio": 2.0}


# ---- What it computes ----


@pytest.mark.parametrize("task", [logistic_peers(), with_budget(logistic_peers(), agent_2=0.5, agent_4=0.0)])
def test_every_round_is_that_of_the_plain_implementation(task):
    models, _, keys = path(METHOD, task, 6, **ARGS)
    np.testing.assert_allclose(models, plain_path(task, keys, **ARGS), rtol=1e-4, atol=1e-5)
    assert np.abs(models).max() > 0.1


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


def test_padding_empty_slots_and_agents_without_data_change_nothing():
    task, args = logistic_peers(), ARGS | {"noise_multiplier": 0.0}
    models, _, _ = path(METHOD, task, 4, **args)
    for same in (with_padding(task, 7.0), with_slots(task)):
        np.testing.assert_allclose(path(METHOD, same, 4, **args)[0], models, rtol=1e-5, atol=1e-6)
    assert np.isfinite(path(METHOD, with_nothing(task, *range(N)), 4, **ARGS)[0]).all()


# ---- Bad input, comparisons ----


def test_shared_noise_of_more_agents_than_can_be_computed_is_refused():
    each = jnp.ones(5000)
    many = replace(logistic_peers(), num_examples=each.astype(jnp.int32))
    graph = jax.tree.map(lambda leaf: jnp.zeros((5000, 2), leaf.dtype), many.peers.graph)
    many = with_peers(many, graph=graph, regularization=each, smoothness=each, budget=each)
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
