"""Dealing examples to clients: nothing is lost, nothing is dealt twice."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.data.partition import by_label, by_style, hold_out, pack


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


def test_packing_into_too_little_room_is_an_error():
    with pytest.raises(ValueError, match="broadcast"):
        pack([np.ones(3), np.ones(2)], 2)


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
