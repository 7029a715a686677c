"""Values as people write them on a command line."""

import math

import pytest

from bench.errors import InputError
from bench.inputs.values import value, values


def test_a_range_has_its_ends_and_equal_ratios_or_steps():
    assert values("log:1e-4:1e-1:4") == [1e-4, 1e-3, 1e-2, 1e-1]
    assert values("lin:0:1:5") == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert values("log:2:2:1") == [2.0]


def test_a_list_keeps_numbers_words_and_infinity():
    assert values("0.1, 1,inf,queue,True") == [0.1, 1, math.inf, "queue", True]
    assert isinstance(value("8"), int)
    assert isinstance(value("8.0"), float)


@pytest.mark.parametrize(
    "text",
    ["log:0:1:3", "log:1:2", "lin:2:1:3", "log:1:2:0", "lin:a:2:3", "log:1:2:3:4", "1,,2", "", "log:1:2:999999999"],
)
def test_what_is_no_range_is_refused(text):
    with pytest.raises(InputError):
        values(text)


@pytest.mark.parametrize("word", ["1e39", "-4e38", "1" + 400 * "0"])
def test_a_number_beyond_single_precision_is_refused(word):
    with pytest.raises(InputError, match="is too large"):
        values(f"1,{word}")
    assert values("inf,-inf") == [math.inf, -math.inf]
