"""Who takes part and with which examples: rates, uniformity, padding, and the queue's bookkeeping."""

import math
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import combinations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from bench.kernels import sampling

DRAWS = 10_000
UNLIKELY = 1e-6  # probability with which a right sampler would fail a statistical test


def many(draw, seed=0, draws=DRAWS):
    """`draw(key)` for many keys, as NumPy arrays."""
    keys = jax.random.split(jax.random.key(seed), draws)
    return jax.tree.map(np.asarray, jax.jit(jax.vmap(draw))(keys))


def assert_uniform(counts):
    assert len(counts) == 1 or stats.chisquare(counts).pvalue > UNLIKELY


def subset_counts(sets, population, size):
    """How often each subset of that size occurs; every set drawn must be one."""
    found = Counter(tuple(sorted(s)) for s in sets)
    subsets = list(combinations(population, size))
    assert set(found) <= set(subsets)
    return [found[s] for s in subsets]


@pytest.mark.parametrize(("num_clients", "num_sampled"), [(5, 2), (5, 1), (4, 3)])
def test_a_fixed_size_sample_is_a_uniform_subset(num_clients, num_sampled):
    drawn = many(lambda key: sampling.fixed_size(key, num_clients, num_sampled))
    assert_uniform(subset_counts(drawn, range(num_clients), num_sampled))


@pytest.mark.parametrize(("num_clients", "num_groups"), [(5, 2), (4, 2), (3, 3), (4, 1)])
def test_clients_are_dealt_into_groups_as_equal_as_can_be_each_once_and_uniformly(num_clients, num_groups):
    clients, taken = many(lambda key: sampling.deal(key, num_clients, num_groups))
    sizes = taken.sum(axis=2)
    assert np.all(sizes == sizes[0])
    assert sizes[0].max() - sizes[0].min() <= 1
    for one, there in zip(clients[:50], taken[:50], strict=True):
        assert sorted(one[there].tolist()) == list(range(num_clients))
    first = [one[0][there[0]].tolist() for one, there in zip(clients, taken, strict=True)]
    assert_uniform(subset_counts(first, range(num_clients), int(sizes[0][0])))


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_poisson_takes_each_client_independently_with_probability_q(rate):
    """The joint frequencies of all 2^4 subsets are those of four independent coins."""
    clients, present = many(lambda key: sampling.poisson(key, 4, rate, 4))
    found = Counter(tuple(sorted(c[p].tolist())) for c, p in zip(clients, present, strict=True))
    subsets = [s for size in range(5) for s in combinations(range(4), size)]
    expected = [DRAWS * rate ** len(s) * (1 - rate) ** (4 - len(s)) for s in subsets]
    assert sum(found.values()) == DRAWS
    assert stats.chisquare([found[s] for s in subsets], expected).pvalue > UNLIKELY


def test_the_poisson_check_notices_a_rate_one_tenth_too_high():
    _, present = many(lambda key: sampling.poisson(key, 4, 0.55, 4))
    assert stats.binomtest(int(present.sum()), 4 * DRAWS, 0.5).pvalue < UNLIKELY
    _, present = many(lambda key: sampling.poisson(key, 4, 0.5, 4))
    assert stats.binomtest(int(present.sum()), 4 * DRAWS, 0.5).pvalue > UNLIKELY


def test_more_or_fewer_padding_places_do_not_change_a_poisson_sample():
    narrow, wide = (
        many(lambda key, bound=bound: sampling.poisson(key, 50, 0.1, bound), draws=300) for bound in (25, 50)
    )
    for clients, present, more, present_more in zip(*narrow, *wide, strict=True):
        assert len(set(clients)) == 25  # padding repeats no client
        np.testing.assert_array_equal(clients[present], more[present_more])


def test_a_poisson_sample_that_does_not_fit_is_cut_uniformly():
    clients, present = many(lambda key: sampling.poisson(key, 4, 1.0, 2))
    assert present.all()
    assert_uniform(subset_counts(clients, range(4), 2))


@pytest.mark.parametrize(("num", "rate"), [(60, 0.1), (7, 0.5), (300, 1 / 47)])
def test_poisson_in_order_is_a_poisson_sample(num, rate):
    """Sizes are binomial, everybody is in as often, neighbours are independent."""
    bound = sampling.poisson_bound(num, rate, 1e-15)
    draw = jax.jit(jax.vmap(lambda key: sampling.poisson_in_order(key, num, rate, bound)))
    places, counts = map(np.asarray, draw(jax.random.split(jax.random.key(0), 20_000)))
    taken = np.zeros((20_000, num), bool)
    for run, (mine, count) in enumerate(zip(places, counts, strict=True)):
        assert len(set(mine[:count])) == count
        taken[run, mine[:count]] = True
    deviation = np.sqrt(rate * (1 - rate) / 20_000)
    assert np.abs(taken.mean(0) - rate).max() < 4.5 * deviation
    assert taken.mean() == pytest.approx(rate, abs=4 * deviation / np.sqrt(num))
    assert counts.var() == pytest.approx(num * rate * (1 - rate), rel=0.05)
    together = (taken[:, 1:] & taken[:, :-1]).mean()
    assert together == pytest.approx(rate**2, rel=0.05)


def test_poisson_in_order_with_rate_1_takes_everybody():
    places, count = sampling.poisson_in_order(jax.random.key(0), 5, 1.0, 7)
    assert int(count) == 5
    np.testing.assert_array_equal(places, [0, 1, 2, 3, 4, 4, 4])


@pytest.mark.parametrize("failure", [1e-2, 1e-6, 1e-12, 1e-15])
@pytest.mark.parametrize(("num_clients", "rate"), [(10, 0.5), (60, 0.1), (100, 0.01), (200, 0.9)])
def test_the_poisson_bound_is_the_smallest_that_is_exceeded_so_rarely(num_clients, rate, failure):
    """By exact arithmetic, not by the library that computes it."""
    q = Fraction(rate)
    probability = [math.comb(num_clients, k) * q**k * (1 - q) ** (num_clients - k) for k in range(num_clients + 1)]
    bound = sampling.poisson_bound(num_clients, rate, failure)
    assert sum(probability[bound + 1 :]) <= failure
    assert bound == 0 or sum(probability[bound:]) > failure


def test_distinct_rows_are_uniform_subsets_of_the_real_examples_and_never_padding():
    sizes = jnp.array([5, 3, 2, 1, 0])
    rows, real = many(lambda key: sampling.distinct_rows(key, sizes, 6, 2))
    for i, size in enumerate([5, 3, 2, 1, 0]):
        taken = min(size, 2)
        assert (real[:, i].sum(-1) == taken).all()
        used = rows[:, i][real[:, i]].reshape(DRAWS, taken)
        assert_uniform(subset_counts(used, range(size), taken))
    assert (rows[..., 0] != rows[..., 1]).all()  # also in the padding, so that scattering back is well defined


def test_clients_draw_their_rows_independently():
    rows, _ = many(lambda key: sampling.distinct_rows(key, jnp.array([3, 3]), 3, 1))
    assert_uniform(np.bincount(3 * rows[:, 0, 0] + rows[:, 1, 0], minlength=9))


# ---- The queue ----

CLIENTS, MOST = 5, 4  # clients and the most blocks of one


@cache
def queue_player(num_epochs, num_sampled):
    """A compiled run of the queue, long enough to empty it whatever the numbers of blocks."""

    @jax.jit
    def play(key, num_blocks):
        start, *keys = jax.random.split(key, 1 + CLIENTS * MOST * num_epochs)

        def one_round(queue, key):
            queue, clients, blocks, present = sampling.queue_draw(key, queue, num_blocks, num_sampled)
            return queue, (clients, blocks, present)

        queue = sampling.queue_start(start, num_blocks, num_epochs, MOST)
        return jax.lax.scan(one_round, queue, jnp.stack(keys))[1]

    return play


def taken(num_blocks, num_epochs, num_sampled, seed):
    """The (client, block) pairs of each round, empty rounds as well."""
    outcome = queue_player(num_epochs, num_sampled)(jax.random.key(seed), jnp.array(num_blocks, jnp.int32))
    return [
        [(int(c), int(b)) for c, b in zip(clients[present], blocks[present], strict=True)]
        for clients, blocks, present in zip(*map(np.asarray, outcome), strict=True)
    ]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(0, MOST), min_size=CLIENTS, max_size=CLIENTS),
    st.sampled_from([(1, 2), (2, 3), (2, 5)]),
    st.integers(0, 1000),
)
@example([0, 0, 0, 0, 0], (2, 3), 0)
@example([4, 0, 0, 0, 0], (2, 3), 0)
def test_every_client_uses_each_of_its_blocks_once_an_epoch_and_never_more_than_Q_a_round(num_blocks, how, seed):
    num_epochs, num_sampled = how
    rounds = taken(num_blocks, num_epochs, num_sampled, seed)
    left = num_epochs * np.array(num_blocks)
    for used in rounds:
        clients = [client for client, _ in used]
        assert len(set(clients)) == len(clients)  # a client takes part once
        assert len(used) == min(num_sampled, np.count_nonzero(left))  # full while it can be, the tail L < Q
        left[clients] -= 1
        assert (left >= 0).all()
    assert not left.any()
    for client, count in enumerate(num_blocks):
        blocks = [block for used in rounds for who, block in used if who == client]
        epochs = [blocks[at : at + count] for at in range(0, len(blocks), count or 1)]
        assert [sorted(epoch) for epoch in epochs] == [list(range(count))] * (num_epochs if count else 0)


def test_the_queue_draws_clients_uniformly_among_those_left_and_permutes_blocks_uniformly():
    num_blocks = jnp.array([3, 3, 3, 3, 0], jnp.int32)

    def first_round(key):
        start, key = jax.random.split(key)
        queue = sampling.queue_start(start, num_blocks, 2, 3)
        return *sampling.queue_draw(key, queue, num_blocks, 2)[1:], queue.order

    clients, _, present, order = many(first_round)
    assert present.all()
    assert_uniform(subset_counts(clients, range(4), 2))
    code = order[:, :4] @ np.array([9, 3, 1])  # which of 3! permutations
    for client in range(4):
        for epoch in range(2):
            assert_uniform(np.unique(code[:, client, epoch], return_counts=True)[1])
        pairs = np.unique(code[:, client], axis=0, return_counts=True)[1]
        assert len(pairs) == 36  # the epochs are permuted independently
        assert_uniform(pairs)


@pytest.mark.parametrize(
    ("num_blocks", "num_epochs", "num_sampled"), [([4, 3, 1, 1, 0], 1, 2), ([4, 2, 2, 1, 1], 2, 3)]
)
def test_the_rounds_of_a_queue_and_those_with_all_places_taken_are_counted(num_blocks, num_epochs, num_sampled):
    """They play one schedule of their own, so that counts agree with those of the kernel in distribution."""
    play = queue_player(num_epochs, num_sampled)
    keys = jax.random.split(jax.random.key(0), 1500)
    present = jax.jit(jax.vmap(play, in_axes=(0, None)))(keys, jnp.array(num_blocks, jnp.int32))[2]
    places = np.asarray(present).sum(-1)
    how = num_blocks, num_epochs, num_sampled
    for function, of_kernel in (
        (sampling.queue_rounds, (places > 0).sum(-1)),
        (sampling.full_queue_rounds, (places == num_sampled).sum(-1)),
    ):
        ours, theirs = Counter(of_kernel.tolist()), Counter(function(*how, seed) for seed in range(1500))
        lengths = sorted({*ours, *theirs})
        assert len(lengths) > 1  # it depends on the draw, or this would test little
        table = [[counts[length] for length in lengths] for counts in (ours, theirs)]
        assert stats.chi2_contingency(table).pvalue > UNLIKELY
    assert all(sampling.full_queue_rounds(*how, seed) <= sampling.queue_rounds(*how, seed) for seed in range(3))


def test_queue_rounds_is_blocks_over_Q_when_the_blocks_come_out_even():
    assert sampling.queue_rounds([6, 6, 6], 2, 3) == 12
    assert sampling.queue_rounds([5], 4, 3) == 20
    assert sampling.queue_rounds([0, 0], 4, 3) == 0


@pytest.mark.parametrize("first", [0, 3, 7])
def test_some_rows_of_a_draw_are_those_of_the_whole_draw(first):
    key = jax.random.key(5)
    some = jax.jit(lambda first: sampling.uniform_rows(key, first, 4, 3))(first)
    np.testing.assert_array_equal(some, jax.random.uniform(key, (11, 3))[first : first + 4])


def test_some_rows_by_another_generator_are_uniform_and_differ():
    key = jax.random.key(5, impl="rbg")
    draws = [np.asarray(sampling.uniform_rows(key, first, 1000, 2)) for first in (0, 1000)]
    assert stats.kstest(np.ravel(draws), "uniform").pvalue > UNLIKELY
    assert not np.any(draws[0] == draws[1])


@pytest.mark.parametrize("first", [0, 2])
def test_rows_of_some_clients_are_those_they_get_among_all(first):
    key, sizes = jax.random.key(1), jnp.array([3, 6, 5, 2, 4], jnp.int32)
    rows, real = sampling.distinct_rows(key, sizes, 6, 4)
    some, some_real = sampling.distinct_rows(key, sizes[first : first + 3], 6, 4, first)
    np.testing.assert_array_equal(some, rows[first : first + 3])
    np.testing.assert_array_equal(some_real, real[first : first + 3])
