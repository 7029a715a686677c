"""Gossip ADMM: a plain implementation with all its variables, the minimiser of Q, and what it sends."""

import re

import jax
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
    with_nothing,
    with_padding,
    with_slots,
)

from bench.algorithms.admm import METHOD, admm
from bench.papers.p2p import reference

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


def test_an_edge_wakes_with_one_of_its_ends_and_each_neighbour_is_as_likely():
    task = logistic_peers()
    played = play(METHOD, task, 20, num_ticks=LONG, **ARGS)
    edges = edges_of(task, played, LONG)
    joined = dense(task) > 0
    expected = (joined / joined.sum(1)[:, None] / N)[joined] * len(edges)
    np.testing.assert_array_equal(played.info["vectors_sent"], 8 * LONG)
    np.testing.assert_array_equal(played.info["updates"], 2 * LONG)
    counted = np.zeros((N, N))
    np.add.at(counted, tuple(np.array(edges).T), 1)
    assert counted[~joined].sum() == 0
    assert stats.chisquare(counted[joined], expected).pvalue > 1e-3


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
