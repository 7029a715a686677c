"""Samplers "balls_in_bins" and "random_allocation": who takes part when, what rounds are divided by, what it costs, and
what they refuse.
"""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import users_in_turn
from less_noise import with_less_noise
from users_in_turn import check, users_of

from bench.algorithms import ALGORITHMS
from bench.algorithms.parts.samplers import SAMPLERS
from bench.audit import audit
from bench.errors import InputError
from bench.kernels import sampling
from bench.privacy.accounting import epsilon
from bench.privacy.events import balls_in_bins_gaussian, bounded_participation_gaussian

CLIENTS, SAMPLED, BINS = 11, 3, 3
IN_BINS = [name for name, kind in SAMPLERS.items() if kind.turn == "bin"]


stored = partial(users_in_turn.stored, CLIENTS)
rounds = partial(users_in_turn.rounds, num_sampled=SAMPLED)


def test_everybody_is_in_one_bin_and_bins_take_turns():
    found = [users_of(one) for one in rounds(stored(), 3 * BINS, sampler="balls_in_bins")]
    assert sorted(user for users in found[:BINS] for user in users) == list(range(CLIENTS))
    assert found[:BINS] == found[BINS : 2 * BINS] == found[2 * BINS :]


def test_with_random_allocation_everybody_is_in_one_round_of_each_turn_drawn_anew():
    found = [users_of(one) for one in rounds(stored(), 300 * BINS, sampler="random_allocation")]
    turns = [found[first : first + BINS] for first in range(0, len(found), BINS)]
    assert all(sorted(user for users in turn for user in users) == list(range(CLIENTS)) for turn in turns)
    places = np.array([[next(t for t in range(BINS) if user in turn[t]) for user in range(CLIENTS)] for turn in turns])
    apart = 5 * math.sqrt(2 / 9 / len(turns))
    for place in range(BINS):
        np.testing.assert_allclose(np.mean(places == place, axis=0), 1 / BINS, atol=apart)
    np.testing.assert_allclose(np.mean(places[1:] == places[:-1], axis=0), 1 / BINS, atol=apart)
    assert np.mean(places[:, 2] == places[:, 7]) == pytest.approx(1 / BINS, abs=apart)


def test_bins_are_drawn_uniformly_and_independently():
    """The numbers of users in a bin are binomial, and two users share a bin once in G times."""
    runs = 4000
    keys = jax.random.split(jax.random.key(0), runs)
    found = np.asarray(jax.vmap(lambda key: sampling.bins(key, CLIENTS, BINS))(keys))
    sizes = np.stack([np.sum(found == place, axis=1) for place in range(BINS)])
    mean, variance = CLIENTS / BINS, CLIENTS / BINS * (1 - 1 / BINS)
    np.testing.assert_allclose(sizes.mean(axis=1), mean, atol=5 * math.sqrt(variance / runs))
    np.testing.assert_allclose(sizes.var(axis=1), variance, rtol=0.15)
    assert np.mean(found[:, 0] == found[:, 7]) == pytest.approx(1 / BINS, abs=5 * math.sqrt(2 / 9 / runs))


@pytest.mark.parametrize("sampler", IN_BINS)
@pytest.mark.parametrize("reduce", ["mean", "sum"])
def test_the_divisor_is_what_is_expected_whoever_takes_part(reduce, sampler):
    each = 1.0 if reduce == "mean" else float(np.minimum(stored().num_examples, 3).mean())
    for one in rounds(stored(), BINS, reduce=reduce, sampler=sampler):
        assert float(one.divisor) == pytest.approx(CLIENTS / BINS * each, rel=1e-6)
        assert float(one.expected) == pytest.approx(CLIENTS / BINS, rel=1e-6)
        assert bool(one.released)


@pytest.mark.parametrize("sampler", IN_BINS)
def test_who_is_absent_leaves_all_others_where_they_are(sampler):
    everybody = [users_of(one) for one in rounds(stored(), 2 * BINS, sampler=sampler)]
    present = jnp.arange(CLIENTS) != 4
    others = [users_of(one) for one in rounds(stored(present), 2 * BINS, sampler=sampler)]
    assert others == [[user for user in users if user != 4] for users in everybody]


# ---- Privacy ----


@pytest.mark.parametrize("sampler", IN_BINS)
def test_the_readings_are_those_of_the_bins(sampler):
    found = users_in_turn.readings(stored(), num_sampled=SAMPLED, sampler=sampler)
    for length, turns in ((1, 1), (3, 1), (4, 2), (9, 3)):
        bins = balls_in_bins_gaussian(1.3, num_bins=BINS, delta=1e-5, afresh=sampler == "random_allocation")
        worst = bounded_participation_gaussian(1.3, max_participations=turns, delta=1e-5)
        assert epsilon(found["tight"], length) == epsilon(found["paper"], length) == epsilon(bins, length)
        assert epsilon(found["worst_case"], length) == pytest.approx(epsilon(worst, length), rel=1e-9)
    assert all(one.sound for one in found.values())


@pytest.mark.slow
@pytest.mark.parametrize("sampler", IN_BINS)
@pytest.mark.parametrize("sampled", [1, 2])
def test_the_audit_refutes_neither_and_refutes_half_of_the_noise(sampled, sampler):
    args = {"sampler": sampler, "num_sampled": sampled, "num_steps": 1}
    found = audit("dp_fedavg", family="users", args=args, runs=20_000, rounds=8)
    assert not found.refuted
    claims_too_much = with_less_noise(ALGORITHMS["dp_fedavg"], 2.5)
    assert audit(claims_too_much, family="users", args=args, runs=20_000, rounds=8).refuted


@pytest.mark.parametrize("sampler", IN_BINS)
@pytest.mark.parametrize("noise", ["banded", "blt"])
def test_correlated_noise_is_refused(noise, sampler):
    with pytest.raises(InputError, match=f"noise '{noise}' is not proven with sampler '{sampler}'"):
        check(stored(), num_sampled=SAMPLED, sampler=sampler, noise=noise, planned_rounds=8)
