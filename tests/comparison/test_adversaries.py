"""The epsilon of a comparison holds against the strongest adversary that a method names, unless it says otherwise."""

import pytest
from toy_problems import TOYS

from bench.algorithms import ALGORITHMS
from bench.algorithms.dp_dsgd import OUTSIDERS
from bench.algorithms.dp_scaffold import SERVER, THIRD
from bench.comparison.plan import make_plan
from bench.comparison.problems import problem_named
from bench.comparison.request import make_request
from bench.comparison.statements import Statement, calibrated, reading
from bench.errors import InputError
from bench.privacy.events import ADD_OR_REMOVE


def test_noise_shared_with_neighbours_does_not_count_against_the_other_agents():
    """With pair noise, dp_dsgd needs as much noise of its own as without, since the other agents know what is shared.
    DECOR says that it protects against outsiders alone, and needs less."""
    problem = problem_named("linear_p2p")
    task, method = problem.test_tasks()(0), ALGORITHMS["dp_dsgd"]
    request = make_request(method, task="linear_p2p", baselines=["DECOR (against outsiders)"])
    plan = make_plan(request._replace(fixed={"pair_noise_ratio": 3.0}))
    mine, decor = plan.candidates["dp_dsgd"], plan.candidates["DECOR (against outsiders)"]
    noise = {}
    for name, one, ratio in (("alone", mine, 0.0), ("shared", mine, 3.0), ("decor", decor, 3.0)):
        args = {**one.args, **one.settings[0], "pair_noise_ratio": ratio}
        noise[name] = calibrated(name, method, task, one.statement, args, 1.0, 30)[0]
    assert noise["shared"] == noise["alone"]
    assert noise["decor"] < 0.5 * noise["shared"]
    assert mine.against == "all other agents together"
    assert decor.against == OUTSIDERS


def test_a_weaker_adversary_that_a_method_also_names_does_not_lower_its_noise():
    """DP-SCAFFOLD with one step of all clients also names a third party, for whom the noise of all clients counts."""
    method = ALGORITHMS["dp_scaffold"]
    task = TOYS["dp_scaffold"].task()
    args = TOYS["dp_scaffold"].args | {"batch_size": 2, "num_steps": 1, "sampler": "poisson"}
    statement = Statement("record", ADD_OR_REMOVE, 1e-4)
    name, release = reading("x", method, task, statement, args, 5)
    assert name in ("paper", "tight")
    assert release.protects_against == SERVER
    third = statement._replace(against=THIRD)
    assert reading("x", method, task, third, args, 5)[0] == "third_party"
    with pytest.raises(InputError, match="x protects"):
        reading("x", method, task, statement._replace(against="nobody"), args, 5)
