"""What others wrote down is of the types that are declared, or one line names it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

import bench
from bench.errors import InputError
from bench.inputs.declared import check


@pytest.mark.parametrize(
    ("annotation", "value", "said"),
    [
        (int | None, "2", "x is '2': give a whole number or None"),
        (int | None, 1.5, "x is 1.5: give a whole number or None"),
        (int | None, True, "x is True: give a whole number or None"),
        (float, None, "x is None: give a number"),
        (bool, 1, "x is 1: give True or False"),
        (Mapping[str, Any] | None, {1: [2]}, r"x is \{1: \[2\]\}: give a dictionary with names as keys or None"),
        (float | Sequence[float], "any", r"x is 'any': give a number or a list, each entry a number"),
        (float | Sequence[float], [1, "2"], r"x is \[1, '2'\]: give a number or a list"),
        (str, None, "x is None: give text"),
    ],
)
def test_another_type_is_refused(annotation, value, said):
    with pytest.raises(InputError, match=said):
        check("x", value, annotation)


@pytest.mark.parametrize(
    ("annotation", "value"),
    [(float, 1), (int, np.int64(3)), (float, np.float32(0.5)), (list[float], (1, 2.0)), (Callable | None, "any")],
)
def test_what_is_declared_passes_and_what_is_declared_otherwise_is_not_checked(annotation, value):
    check("x", value, annotation)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"name": 5}, "name of a problem is 5: give text"),
        ({"delta": "b"}, "delta of a problem is 'b': give a num"),
        ({"also": ("b", 1)}, "also of a problem is"),
    ],
)
def test_the_fields_of_a_problem_are_checked(fields, said):
    with pytest.raises(InputError, match=said):
        bench.Problem(**{"name": "a", "test": len, "metric": "test_loss"} | fields)
