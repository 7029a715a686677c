"""Sampler "cyclic": who takes part when, what rounds are divided by, and a user that is not there."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bench.algorithms.parts.participation import participation
from bench.data.task import Task
from bench.models.additive import squared_loss

CLIENTS, SAMPLED, GROUPS = 10, 4, 3


def stored(present=None) -> Task:
    rng = np.random.default_rng(0)
    return Task(
        init_params=jnp.zeros(2),
        num_examples=jnp.asarray([2, 3, 4, 5, 6, 6, 6, 6, 6, 6], jnp.int32),
        train=(jnp.asarray(rng.standard_normal((CLIENTS, 6, 2)), jnp.float32), jnp.zeros((CLIENTS, 6))),
        loss=squared_loss,
        present=present,
    )


def rounds(task: Task, count: int, seed: int = 0, reduce: str = "mean"):
    who = participation(task, num_sampled=SAMPLED, batch_size=3, sampler="cyclic", reduce=reduce)
    schedule, out = who.init(jax.random.key(seed)), []
    for t in range(count):
        drawn, schedule = who.draw(jax.random.key(100 + t), schedule)
        out.append(drawn)
    return out


def users_of(drawn) -> list[int]:
    return sorted(np.asarray(drawn.batch.clients)[np.asarray(drawn.batch.weight).sum(1) > 0].tolist())


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
    task = dataclasses.replace(stored(), num_examples=jnp.full(CLIENTS, 6, jnp.int32))
    who = participation(task, num_sampled=CLIENTS, batch_size=6, sampler="cyclic")
    drawn, _ = who.draw(jax.random.key(0), who.init(jax.random.key(1)))
    assert users_of(drawn) == list(range(CLIENTS))
    assert float(drawn.divisor) == CLIENTS
