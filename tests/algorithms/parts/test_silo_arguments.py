"""The arguments that all methods on silos share: in every signature, with the names and defaults of a sweep."""

import inspect

import pytest
from tiny_silos import random_records

from bench.algorithms.base import Algorithm, Method, Scalar
from bench.algorithms.parts.shared_arguments import sharing
from bench.algorithms.parts.silo_arguments import ONE_PHASE, SiloArguments
from bench.data.task import Task
from bench.sweeps.spec import parameters

NEEDED = {"num_sampled": 3, "phase_rounds": 2, "clip_norm": 0.5, "noise_multiplier": 1.5}


@sharing(SiloArguments, fixed=ONE_PHASE, sampler="once")
def echo(task: Task, shared: SiloArguments, *, step_size: Scalar, radius: Scalar = 2.0) -> Algorithm:
    """Answers with its arguments."""
    return shared, step_size, radius


def test_a_factory_is_given_the_shared_arguments_as_one_and_its_own_by_name():
    shared, step_size, radius = echo(random_records(), step_size=0.1, **NEEDED)
    assert shared == SiloArguments(**NEEDED, **ONE_PHASE, sampler="once")
    assert (step_size, radius) == (0.1, 2.0)
    assert echo(random_records(), step_size=0.1, radius=3.0, **NEEDED | {"sampler": "all"})[0].sampler == "all"
    assert inspect.getdoc(echo) == "Answers with its arguments."
    assert parameters(Method(echo, None, 1))[0]["noise_multiplier"].annotation == Scalar


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({}, "missing a required argument: 'step_size'"),
        ({"step_size": 1.0, "num_phases": 2}, "unexpected keyword argument 'num_phases'"),
    ],
)
def test_arguments_that_a_method_lacks_or_does_not_have_are_refused(args, message):
    with pytest.raises(TypeError, match=message):
        echo(random_records(), **NEEDED, **args)


def test_the_shared_ones_are_picked_from_all_arguments_of_a_method():
    whole = NEEDED | {"step_size": 0.1, "num_phases": 2, "share": 0.25}
    assert SiloArguments.of(whole) == SiloArguments(**NEEDED, num_phases=2, share=0.25)
    assert SiloArguments.of(NEEDED) == SiloArguments(**NEEDED, **ONE_PHASE)
