"""What methods are tuned over: ranges as people write them, and equally many settings for all."""

import math

import pytest

from bench.comparison.search import settings, value, values
from bench.errors import InputError


def test_a_range_has_its_ends_and_equal_ratios_or_steps():
    assert values("log:1e-4:1e-1:4") == [1e-4, 1e-3, 1e-2, 1e-1]
    assert values("lin:0:1:5") == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert values("log:2:2:1") == [2.0]


def test_a_list_keeps_numbers_words_and_infinity():
    assert values("0.1, 1,inf,queue,True") == [0.1, 1, math.inf, "queue", True]
    assert isinstance(value("8"), int)
    assert isinstance(value("8.0"), float)


@pytest.mark.parametrize(
    "text", ["log:0:1:3", "log:1:2", "lin:2:1:3", "log:1:2:0", "lin:a:2:3", "log:1:2:3:4", "1,,2", ""]
)
def test_what_is_no_range_is_refused(text):
    with pytest.raises(InputError):
        values(text)


SPACE = {"step_size": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], "personalization": [0.1, 1.0, 10.0]}


def test_all_combinations_where_they_are_few():
    assert settings({"a": [1, 2], "b": ["x"]}, 8) == [{"a": 1, "b": "x"}, {"a": 2, "b": "x"}]
    assert settings({}, 8) == [{}]
    assert len(settings(SPACE, 24)) == 24


def test_a_larger_space_gets_exactly_so_many_all_different_and_spread():
    chosen = settings(SPACE, 8)
    assert len({tuple(setting.values()) for setting in chosen}) == 8
    assert {setting["personalization"] for setting in chosen} == {0.1, 1.0, 10.0}
    # Each value of the long list once or twice, as the name of the sequence promises; a corner of the grid would not.
    assert len({setting["step_size"] for setting in chosen}) >= 6


def test_the_choice_is_always_the_same_and_grows():
    assert settings(SPACE, 8) == settings(SPACE, 8)
    few, more = settings(SPACE, 5), settings(SPACE, 12)
    assert all(setting in more for setting in few)
