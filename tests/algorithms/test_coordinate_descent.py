"""Private coordinate descent: a plain implementation, the minimiser, its rates, when agents speak, what they say."""

from dataclasses import replace
from itertools import permutations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from tiny_peers import (
    ALIKE,
    MU,
    STRONG,
    N,
    P,
    constants,
    dense,
    draws,
    listed,
    logistic_peers,
    minimizer,
    play,
    play_many,
    squared_peers,
    value,
    with_budget,
    with_nothing,
    with_padding,
    with_peers,
    with_slots,
)

from bench.algorithms import peers
from bench.algorithms.coordinate_descent import METHOD
from bench.data.graphs import from_weights, ring_with_chords
from bench.errors import InputError
from bench.reference import p2p as reference
from bench.sweeps.spec import arguments
from bench.theory import p2p as theory

pytestmark = pytest.mark.usefixtures("quick_compilation")

SIGMA, L0 = 3.0, 0.5
TICKS = 60
BASE = {"mu": MU, "start": "constant"}  # most runs share these, and so their programs
NOISY = BASE | {"noise_multiplier": SIGMA, "lipschitz": L0}


def by_reference(task, models, order, noise, mu=MU):
    one = listed(task)
    return reference.coordinate_descent(models, one.inputs, one.targets, one.weights, one.smoothness, mu, order, noise)


def movers(played):
    """Agents whose model changed, for each round."""
    changed = np.any(played.models[1:] != played.models[:-1], axis=-1)
    return [np.flatnonzero(row) for row in changed]


def counts(played):
    return np.bincount(np.concatenate(movers(played)), minlength=N)


# ---- The update ----


@pytest.mark.parametrize(
    "args",
    [
        BASE | {"start_value": 0.7},
        NOISY,
        NOISY | {"mechanism": "gaussian"},
        NOISY | {"max_updates": 5, "num_updates": 5.0},
        NOISY | {"num_ticks": 3},
    ],
    ids=["without noise", "Laplace", "Gaussian", "stopping", "three ticks a round"],
)
def test_every_tick_is_that_of_the_plain_implementation(args):
    task = logistic_peers()
    num_ticks = args.get("num_ticks", 1)
    played = play(METHOD, task, TICKS // num_ticks, **args)
    order, noise = draws(task, played, num_ticks, mechanism=args.get("mechanism", "laplace"))
    scale = args.get("noise_multiplier", 0) * L0 / np.asarray(task.num_examples)
    models = np.full((N, P), args.get("start_value", 0.0))
    np.testing.assert_allclose(played.models[0], models, rtol=1e-6)
    for t, (who, z) in enumerate(zip(order, noise, strict=True), 1):
        models = by_reference(task, models, who, scale[who][:, None] * z)
        if t % num_ticks == 0:
            np.testing.assert_allclose(played.models[t // num_ticks], models, rtol=1e-5, atol=1e-5)
    assert np.abs(models).max() > 0.1


@pytest.mark.parametrize(
    ("problem", "args"),
    [(logistic_peers, {}), (squared_peers, {}), (logistic_peers, {"num_awake": 4})],
    ids=["logistic", "squared", "batches"],
)
def test_without_noise_it_goes_to_the_minimiser(problem, args):
    task = problem()
    played = play(METHOD, task, 20, num_ticks=200, **BASE | args)
    best = minimizer(task)
    np.testing.assert_allclose(played.models[-1], best, atol=2e-4)
    assert np.abs(played.models[0] - best).max() > 0.01
    assert value(task, played.models[-1]) == pytest.approx(value(task, best), rel=1e-6)


def start_of(task, seed=0, **args):
    """The models before the first round."""
    algorithm = METHOD.make(task, **{"mu": MU} | args)
    return np.asarray(jax.jit(lambda key: algorithm.params(algorithm.init(key)).theta)(jax.random.key(seed)))


def test_the_starts():
    task = logistic_peers()
    starts = {
        name: start_of(task, start=name, start_value=0.3, start_step_size=0.05)
        for name in ("zero", "constant", "local", "descent")
    }
    np.testing.assert_array_equal(starts["zero"], 0)
    np.testing.assert_allclose(starts["constant"], 0.3)
    one = listed(task)
    descended = np.zeros((N, P))
    for i in range(N):
        slope = reference.gradient(
            starts["local"][i].astype(float), one.inputs[i], one.targets[i], 1 / len(one.targets[i])
        )
        assert np.abs(slope).max() < 1e-4
        for _ in range(100):
            own = reference.gradient(descended[i], one.inputs[i], one.targets[i], 1 / len(one.targets[i]))
            descended[i] = descended[i] - 0.05 * own
    np.testing.assert_allclose(starts["descent"], descended, atol=1e-5)
    assert np.abs(starts["descent"] - starts["local"]).max() > 0.01


def test_the_warm_start_is_one_noisy_step_and_exact_smoothing():
    task = logistic_peers()
    args = {"start": "propagation", "start_noise_multiplier": SIGMA, "lipschitz": L0, "start_step_size": 0.2}
    found = start_of(task, seed=3, **args)
    noise = np.asarray(jax.random.laplace(jax.random.split(jax.random.key(3))[0], (N, P)), float)
    one, sizes = listed(task), np.asarray(task.num_examples)
    gradients = [
        reference.gradient(np.zeros(P), x, y, 1 / len(y)) for x, y in zip(one.inputs, one.targets, strict=True)
    ]
    local = -0.2 * (np.stack(gradients) + (SIGMA * L0 / sizes)[:, None] * noise)
    degrees = one.weights.sum(1)
    pull = degrees * MU * sizes / sizes.max()
    smooth = np.linalg.solve(np.diag(degrees + pull) - one.weights, pull[:, None] * local)
    np.testing.assert_allclose(found, smooth, rtol=1e-3, atol=1e-5)
    assert np.abs(local - smooth).max() > 0.05


def test_padding_of_examples_and_of_neighbour_lists_has_no_effect():
    task = logistic_peers()
    models = play(METHOD, task, TICKS, clip_norm=0.3, **NOISY).models
    assert np.isfinite(models).all()
    for other in (with_padding(task, 7.0), with_slots(task)):
        found = play(METHOD, other, TICKS, clip_norm=0.3, **NOISY).models
        np.testing.assert_allclose(found, models, rtol=1e-4, atol=1e-5)


def test_agents_without_examples_follow_their_neighbours_and_add_no_noise():
    task = with_nothing(logistic_peers(), 1, 4)
    empty = np.isin(np.arange(N), [1, 4])
    silent = play_many(METHOD, task, 1, 100, **BASE | {"start_value": 1.0})[0]
    noisy = play_many(METHOD, task, 1, 100, **NOISY | {"start_value": 1.0})[0]
    moved = np.any(noisy[:, 1] != noisy[:, 0], axis=-1)
    assert moved[:, empty].any()
    np.testing.assert_array_equal(noisy[:, 1, empty], silent[:, 1, empty])
    assert (noisy[:, 1][moved & ~empty] != silent[:, 1][moved & ~empty]).all()
    assert np.isfinite(start_of(task, start="propagation", start_noise_multiplier=SIGMA)).all()
    played = play(METHOD, task, 20, num_ticks=200, **BASE)
    np.testing.assert_allclose(played.models[-1], minimizer(task), atol=1e-3)


# ---- Rates ----


def gaps(task, **args):
    """Mean over 100 seeds of Q - Q* after each of 200 ticks, from models far off."""
    models, _ = play_many(METHOD, task, 200, 100, mu=STRONG, start="constant", start_value=2.0, **args)
    return np.mean(value(task, models, STRONG), axis=0) - value(task, minimizer(task, STRONG), STRONG)


@pytest.mark.parametrize("args", [{}, ALIKE], ids=["unequal", "alike"])
def test_the_objective_falls_at_least_by_proposition_1(args):
    task = logistic_peers(**args)
    *_, rate = constants(task)
    gap = gaps(task)
    bound = theory.gap_without_noise(gap[0], rate, np.arange(201))
    assert (gap <= bound + 1e-5 * gap[0]).all()
    if args:
        assert bound[-1] < 0.1 * bound[0]
        slow = gaps(with_peers(task, smoothness=30 * task.peers.smoothness))  # steps thirty times too short
        assert (slow > bound + 1e-5 * gap[0]).any()


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_with_noise_the_gap_stays_below_theorem_2_and_more_noise_than_declared_does_not(mechanism):
    task = logistic_peers(**ALIKE)
    degrees, trust, smoothness, rate = constants(task)
    std = SIGMA * L0 / np.asarray(task.num_examples) * (np.sqrt(2) if mechanism == "laplace" else 1)
    added = theory.added_by_noise(STRONG, degrees, trust, smoothness, std, dimension=P)
    args = {"lipschitz": L0, "mechanism": mechanism}
    gap = gaps(task, noise_multiplier=SIGMA, **args)
    bound = theory.gap_with_constant_noise(gap[0], rate, added, np.arange(201))
    assert (gap <= bound * (1 + 1e-5)).all()
    assert gap[-1] > 10 * theory.gap_without_noise(gap[0], rate, 200) or gap[-1] > 0.01 * bound[-1]
    assert gaps(task, noise_multiplier=10 * SIGMA, **args)[-1] > bound[-1]


# ---- Several at once ----


@pytest.mark.parametrize("full", [False, True], ids=["lists with room", "full lists"])
def test_those_that_move_at_once_come_before_all_their_neighbours_and_doubles(full):
    """Also where no list has an empty slot, which names the agent itself."""
    task = logistic_peers()
    if full:
        task = with_peers(task, graph=from_weights(ring_with_chords(N, degree=2)))
        assert bool((task.peers.graph.weights > 0).all())
    joined = dense(task) > 0
    alone = jax.jit(lambda chosen: peers.alone(task, chosen))
    found = set()
    for seed in range(100):
        chosen = np.random.default_rng(seed).integers(0, N, 4).astype(np.int32)
        expected = [
            all(who != other and not joined[who, other] for other in chosen[:place]) for place, who in enumerate(chosen)
        ]
        np.testing.assert_array_equal(alone(chosen), expected)
        found.add(sum(expected))
    assert len(found) > 1


def test_a_batch_is_the_same_as_its_updates_one_after_the_other_in_any_order():
    task = logistic_peers()
    played = play(METHOD, task, TICKS, num_awake=4, **BASE | {"noise_multiplier": SIGMA})
    wakes, noise = draws(task, played, num_awake=4)
    joined, sizes = dense(task) > 0, np.asarray(task.num_examples)
    models, several = np.zeros((N, P)), 0
    for t, moved in enumerate(movers(played)):
        assert not joined[np.ix_(moved, moved)].any()
        assert played.info["updates"][t] == len(moved)
        assert played.info["vectors_sent"][t] == joined[moved].sum()
        several += len(moved) > 1
        place = [list(wakes[t]).index(i) for i in moved]
        z = (SIGMA / sizes[moved])[:, None] * noise[t, place]
        forth, back = by_reference(task, models, moved, z), by_reference(task, models, moved[::-1], z[::-1])
        np.testing.assert_allclose(forth, back, rtol=1e-12)
        models = forth
        np.testing.assert_allclose(played.models[t + 1], models, rtol=1e-5, atol=2e-5)
    assert several > 10


# ---- Who speaks, and how often ----


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
    who = np.asarray(peers.awake(jax.random.key(1), task, 4000, 2)).ravel()
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


# ---- Refused ----


@pytest.mark.parametrize(
    ("point", "said"),
    [
        ({"start": "lokal"}, "no start is called 'lokal': did you mean local"),
        ({"mechanism": "laplas"}, "no mechanism is called 'laplas': did you mean laplace"),
        ({"allocation": "eqal"}, "no allocation is called 'eqal': did you mean equal"),
        ({"num_awake": N + 1}, f"num_awake is {N + 1}, but linear_p2p_{P} has {N} agents"),
        ({"num_updates": 5.0, "max_updates": 4}, "num_updates is 5, above max_updates = 4: raise max_updates"),
        ({"max_updates": 4}, "num_updates is inf, above max_updates = 4"),
        ({"allocation": "published"}, "allocation published needs Laplace noise, max_updates, and one agent"),
        (
            {"allocation": "unrolled", "max_updates": 2, "num_updates": 2.0, "mechanism": "gaussian"},
            "allocation unrolled needs Laplace noise",
        ),
        ({"allocation": "unrolled", "max_updates": 2, "num_updates": 2.0, "num_awake": 2}, "one agent awake at a time"),
        ({"mu": 0.0}, "mu is 0.0: it must be positive and finite"),
        ({"mu": -1.0}, "mu is -1.0: it must be positive"),
        ({"mu": np.nan}, "mu is nan: it must be a number"),
        ({"noise_multiplier": -1.0}, "noise_multiplier is -1.0"),
        ({"lipschitz": 0.0}, "lipschitz is 0.0: it must be positive"),
        ({"clip_norm": 0.0}, "clip_norm is 0.0: it must be positive"),
        ({"num_updates": 0.0}, "num_updates is 0.0: it must be at least 1"),
        ({"max_updates": -1}, "max_updates is -1: it must be at least 0"),
        ({"num_awake": 0}, "num_awake is 0: it must be at least 1"),
        ({"num_ticks": 0}, "num_ticks is 0: it must be at least 1"),
        ({"num_ticks": 1.5}, "num_ticks is 1.5: it must be a whole number"),
        ({"start_value": np.inf}, "start_value is inf: it must be finite"),
    ],
)
def test_values_that_make_no_sense_are_refused_in_one_line(point, said):
    with pytest.raises(InputError, match=said) as error:
        METHOD.check(logistic_peers(), **arguments(METHOD, {"mu": MU} | point))
    assert "\n" not in str(error.value)
    METHOD.check(logistic_peers(), **arguments(METHOD, {"mu": MU}))
