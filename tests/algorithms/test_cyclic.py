"""Samplers whose users take turns: who takes part when, what rounds are divided by, a user that is not there, and for
"cyclic_poisson" what it costs and what it refuses."""

import math
from functools import partial

import jax.numpy as jnp
import numpy as np
import pytest
import users_in_turn
from less_noise import with_less_noise
from users_in_turn import check, users_of

from bench.algorithms import ALGORITHMS
from bench.audit import audit
from bench.errors import InputError
from bench.privacy.accounting import epsilon
from bench.privacy.events import (
    ADD_OR_REMOVE,
    bounded_participation_gaussian,
    cyclic_poisson_readings,
    full_gaussian,
    poisson_gaussian,
)

CLIENTS, SAMPLED, GROUPS = 10, 4, 3


stored = partial(users_in_turn.stored, CLIENTS)
rounds = partial(users_in_turn.rounds, num_sampled=SAMPLED, sampler="cyclic")


def test_everybody_takes_part_once_in_every_turn_and_always_the_same_rounds_apart():
    found = [users_of(one) for one in rounds(stored(), 7)]
    assert sorted(user for users in found[:GROUPS] for user in users) == list(range(CLIENTS))
    assert found[:4] == found[3:]
    assert sorted(map(len, found[:GROUPS])) == [3, 3, 4]
    assert found[:GROUPS] != [users_of(one) for one in rounds(stored(), GROUPS, seed=1)]


def test_each_time_a_user_draws_a_fresh_minibatch():
    first, again = (rounds(stored(), 4)[t].batch for t in (0, 3))
    np.testing.assert_array_equal(first.clients, again.clients)
    assert not np.array_equal(first.rows, again.rows)


@pytest.mark.parametrize("reduce", ["mean", "sum"])
def test_rounds_are_divided_by_the_size_of_their_group(reduce):
    found, mean_size = rounds(stored(), GROUPS, reduce=reduce), np.minimum(stored().num_examples, 3).mean()
    for one in found:
        number = len(users_of(one))
        assert (float(one.count), float(one.expected), bool(one.released)) == (number, number, True)
        assert float(one.divisor) == pytest.approx(number * (mean_size if reduce == "sum" else 1))


def test_a_user_that_is_not_there_changes_nothing_but_its_own_part():
    """The public schedule, and so the divisor, stay; the others draw the same."""
    present = jnp.ones(CLIENTS, bool).at[4].set(False)
    for whole, without in zip(rounds(stored(), GROUPS), rounds(stored(present), GROUPS), strict=True):
        assert users_of(without) == [user for user in users_of(whole) if user != 4]
        assert float(whole.divisor) == float(without.divisor)
        others = np.asarray(whole.batch.clients) != 4
        np.testing.assert_array_equal(whole.batch.weight[others], without.batch.weight[others])


def test_all_in_one_group_are_all():
    (drawn,) = rounds(stored(), 1, num_sampled=CLIENTS)
    assert users_of(drawn) == list(range(CLIENTS))
    assert float(drawn.divisor) == CLIENTS


# ---- Taking part by chance ----


FEW = 2  # sampled with "cyclic_poisson", in as many groups
STATEMENT = {"delta": 1e-5, "privacy_unit": "user", "protects_against": users_in_turn.AGAINST}
by_chance = partial(users_in_turn.rounds, num_sampled=FEW, sampler="cyclic_poisson", num_bands=GROUPS)


def test_a_user_takes_part_only_when_it_is_the_turn_of_its_group():
    turns: dict[int, set[int]] = {}
    for t, drawn in enumerate(by_chance(stored(), 60)):
        for user in users_of(drawn):
            turns.setdefault(user, set()).add(t % GROUPS)
    assert sorted(turns) == list(range(CLIENTS))
    assert all(len(of_user) == 1 for of_user in turns.values())
    assert sorted(list(turns.values()).count({turn}) for turn in range(GROUPS)) == [3, 3, 4]


def test_in_its_turn_a_user_takes_part_with_the_stated_probability():
    """And others do not change that: the numbers of participants have the variance of independent coins."""
    count = 3000
    found = [users_of(drawn) for drawn in by_chance(stored(), count)]
    rate = GROUPS * FEW / CLIENTS
    times = np.bincount([user for users in found for user in users], minlength=CLIENTS) / (count / GROUPS)
    np.testing.assert_allclose(times, rate, atol=5 * math.sqrt(rate * (1 - rate) / (count / GROUPS)))
    numbers = [len(users) for users in found]
    for turn in range(GROUPS):
        of_turn = np.array(numbers[turn::GROUPS])
        size = round(of_turn.mean() / rate)
        assert of_turn.var() == pytest.approx(size * rate * (1 - rate), rel=0.2)


def test_the_divisor_is_the_expected_number_whoever_takes_part():
    assert {(float(drawn.divisor), float(drawn.expected)) for drawn in by_chance(stored(), 9)} == {(FEW, FEW)}


def test_with_one_group_it_is_the_law_of_poisson_samples():
    numbers = [len(users_of(drawn)) for drawn in by_chance(stored(), 2000, num_bands=1)]
    rate = FEW / CLIENTS
    assert np.mean(numbers) == pytest.approx(FEW, abs=5 * math.sqrt(CLIENTS * rate * (1 - rate) / 2000))
    assert np.var(numbers) == pytest.approx(CLIENTS * rate * (1 - rate), rel=0.2)


# ---- Privacy ----


def released(noise: str, bands: int = GROUPS) -> dict:
    args = {"sampler": "cyclic_poisson", "num_sampled": FEW, "noise": noise, "num_bands": bands, "planned_rounds": 7}
    return users_in_turn.readings(stored(), **args)


@pytest.mark.parametrize("noise", ["independent", "banded_sqrt", "banded"])
@pytest.mark.parametrize(("length", "turns"), [(1, 1), (3, 1), (4, 2), (7, 3)])
def test_a_run_costs_as_many_poisson_rounds_as_a_group_has_turns(noise, length, turns):
    rate = GROUPS * FEW / CLIENTS
    found = released(noise)
    for name, accountant in (("paper", "rdp"), ("tight", "pld")):
        once = poisson_gaussian(1.3, sampling_rate=rate, accountant=accountant, **STATEMENT)
        assert epsilon(found[name], length) == pytest.approx(epsilon(once, turns), rel=1e-9)
        assert found[name].neighbors == ADD_OR_REMOVE
    worst = bounded_participation_gaussian(1.3, max_participations=turns, **STATEMENT)
    assert epsilon(found["worst_case"], length) == pytest.approx(epsilon(worst, turns), rel=1e-9)


def test_where_everybody_of_a_group_takes_part_nothing_is_left_to_chance():
    sure = cyclic_poisson_readings(noise_multiplier=1.3, sampling_rate=1.0, num_groups=4, **STATEMENT)
    assert epsilon(sure["tight"], 9) == pytest.approx(epsilon(full_gaussian(1.3, **STATEMENT), 3), rel=1e-9)


def test_more_groups_leave_less_to_chance():
    """By central limits, k rounds at rate q cost q sqrt(k): for G groups, sqrt(G) times that of one."""
    few, more = (epsilon(released("banded_sqrt", bands=bands)["tight"], 60) for bands in (2, 5))
    assert more > 1.2 * few


@pytest.mark.slow
@pytest.mark.parametrize("bands", [2, 4])
def test_the_audit_refutes_neither_noise_and_refutes_half_of_it(bands):
    args = {"sampler": "cyclic_poisson", "noise": "banded_sqrt", "num_bands": bands, "num_sampled": 1, "num_steps": 1}
    found = audit("dp_fedavg", family="users", args=args, runs=20_000, rounds=8)
    assert not found.refuted
    claims_too_much = with_less_noise(ALGORITHMS["dp_fedavg"], 3)
    assert audit(claims_too_much, family="users", args=args, runs=20_000, rounds=8).refuted


# ---- What is refused ----


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"noise": "blt", "planned_rounds": 8}, "noise 'blt' is not proven with sampler 'cyclic_poisson'"),
        ({"num_bands": 6}, "num_bands is 6: with sampler 'cyclic_poisson' it is also the number of groups"),
        ({"noise": "banded_sqrt", "num_bands": 1}, "needs users that pause between rounds"),
    ],
)
def test_what_is_not_proven_is_refused(change, said):
    with pytest.raises(InputError, match=said):
        check(stored(), **{"num_sampled": FEW, "sampler": "cyclic_poisson", "num_bands": GROUPS} | change)
