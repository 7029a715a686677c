"""Dealing examples to clients: nothing is lost, nothing is dealt twice."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from slow_cases import cases

from bench.data.partition import by_class_shares, by_label, by_style, disjoint, hold_out, independent_draws, pack
from bench.errors import InputError


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=6).filter(any), st.integers(0, 3))
def test_packing_keeps_every_example_in_its_place_and_pads_with_zeros(sizes, more):
    rng = np.random.default_rng(0)
    parts = [rng.uniform(1, 2, (n, 3)).astype(np.float32) for n in sizes]
    for capacity in (None, max(sizes) + more):
        packed = pack(parts, capacity)
        assert packed.shape == (len(sizes), capacity or max(sizes), 3)
        assert packed.dtype == np.float32
        for row, part in zip(packed, parts, strict=True):
            np.testing.assert_array_equal(row[: len(part)], part)
            assert not row[len(part) :].any()


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(-3, 9), min_size=1, max_size=40))
def test_by_label_gives_one_group_a_label_ascending_in_the_examples_own_order(labels):
    labels = np.array(labels)
    groups = by_label(labels)
    assert [labels[group[0]] for group in groups] == sorted(set(labels.tolist()))
    for group in groups:
        assert len(set(labels[group].tolist())) == 1
        assert (np.diff(group) > 0).all()
    assert sorted(np.concatenate(groups)) == list(range(len(labels)))


@settings(max_examples=50, deadline=None)
@given(st.integers(2, 60), st.floats(0.01, 0.9), st.integers(0, 1000))
def test_hold_out_splits_every_example_once_and_holds_back_at_least_one(size, fraction, seed):
    indices = np.arange(100, 100 + size)
    kept, held = hold_out(indices, fraction, np.random.default_rng(seed))
    assert sorted([*kept, *held]) == indices.tolist()
    assert len(held) == max(1, round(fraction * size))


def test_hold_out_is_uniform():
    rng = np.random.default_rng(0)
    held = np.concatenate([hold_out(np.arange(10), 0.3, rng)[1] for _ in range(5000)])
    counts = np.bincount(held, minlength=10)
    assert counts.sum() == 15000
    assert np.abs(counts - 1500).max() < 5 * np.sqrt(5000 * 0.3 * 0.7)


@pytest.mark.parametrize("counts", [(4, 3), (1, 5), (5, 1)])
def test_by_style_deals_every_class_evenly(counts):
    """Any two groups have the same number of each class, up to one."""
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 3, 500)
    groups = by_style(rng.standard_normal(500), rng.standard_normal(500), classes, counts)
    assert set(groups) == set(range(counts[0] * counts[1]))
    for label in range(3):
        sizes = np.bincount(groups[classes == label], minlength=counts[0] * counts[1])
        assert sizes.max() - sizes.min() <= 1


def test_by_style_puts_alike_examples_together():
    """Within a class, slices of `first` do not overlap, nor within a slice those of `second`; ties go by order."""
    rng = np.random.default_rng(1)
    first, second, classes = rng.standard_normal(300), rng.standard_normal(300), rng.integers(0, 2, 300)
    groups = by_style(first, second, classes, (5, 3))
    for label in range(2):
        mine = classes == label
        slices = [first[mine & (groups // 3 == i)] for i in range(5)]
        assert all(a.max() <= b.min() for a, b in pairwise(slices))
        for i in range(5):
            cells = [second[mine & (groups == 3 * i + j)] for j in range(3)]
            assert all(a.max() <= b.min() for a, b in pairwise(cells))
    same = by_style(np.zeros(12), np.zeros(12), np.zeros(12, int), (2, 2))
    np.testing.assert_array_equal(same, np.repeat([0, 1, 2, 3], 3))


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 40), st.integers(1, 8), st.data())
def test_independent_draws_are_within_the_pool_and_never_twice_in_a_client(num_examples, num_clients, data):
    size = data.draw(st.integers(1, num_examples))
    draws = independent_draws(np.random.default_rng(0), num_examples, num_clients, size)
    assert draws.shape == (num_clients, size)
    assert draws.dtype == np.int32
    assert (np.diff(draws, axis=1) > 0).all()
    assert draws.min() >= 0
    assert draws.max() < num_examples


def test_independent_draws_are_uniform_and_overlap_as_if_by_chance():
    num_examples, num_clients = 5000, 40
    draws = independent_draws(np.random.default_rng(1), num_examples, num_clients, num_examples // 10)
    times = np.bincount(draws.ravel(), minlength=num_examples)
    wanted = num_examples * stats.binom.pmf(np.arange(9), num_clients, 0.1)
    got = np.bincount(times, minlength=9)[:9]
    assert np.abs(got - wanted).max() < 5 * np.sqrt(wanted.max())
    # A twentieth of the pool: each client has its share of it, give or take what is hypergeometric.
    share = (draws < num_examples // 20).sum(1)
    assert np.abs(share - 25).max() < 5 * np.sqrt(25 * 0.95 * 0.9)
    # Two clients share a tenth of a tenth.
    shared = [len(np.intersect1d(one, two)) for one, two in pairwise(draws)]
    assert np.mean(shared) == pytest.approx(50, abs=5 * np.sqrt(50 * 0.9 * 0.9 / len(shared)))


def test_more_clients_leave_the_draws_of_the_first_as_they_are():
    few, many = (independent_draws(np.random.default_rng(2), 100, count, 10) for count in (3, 7))
    np.testing.assert_array_equal(many[:3], few)
    assert not np.array_equal(many[0], many[1])


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 60), st.data())
def test_disjoint_clients_share_nothing_and_leave_out_only_the_remainder(num_examples, data):
    num_clients = data.draw(st.integers(1, num_examples))
    size = data.draw(st.none() | st.integers(1, num_examples // num_clients))
    parts = disjoint(np.random.default_rng(0), num_examples, num_clients, size)
    assert parts.shape == (num_clients, size or num_examples // num_clients)
    assert parts.dtype == np.int32
    assert len(np.unique(parts)) == parts.size
    assert parts.min() >= 0
    assert parts.max() < num_examples
    assert size or num_examples - parts.size < num_clients
    assert (np.diff(parts, axis=1) > 0).all()


@pytest.mark.parametrize("size", [1, 2])
def test_disjoint_parts_are_uniform(size):
    owner = np.full((4000, 6), -1)
    rng = np.random.default_rng(3)
    for row in owner:
        row[disjoint(rng, 6, 3, size)] = np.arange(3)[:, None]
    chance = size / 6
    for client in range(3):
        assert np.abs((owner == client).sum(0) - 4000 * chance).max() < 5 * np.sqrt(4000 * chance * (1 - chance))
    if size == 1:
        return
    together = (owner[:, 0] == owner[:, 1]).sum()  # 1 of the 5 others has the same client
    assert abs(together - 800) < 5 * np.sqrt(4000 * 0.2 * 0.8)


def test_more_clients_or_examples_than_there_are_are_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match="11 clients share 10 examples"):
        disjoint(rng, 10, 11)
    with pytest.raises(InputError, match="0 clients"):
        disjoint(rng, 10, 0)
    for size in (0, 4):
        with pytest.raises(InputError, match=f"{size} examples for each of 3 clients"):
            disjoint(rng, 10, 3, size)
    with pytest.raises(InputError, match="0 clients"):
        independent_draws(rng, 10, 0, 1)
    for size in (0, 11):
        with pytest.raises(InputError, match=f"{size} examples for each client"):
            independent_draws(rng, 10, 1, size)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.integers(0, 4), min_size=6, max_size=60),
    st.integers(1, 6),
    st.sampled_from([0.01, 0.3, 5.0, np.inf]),
    st.integers(0, 1000),
)
def test_by_class_shares_deals_every_example_at_most_once_and_equally_many_to_each(labels, clients, alpha, seed):
    labels = np.array(labels)
    dealt = by_class_shares(np.random.default_rng(seed), labels, clients, alpha)
    assert dealt.shape == (clients, len(labels) // clients)
    assert len(np.unique(dealt)) == dealt.size
    assert (np.diff(dealt, axis=1) > 0).all()
    if len(labels) % clients == 0:
        np.testing.assert_array_equal(np.sort(dealt.ravel()), np.arange(len(labels)))


def shares_of_first(alpha, pool=(500, 300, 200), draws=2000):
    """Shares of three classes at the first of ten clients, [draw, class]; it finds all classes whole."""
    labels = np.repeat(np.arange(3), pool)
    rng = np.random.default_rng(1)
    first = [labels[by_class_shares(rng, labels, 10, alpha, 20)[0]] for _ in range(draws)]
    return np.stack([np.bincount(one, minlength=3) / 20 for one in first])


@pytest.mark.parametrize("alpha", cases([0.3, 3.0, np.inf], slow={3.0}))
def test_shares_of_classes_are_those_of_a_dirichlet_distribution(alpha):
    shares, pool = shares_of_first(alpha), np.array([0.5, 0.3, 0.2])
    total = 3 * alpha  # of the parameters of the Dirichlet distribution
    of_shares = 0.0 if np.isinf(alpha) else 1 / (total + 1)
    variance = pool * (1 - pool) * (of_shares + (1 - of_shares) / 20)  # of the draw, and of 20 examples by it
    np.testing.assert_allclose(shares.mean(0), pool, atol=5 * np.sqrt(variance.max() / len(shares)))
    np.testing.assert_allclose(shares.var(0), variance, rtol=0.15)
