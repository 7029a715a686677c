"""The arguments that all methods on silos share: in every signature, with the names, defaults and order of a sweep."""

import inspect

import pytest
from tiny_silos import random_records

from bench.algorithms import ALGORITHMS
from bench.algorithms.base import Algorithm, Method, Scalar
from bench.algorithms.parts.silo_arguments import ONE_PHASE, SiloArguments, silo_method
from bench.data.task import Task
from bench.sweeps.spec import parameters

NEEDED = {"num_sampled": 3, "phase_rounds": 2, "clip_norm": 0.5, "noise_multiplier": 1.5}


@silo_method(fixed=ONE_PHASE, sampler="once")
def echo(task: Task, shared: SiloArguments, *, step_size: Scalar, radius: Scalar = 2.0) -> Algorithm:
    """Answers with its arguments."""
    return shared, step_size, radius


SIGNATURES = {
    "minibatch_sgd": (
        "num_sampled phase_rounds step_size clip_norm noise_multiplier "
        "sampler=once batch_size=1 smoothing=none smoothing_radius=0.0 moreau_smoothness=1.0"
    ),
    "subgradient": (
        "num_sampled phase_rounds step_size clip_norm noise_multiplier regularization=0.0 radius=inf "
        "sampler=all batch_size=1 smoothing=none smoothing_radius=0.0 moreau_smoothness=1.0"
    ),
    "accelerated": (
        "num_sampled phase_rounds step_size clip_norm noise_multiplier "
        "regularization=0.0 radius=inf variance=0.0 gap=1.0 num_stages=1 "
        "sampler=all batch_size=1 smoothing=none smoothing_radius=0.0 moreau_smoothness=1.0"
    ),
    "localized": (
        "num_sampled num_phases phase_rounds step_size regularization clip_norm noise_multiplier "
        "growth=3.0 constraint=1.0 solver=minibatch_sgd share=0.5 rounds_ratio=1.0 "
        "sampler=all batch_size=1 smoothing=none smoothing_radius=0.0 moreau_smoothness=1.0"
    ),
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_a_sweep_sees_the_same_arguments_and_defaults_in_the_same_order_as_ever(name):
    """Results have their columns in this order, and ids of points hold the defaults."""
    keywords, traced = parameters(ALGORITHMS[name])
    shown = [n if p.default is p.empty else f"{n}={p.default}" for n, p in keywords.items()]
    assert shown == SIGNATURES[name].split()
    shared = {"clip_norm", "noise_multiplier", "smoothing_radius", "moreau_smoothness"}
    own = {"step_size", "regularization", "radius", "variance", "gap", "growth", "constraint"}
    assert traced == (shared | own) & set(keywords)


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
