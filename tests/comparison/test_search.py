"""What methods are tuned over: as many settings for all, over the whole space first, then near the best."""

import math

import numpy as np
import pytest

from bench.algorithms.search_space import Interval
from bench.comparison.search import CLOSER, first_of, first_settings, near, portions, searched
from bench.errors import InputError

LISTS = {"step_size": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], "personalization": [0.1, 1.0, 10.0]}
SPACE = {"step_size": Interval(1e-3, 1.0), "beta1": Interval(0.0, 0.9, log=False), "optimiser": ["adam", "yogi"]}


def test_all_combinations_where_they_are_few():
    assert first_settings({"a": [1, 2], "b": ["x"]}, 8) == [{"a": 1, "b": "x"}, {"a": 2, "b": "x"}]
    assert first_settings({}, 8) == [{}]
    assert len(first_settings(LISTS, 24)) == 24


@pytest.mark.parametrize("most", [1, 3, 7, 8, 64, 101])
def test_first_and_later_ones_are_as_many_as_wanted(most):
    first, later = portions(most)
    assert first + sum(later) == most
    assert first >= most / 2
    assert len(first_settings(SPACE, most)) == first
    assert len(later) in (0, len(CLOSER))


def test_a_list_that_is_too_long_is_spread_over():
    chosen = first_settings(LISTS, 16)
    assert len({tuple(setting.values()) for setting in chosen}) == 8
    assert {setting["personalization"] for setting in chosen} == {0.1, 1.0, 10.0}
    # Each value of the long list once or twice, as the name of the sequence promises; a corner of the grid would not.
    assert len({setting["step_size"] for setting in chosen}) >= 6


def test_an_interval_is_filled_evenly_in_its_own_scale():
    """A share of a Halton sequence in an interval differs from its length by little: a bound on the discrepancy."""
    chosen = first_settings(SPACE, 256)
    logs = np.sort([math.log(setting["step_size"] / 1e-3) / math.log(1e3) for setting in chosen])
    betas = np.sort([setting["beta1"] / 0.9 for setting in chosen])
    for places in (logs, betas):
        even = (np.arange(len(places)) + 0.5) / len(places)
        assert np.abs(places - even).max() < 0.04
    assert sum(setting["optimiser"] == "adam" for setting in chosen) == pytest.approx(64, abs=4)


@pytest.mark.parametrize("space", [LISTS, SPACE])
def test_the_choice_is_always_the_same_and_grows(space):
    assert first_settings(space, 8) == first_settings(space, 8)
    few, more = first_settings(space, 5), first_settings(space, 20)
    assert all(setting in more for setting in few)


def test_nearer_settings_lie_in_a_box_and_are_new():
    best = {"step_size": 0.1, "beta1": 0.45, "optimiser": "adam"}
    tried = [best]
    for half in CLOSER:
        chosen = near(SPACE, best, half, 16, tried)
        assert len(chosen) == 16
        steps = np.log([setting["step_size"] for setting in chosen]) - math.log(0.1)
        assert np.abs(steps).max() <= half * math.log(1e3) + 1e-3
        assert np.abs([setting["beta1"] - 0.45 for setting in chosen]).max() <= half * 0.9 + 1e-3
        assert {setting["optimiser"] for setting in chosen} == {"adam", "yogi"}
        assert not any(setting in tried for setting in chosen)
        tried += chosen


def test_the_search_goes_beyond_an_end_as_far_as_the_bounds_say():
    best = {"step_size": 1.0, "beta1": 0.9, "optimiser": "adam"}
    chosen = near(SPACE, best, 0.25, 32, [best])
    assert max(setting["step_size"] for setting in chosen) > 3  # 1,000 ** .25 is 5.6
    assert max(setting["beta1"] for setting in chosen) == 0.9
    narrow = {"step_size": Interval(1e-3, 1.0, highest=2.0)}
    assert max(s["step_size"] for s in near(narrow, {"step_size": 1.0}, 0.25, 32, [])) == 2.0


def test_a_search_with_a_planted_best_beyond_the_end_finds_it():
    """Two looks near the best, from an interval whose end is a factor of 5 below the best step."""

    def loss(setting):
        return abs(math.log(setting["step_size"] / 5.0)) + abs(setting["beta1"] - 0.3)

    _, later = portions(64)
    tried = first_settings(SPACE, 64)
    for half, number in zip(CLOSER, later, strict=True):
        tried += near(SPACE, min(tried, key=loss), half, number, tried)
    spread = first_settings(SPACE, 2 * 64)
    assert len(tried) == len(spread) == 64
    assert loss(min(tried, key=loss)) < 0.3 < loss(min(spread, key=loss))


def test_numbers_of_a_list_are_looked_for_next_to_the_best_until_all_have_been_tried():
    tried = [{"step_size": 4.0, "personalization": 1.0}]
    chosen = near(LISTS, tried[0], 0.125, 100, tried)
    assert {setting["step_size"] for setting in chosen} <= {3.0, 4.0, 5.0}
    assert 5 <= len(chosen) <= 8
    assert near({}, {}, 0.25, 4, [{}]) == []


def test_an_interval_of_the_command_line():
    assert searched("log:1e-3:1") == Interval(1e-3, 1.0)
    assert searched("lin:0:.9") == Interval(0.0, 0.9, log=False)
    assert searched("1,2,inf") == [1, 2, math.inf]
    assert searched("log:1:100:3") == [1.0, 10.0, 100.0]
    assert first_of({"a": searched("log:1e-3:1"), "b": [3, 4]}) == {"a": 1e-3, "b": 3}


@pytest.mark.parametrize("text", ["log:1", "log:0:1", "log:2:1", "lin:a:2", "log:1:inf", "lin:nan:1", "log:1:1"])
def test_an_interval_that_is_none_is_refused(text):
    with pytest.raises(InputError, match="interval"):
        searched(text)
