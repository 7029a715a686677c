"""Tables derived from runs: made once for each table of runs, and dropped with it."""

import gc
import weakref

import pandas as pd
import pytest

from figures.shared.derived import derived


def test_it_is_made_once_for_a_table_and_its_arguments():
    calls = []

    @derived
    def doubled(runs, times, *, names=()):
        calls.append((times, names))
        return runs["x"] * times

    first, second = pd.DataFrame({"x": [1, 2]}), pd.DataFrame({"x": [1, 2]})
    assert doubled(first, 2) is doubled(first, 2)
    assert doubled(first, 2, names=["a"]).tolist() == [2, 4]
    assert doubled(first, 3).tolist() == [3, 6]
    assert doubled(second, 2).tolist() == [2, 4]
    assert calls == [(2, ()), (2, ["a"]), (3, ()), (2, ())]


def test_results_go_with_the_table():
    @derived
    def once(runs):
        return runs.assign(y=1)

    runs = pd.DataFrame({"x": [1, 2]})
    result = weakref.ref(once(runs))
    gc.collect()
    assert result() is not None
    del runs
    gc.collect()
    assert result() is None


def test_a_call_that_raises_is_made_again():
    calls = []

    @derived
    def fails(runs):
        calls.append(1)
        raise ValueError("no")

    runs = pd.DataFrame({"x": [1]})
    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            fails(runs)
    assert len(calls) == 2
