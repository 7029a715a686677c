"""Which agents update in private coordinate descent, how often, and which of those that wake up at once."""

from dataclasses import replace
from itertools import permutations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from tiny_coordinate_descent import NOISY, TICKS, counts, movers
from tiny_peers import N, dense, logistic_peers, play, ring_with_chords, with_budget, with_peers

from bench.algorithms.coordinate_descent import METHOD
from bench.algorithms.parts import peers
from bench.data.graphs import from_weights


@pytest.mark.parametrize("full", [False, True], ids=["lists with room", "full lists"])
def test_those_that_move_at_once_come_before_all_their_neighbours_and_doubles(full):
    """Also where no list has an empty slot, which names the agent itself."""
    task = logistic_peers()
    if full:
        task = with_peers(task, graph=from_weights(ring_with_chords(N, 2)))
        assert bool((task.peers.graph.weights > 0).all())
    joined = dense(task) > 0
    first = jax.jit(lambda chosen: peers.before_neighbors(task, chosen))
    found = set()
    for seed in range(100):
        chosen = np.random.default_rng(seed).integers(0, N, 4).astype(np.int32)
        expected = [
            all(who != other and not joined[who, other] for other in chosen[:place]) for place, who in enumerate(chosen)
        ]
        np.testing.assert_array_equal(first(chosen), expected)
        found.add(sum(expected))
    assert len(found) > 1


@pytest.mark.parametrize(("num_updates", "max_updates"), [(5.0, 5), (1.0, 5), (2.0, 5)])
def test_every_agent_speaks_as_often_as_said_and_then_never_again(num_updates, max_updates):
    task = with_budget(logistic_peers(), agent_4=0.5)
    played = play(METHOD, task, TICKS, num_updates=num_updates, max_updates=max_updates, **NOISY)
    assert N * max_updates < TICKS
    np.testing.assert_array_equal(counts(played), num_updates)
    assert all(len(moved) <= 1 for moved in movers(played))
    assert played.info["updates"].sum() == N * num_updates
    assert played.info["released"].sum() == num_updates
    assert played.info["vectors_sent"].sum() == num_updates * np.sum(dense(task) > 0)
    order = played.first.schedule["order"]
    assert [int(moved[0]) for moved in movers(played) if len(moved)] == [
        who for place, who in enumerate(order) if np.sum(order[:place] == who) < num_updates
    ]


def test_what_was_released_is_the_largest_number_of_updates_at_any_time():
    task = logistic_peers()
    for args in ({}, {"num_updates": 2.0}, {"num_updates": 3.0, "max_updates": 5}, {"num_awake": 4}):
        played = play(METHOD, task, TICKS, **NOISY | args)
        times = np.zeros(N)
        for t, moved in enumerate(movers(played)):
            times[moved] += 1
            assert played.info["released"][: t + 1].sum() == times.max()


def test_an_order_of_rings_is_uniform_among_those_that_still_ring():
    """Against the probability of each of the 90 orders of three agents that ring twice; no shuffle of all rings."""
    task = logistic_peers(num_agents=3, graph_width=20.0)
    orders = jax.jit(jax.vmap(lambda key: peers.ring_order(key, task, 2)))(jax.random.split(jax.random.key(0), 9000))
    possible = sorted(set(permutations((0, 0, 1, 1, 2, 2))))
    chance = []
    for order in possible:
        left = [sum(order[t:].count(i) > 0 for i in range(3)) for t in range(6)]
        chance.append(np.prod(1 / np.array(left)))
    assert sum(chance) == pytest.approx(1)
    seen = [tuple(row) for row in np.asarray(orders).tolist()]
    observed = [seen.count(order) for order in possible]
    assert stats.chisquare(observed, 9000 * np.array(chance)).pvalue > 1e-3
    assert stats.chisquare(observed).pvalue < 1e-6


def test_without_an_end_wakers_are_uniform():
    task = logistic_peers()
    who = np.asarray(peers.agents_awake(jax.random.key(1), task, 4000, 2)).ravel()
    assert stats.chisquare(np.bincount(who, minlength=N)).pvalue > 1e-3


@pytest.mark.parametrize(("start", "max_updates"), [("constant", 0), ("constant", 5), ("propagation", 0)])
def test_an_agent_without_a_budget_never_moves_and_its_data_are_never_seen(start, max_updates):
    task = with_budget(logistic_peers(), agent_2=0.0)
    args = NOISY | {"start": start, "max_updates": max_updates, "num_updates": 3.0}
    played = play(METHOD, task, TICKS, **args)
    assert counts(played)[2] == 0
    assert np.delete(counts(played), 2).max() == 3
    if max_updates:
        assert (np.delete(counts(played), 2) == 3).all()
    inputs, labels = task.train
    other = replace(task, train=(inputs.at[2].set(-3 * inputs[2]), labels))
    np.testing.assert_array_equal(play(METHOD, other, TICKS, **args).models, played.models)
    shown = [with_peers(one, budget=jnp.ones(N)) for one in (task, other)]
    runs = [play(METHOD, one, TICKS, **args).models for one in shown]
    assert np.abs(runs[0] - runs[1]).max() > 0.01  # with a budget they are
