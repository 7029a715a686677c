"""What a tested run costs."""

import math

import pytest
from tiny_comparison import SMALL, TASK

from bench.algorithms import ALGORITHMS
from bench.comparison.plan import make_plan
from bench.comparison.request import make_request
from bench.comparison.stages import cost_columns
from bench.comparison.statements import releases_of
from bench.privacy.selection import epsilon_of_best
from bench.sweeps.spec import arguments

METHOD = ALGORITHMS["dp_fedavg"]
ARGS = {
    "num_sampled": 4,
    "batch_size": 3,
    "step_size": 0.1,
    "server_step_size": 1.0,
    "clip_norm": 1.0,
    "noise_multiplier": 2.0,
    "num_steps": 5,
    "sampler": "poisson",
}


def cost(target, method=METHOD, **changes):
    """Of a run of seven rounds, with a release in each."""
    plan = make_plan(make_request(METHOD, **SMALL | {"task": "synthetic", "baselines": [], "rounds": 7}))
    candidate = plan.candidates["dp_fedavg"]._replace(method=method)
    return cost_columns(candidate, [TASK(0)], arguments(METHOD, ARGS | changes), "tight", target, 64)


def test_communication_and_gradients_are_those_of_all_rounds():
    """Four of twelve users in each of seven rounds: six numbers up, five steps of three examples."""
    found = cost(1.0)
    assert found["floats_up"] == pytest.approx(7 * 4 * 6)
    assert found["gradients"] == pytest.approx(7 * 4 * 5 * 3)
    assert found["examples"] == pytest.approx(7 * 4 * 3)


def test_epsilon_counts_the_choice_among_as_many_settings():
    release = releases_of(METHOD, TASK(0), 1e-4, ARGS)["tight"]
    assert cost(1.0)["tuned_epsilon"] == epsilon_of_best(release, 7, 64)
    assert cost(1.0)["tuned_epsilon"] > epsilon_of_best(release, 7, 1)


def test_who_reveals_nothing_or_promises_nothing_pays_nothing_or_everything():
    assert cost(0.0)["tuned_epsilon"] == 0.0
    assert cost(math.inf, noise_multiplier=0.0)["tuned_epsilon"] == math.inf


def test_what_a_method_does_not_say_is_missing():
    assert math.isnan(cost(1.0, METHOD._replace(cost=None))["floats_up"])
