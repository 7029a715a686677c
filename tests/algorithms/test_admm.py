"""Gossip ADMM: a plain implementation with all its variables, the minimiser of Q, and what it sends."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from slow_cases import rows
from tiny_peers import (
    MU,
    N,
    dense,
    listed,
    logistic_peers,
    minimizer,
    play,
    squared_peers,
    value,
    with_nothing,
    with_padding,
    with_slots,
)

from bench.algorithms.admm import METHOD, admm
from bench.algorithms.parts import peers
from bench.papers.p2p import reference
from bench.privacy.accounting import epsilon
from bench.sweeps.spec import arguments

ARGS = {"mu": MU, "penalty": 0.3}
LONG = 200  # ticks in a round, where twenty rounds are to arrive


def edges_of(task, played, num_ticks=1):
    """The edges that woke up, drawn again from the keys of a run: an agent, and one of its neighbours."""
    edges = []
    for key in played.keys[1:]:
        key_agent, key_slot = jax.random.split(key)
        agents = np.asarray(jax.random.randint(key_agent, (num_ticks,), 0, task.num_clients))
        share = np.asarray(jax.random.uniform(key_slot, (num_ticks,)))
        slots = (share * np.asarray(task.peers.graph.num_neighbors, np.float32)[agents]).astype(int)
        edges += list(zip(agents.tolist(), np.asarray(task.peers.graph.neighbors)[agents, slots].tolist(), strict=True))
    return edges


@pytest.mark.parametrize(
    ("penalty", "num_steps", "num_ticks"),
    rows([(0.3, 10, 1), (0.02, 10, 1), (1.0, 3, 4)], slow={(0.3, 10, 1), (0.02, 10, 1)}),
)
def test_every_tick_is_that_of_the_plain_implementation(penalty, num_steps, num_ticks):
    """Models are all that is compared: whatever was wrong in copies, Z or multipliers would reach them."""
    task, one, rounds = logistic_peers(), listed(logistic_peers()), 40 // num_ticks
    played = play(METHOD, task, rounds, mu=MU, penalty=penalty, num_steps=num_steps, num_ticks=num_ticks)
    edges = edges_of(task, played, num_ticks)
    assert all(dense(task)[edge] > 0 for edge in edges)
    for t in range(0, rounds + 1, 4):
        models = reference.admm(
            played.models[0],
            one.inputs,
            one.targets,
            one.weights,
            one.smoothness,
            MU,
            penalty,
            edges[: t * num_ticks],
            num_steps,
        )
        np.testing.assert_allclose(played.models[t], models, rtol=1e-4, atol=1e-5)
    assert np.abs(played.models[-1] - played.models[0]).max() > 0.1


@pytest.mark.slow
@pytest.mark.parametrize("problem", [logistic_peers, squared_peers])
def test_it_goes_to_the_minimiser_with_any_penalty_and_few_steps(problem):
    task = problem()
    best = minimizer(task)
    for penalty in (0.1, 0.5):
        played = play(METHOD, task, 50, mu=MU, penalty=penalty, num_ticks=LONG)
        np.testing.assert_allclose(played.models[-1], best, atol=2e-3)
        assert value(task, played.models[-1]) == pytest.approx(value(task, best), rel=1e-5)
        assert np.abs(played.models[0] - best).max() > 0.1
    inexact = play(METHOD, task, 50, num_steps=1, num_ticks=LONG, **ARGS)
    np.testing.assert_allclose(inexact.models[-1], best, atol=5e-3)


def test_both_ends_agree_at_last():
    """Copies equal the models that they are of, and multipliers of the two ends cancel at all times."""
    task = logistic_peers()
    played = play(METHOD, task, 20, num_ticks=LONG, **ARGS)
    ends, graph = played.last.variables, task.peers.graph
    real = np.asarray(graph.weights) > 0
    neighbors, reverse = np.asarray(graph.neighbors), np.asarray(graph.reverse)
    np.testing.assert_allclose(ends.copy[real], ends.model[neighbors][real], atol=5e-3)
    twin = ends.other_multiplier[neighbors, reverse]
    np.testing.assert_allclose((ends.own_multiplier + twin)[real], 0, atol=1e-4)
    assert np.abs(ends.own_multiplier[real]).max() > 0.01


def test_an_edge_wakes_with_one_of_its_ends_and_each_neighbour_is_as_likely():
    task = logistic_peers()
    played = play(METHOD, task, 20, num_ticks=LONG, **ARGS)
    edges = edges_of(task, played, LONG)
    joined = dense(task) > 0
    expected = (joined / joined.sum(1)[:, None] / N)[joined] * len(edges)
    counted = np.zeros((N, N))
    np.add.at(counted, tuple(np.array(edges).T), 1)
    assert counted[~joined].sum() == 0
    assert stats.chisquare(counted[joined], expected).pvalue > 1e-3


def test_what_is_sent_and_that_none_of_it_is_private():
    task = logistic_peers()
    played = play(METHOD, task, 20, num_ticks=LONG, **ARGS)
    np.testing.assert_array_equal(played.info["vectors_sent"], 8 * LONG)
    np.testing.assert_array_equal(played.info["updates"], 2 * LONG)
    said = METHOD.releases(task, delta=0.01, **arguments(METHOD, ARGS))
    assert {epsilon(claim, rounds) for claim in said.values() for rounds in (0, 3)} == {np.inf}


def test_the_starts():
    task = logistic_peers()
    for start, expected in (
        ("zero", np.zeros((N, 3))),
        ("local", peers.local_minimizers(task)),
        ("descent", peers.local_descent(task, 0.05, 100)),
    ):
        algorithm = METHOD.make(task, mu=MU, penalty=0.1, start=start, start_step_size=0.05)
        first = jax.jit(algorithm.init)(jax.random.key(0)).variables
        np.testing.assert_allclose(first.model, expected, atol=1e-5)
        np.testing.assert_array_equal(first.copy, first.model[task.peers.graph.neighbors])


def test_padding_has_no_effect_and_agents_without_examples_follow_their_neighbours():
    task = logistic_peers()
    models = play(METHOD, task, 20, num_ticks=LONG, **ARGS).models
    for other in (with_padding(task, 7.0), with_slots(task)):
        found = play(METHOD, other, 20, num_ticks=LONG, **ARGS).models
        np.testing.assert_allclose(found, models, rtol=1e-3, atol=1e-4)
    empty = with_nothing(task, 1, 4)
    found = play(METHOD, empty, 20, num_ticks=LONG, **ARGS).models
    np.testing.assert_array_equal(found[0, [1, 4]], 0)
    np.testing.assert_allclose(found[-1], minimizer(empty), atol=5e-3)


def test_jax_is_told_nothing_of_the_edges_that_are_not_there():
    """A slot without a neighbour never changes."""
    task = with_slots(logistic_peers())
    played = play(METHOD, task, 20, num_ticks=LONG, **ARGS)
    empty = jnp.asarray(task.peers.graph.weights) == 0
    for name in ("own_multiplier", "other_multiplier"):
        np.testing.assert_array_equal(getattr(played.last.variables, name)[np.asarray(empty)], 0)


def test_no_tick_copies_all_that_the_agents_keep():
    """Arrays of [client, slot, feature] are changed in place, else a tick costs what all agents' data do."""
    task = logistic_peers()
    algorithm = admm(task, mu=0.3, penalty=0.2, start="zero", num_ticks=5)
    state = algorithm.init(jax.random.key(0))
    compiled = jax.jit(algorithm.round, donate_argnums=1).lower(jax.random.key(1), state).compile()
    shape = ",".join(map(str, state.variables.copy.shape))
    body = compiled.as_text()
    assert f"f32[{shape}]" in body
    assert not re.search(rf"= f32\[{shape}\]\S* copy\(", body)
