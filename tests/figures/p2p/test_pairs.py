"""Comparisons repetition by repetition, and with published points."""

import numpy as np
import pandas as pd
import pytest

from figures.p2p import pairs
from figures.shared.margins import LEVEL
from figures.shared.verdicts import NotTestable

INSTANCES = [1.0, 5.0, 9.0, 2.0]  # what an instance adds to whatever is run on it


def rows(*cells: list[float], y="test_accuracy", **columns) -> pd.DataFrame:
    """A cell for each list, whose values are those of its repetitions."""
    frames = [
        pd.DataFrame({"p": float(cell), "trial": range(len(values)), "seed": range(len(values)), y: values})
        for cell, values in enumerate(cells)
    ]
    return pd.concat(frames, ignore_index=True).assign(**columns)


def test_what_an_instance_adds_to_both_does_not_count():
    first = rows([value + gain for value, gain in zip(INSTANCES, (0.1, 0.2, 0.1, 0.2), strict=True)])
    (found,) = pairs.ahead(first.sample(frac=1, random_state=0), rows(INSTANCES), "p", "test_accuracy").values()
    assert (found.value, found.repetitions) == (pytest.approx(0.15), 4)
    assert found.p_holds < LEVEL


def test_an_error_is_better_where_it_is_smaller_and_may_be_above_by_what_is_allowed():
    first, second = rows([2.0, 2.1], [1.0, 1.1], y="test_rmse"), rows([1.0, 1.0], [2.0, 2.2], y="test_rmse")
    assert [one.value for one in pairs.ahead(first, second, "p", "test_rmse").values()] == pytest.approx([-1.05, 1.05])
    near = pairs.ahead(first, second, "p", "test_rmse", allowed=2.0)
    assert near[0.0].value == pytest.approx(0.95)


def test_what_diverged_is_worse_than_anything_but_decides_nothing_for_the_other():
    good, bad = rows([1.0, 1.0, 1.0]), rows([1.0, np.nan, 1.0])
    missed, open_, both = (
        pairs.ahead(*pair, "p", "test_accuracy")[0.0] for pair in ((bad, good), (good, bad), (bad, bad))
    )
    assert missed.value == both.value == -np.inf
    assert (open_.value, open_.decided) == (0.0, False)  # the mean of the two instances on which neither diverged


def test_only_repetitions_that_both_have_count():
    found = pairs.ahead(rows([2.0, 2.5, 90.0]), rows([1.0, 1.0]), "p", "test_accuracy")[0.0]
    assert (found.value, found.repetitions) == (pytest.approx(1.25), 2)


def test_a_cell_that_only_one_has_is_said():
    with pytest.raises(NotTestable, match=r"both sides of the comparison at p = 1\.0"):
        pairs.ahead(rows([1.0], [1.0]), rows([2.0]), "p", "test_accuracy")
    with pytest.raises(NotTestable, match="several runs of the same repetition"):
        pairs.ahead(pd.concat([rows([1.0])] * 2), rows([2.0]), "p", "test_accuracy")


def test_the_edges_of_both_sides_are_kept_cell_by_cell():
    first = rows([1.0, 2.0], [1.0, 2.0]).assign(edge=["a = 1; b = 2"] * 2 + [""] * 2)
    second = rows([0.0, 0.0], [0.0, 0.0]).assign(edge=[np.nan] * 2 + ["c = 3"] * 2)
    found = pairs.ahead(first, second, "p", "test_accuracy")
    assert [one.edges for one in found.values()] == [("a = 1", "b = 2"), ("c = 3",)]
    assert pairs.near(first, pd.Series({0.0: 1.5, 1.0: 1.5}), "p", "test_accuracy", 9.0)[0.0].edges == (
        "a = 1",
        "b = 2",
    )


def test_near_a_published_number_either_way():
    theirs = pd.Series({0.0: 10.0, 1.0: 10.0, 2.0: 10.0})
    measured = rows([10.4, 10.5, 10.6], [8.4, 8.5, 8.6], [10.0, 11.0, 11.8])
    found = pairs.near(measured, theirs, "p", "test_accuracy", 1.0)
    assert [one.value for one in found.values()] == pytest.approx([0.5, -0.5, 0.2 / 3])
    assert [(one.p_holds < LEVEL, one.p_fails < LEVEL) for one in found.values()] == [
        (True, False),
        (False, True),
        (False, False),
    ]
    share = pairs.near(measured, theirs, "p", "test_accuracy", 0.1, share=True)
    assert [one.value for one in share.values()] == pytest.approx([0.05, -0.05, 0.02 / 3])
    lost = pairs.near(rows([10.0, np.nan]), theirs, "p", "test_accuracy", 1.0)[0.0]
    assert (lost.value, lost.p_holds) == (-np.inf, 1)
