"""Arguments of methods: which are traced, their defaults, and values that are refused."""

import math
from typing import Annotated

import numpy as np
import pytest
from tiny_sweeps import WALK

from bench.algorithms import ppsgd
from bench.algorithms.base import Method, Scalar
from bench.algorithms.ranges import Range
from bench.errors import InputError
from bench.sweeps.spec import arguments, parameters

POINT = dict(step_size=0.1, personalization=1.0, clip_norm=1.0, noise_multiplier=1.0, num_sampled=4, batch_size=3)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"noise_multiplier": -1.0}, "noise_multiplier is -1.0: it must be at least 0"),
        ({"clip_norm": 0.0}, "clip_norm is 0.0: it must be positive"),
        ({"step_size": math.inf}, "step_size is inf: it must be positive and finite"),
        ({"step_size": math.nan}, "step_size is nan"),
        ({"step_size": "0.1"}, "step_size is 0.1: it must be a number"),
        ({"num_sampled": 2.5}, "num_sampled is 2.5: it must be a whole number"),
        ({"batch_size": None}, "batch_size is None: it must be a number"),
    ],
)
def test_a_value_out_of_range_is_refused(changes, said):
    assert arguments(ppsgd.METHOD, POINT)["step_size"] == 0.1
    with pytest.raises(InputError, match=said):
        arguments(ppsgd.METHOD, POINT | changes)


def anybodys(
    task, *, bound: Scalar, gap: Scalar, tau: Scalar, radius: Scalar, momentum: Scalar, num_sampled: int, epsilon: float
):
    """A method whose arguments are called like those of the suite, and mean something else."""


def bounded(task, *, bound: Annotated[Scalar, Range(lambda v: v < 0, "negative")]):
    """A method with a range of its own for an argument that is called like one of the suite."""


def test_a_range_belongs_to_the_method_that_states_it():
    anything = dict.fromkeys(("bound", "gap", "tau", "radius", "momentum", "num_sampled", "epsilon"), -2)
    assert arguments(Method(anybodys, None, 1), anything) == anything
    assert arguments(Method(bounded, None, 1), {"bound": -1}) == {"bound": -1.0}
    with pytest.raises(InputError, match=r"bound is 1\.0"):
        arguments(Method(bounded, None, 1), {"bound": 1})
    assert parameters(Method(bounded, None, 1))[1] == {"bound"}


def test_a_label_has_no_range():
    assert arguments(ppsgd.METHOD, POINT | {"bound": -1.0, "label": math.nan})["step_size"] == 0.1


def test_arguments_are_plain_values_with_the_defaults_filled_in():
    given = arguments(ppsgd.METHOD, {"label": 3} | {name: np.float64(value) for name, value in POINT.items()})
    assert given["sampler"] == "fixed"
    assert "label" not in given
    assert (type(given["num_sampled"]), given["num_sampled"]) == (int, 4)
    assert (type(given["step_size"]), given["step_size"]) == (float, 0.1)


def test_a_missing_argument_is_named():
    with pytest.raises(InputError, match="the points of ppsgd have no column clip_norm"):
        arguments(ppsgd.METHOD, {name: value for name, value in POINT.items() if name != "clip_norm"})


def as_text(task, *, step_size: "Scalar", num_steps: "int" = 1):
    """As with `from __future__ import annotations`, where every annotation is a string."""


def nothing_traced(task, *, step_size: float):
    """A method that forgot `Scalar`."""


def test_which_arguments_are_traced_follows_from_the_annotations():
    assert parameters(Method(as_text, None, 1))[1] == {"step_size"}
    assert parameters(WALK)[1] == {"step_size", "noise_multiplier"}
    with pytest.raises(InputError, match="no argument of nothing_traced is annotated with Scalar"):
        parameters(Method(nothing_traced, None, 1))
