"""What methods are compared on, made in Python: a Problem, a function trial -> Task, a Task."""

import dataclasses
import math
from functools import partial
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from tiny_comparison import SMALL, compared
from tiny_sweeps import walk

import bench
from bench.comparison.baselines import LEVELS
from bench.comparison.plan import make_plan
from bench.comparison.problem import Problem
from bench.comparison.problems import problem_named
from bench.comparison.request import make_request
from bench.comparison.statements import Statement
from bench.data.task import Task
from bench.data.tasks import registry
from bench.data.tasks.peers import linear_p2p
from bench.data.tasks.school import made_up_schools
from bench.errors import InputError
from bench.models.additive import scores, squared_loss
from bench.privacy.accounting import noise_multiplier
from bench.privacy.events import ADD_OR_REMOVE, PRIVACY_UNITS, REPLACE, full_gaussian
from bench.sweeps.spec import parameters


def errors(params, task):
    """Mean squared error of regression, on the test and the validation examples."""
    measured = {}
    for part in ("test", "validation"):
        inputs, targets = task.evaluation[part]
        measured[f"{part}_error"] = jnp.mean(jnp.square(scores(params, inputs, task.train[0]) - targets))
    return measured


def lines(trial, shift=0.0):
    """Twelve clients with a line each: four examples to train on, two to tune on, two to test."""
    rng = np.random.default_rng(trial)
    slopes = 1 + shift + 0.2 * rng.standard_normal((12, 2))
    inputs = rng.uniform(-1, 1, (12, 8, 2))
    inputs, targets = (jnp.asarray(a, jnp.float32) for a in (inputs, np.einsum("nmd,nd->nm", inputs, slopes)))
    return Task(
        init_params=jnp.zeros(2),
        num_examples=jnp.full(12, 4, jnp.int32),
        train=(inputs[:, :4], targets[:, :4]),
        evaluation={"validation": (inputs[:, 4:6], targets[:, 4:6]), "test": (inputs[:, 6:], targets[:, 6:])},
        loss=squared_loss,
        metrics=errors,
    )


def mine(**changes):
    return Problem(
        **({"name": "lines", "test": lines, "metric": "test_error", "tuned_by": "validation_error"} | changes)
    )


def planned(task, methods=(), **options):
    return make_plan(make_request(methods, **(SMALL | {"task": task} | options)))


def test_a_problem_of_ones_own_is_compared_with_the_methods_that_fit(tmp_path):
    options = {"epsilons": [4.0], "seeds": 2, "num_settings": 2, "rounds": 3, "out": tmp_path}
    fit = {"PPSGD", "Global private SGD", "DP-FedAvg", "Local learning"}
    assert {*planned(mine(), walk, **options).candidates} == fit | {"walk"}
    done = compared(walk, task=mine(), baselines=["PPSGD", "Local learning"], **options)
    assert done.baselines == ["PPSGD", "Local learning"]
    assert set(done.runs["task"]) == {"lines"}
    assert np.isfinite(done.runs["test_error"]).all()
    assert "test_error" not in done.tuning.runs
    assert set(done.runs["privacy_unit_compared"]) == {"user"}
    assert done.plan.request.folder == tmp_path / "compare" / "lines_walk"


@pytest.mark.slow
def test_schools_of_unequal_size_are_compared_with_learning_alone(tmp_path):
    """Full batches: epsilon is that of the Gaussian mechanism, whatever the size of a school."""
    schools = partial(made_up_schools, num_schools=6)
    on = dataclasses.replace(
        problem_named("school"), name="schools", test=schools, tuning=partial(schools, part="validation")
    )
    done = compared(task=on, epsilons=[2.0], seeds=2, num_settings=2, rounds=3, out=tmp_path)
    assert done.baselines == ["MR-MTL", "FedAvg of records", "Private local learning", "Local learning"]
    assert done.plan.unfit == {}
    private = done.runs[done.runs["target_epsilon"] == 2.0]
    sigma = noise_multiplier(2.0, lambda sigma: full_gaussian(sigma, delta=1e-3), 3)
    np.testing.assert_allclose(private["noise_multiplier"], sigma, rtol=1e-3)
    assert np.isfinite(done.runs["test_squared_error"]).all()


def test_a_task_and_a_function_of_trials_are_problems_where_the_metrics_say_it():
    for given in (lines, lines(0)):
        request = make_request(task=given)
        on = request.problem
        assert (on.metric, on.tuned_by, on.best) == ("test_error", "validation_error", "min")
        assert request.statement == Statement("user", ADD_OR_REMOVE, 1e-5)
    assert jnp.array_equal(on.test_tasks()(3).train[0], lines(0).train[0])
    assert "one split" in on.held_out
    assert on.title == on.name


def test_a_problem_of_the_suite_says_what_each_of_its_metrics_is_measured_on():
    """A mean over clients on a distribution that no client meets must be called so."""
    for name in registry.compared():
        problem = problem_named(name)
        assert problem.metric in problem.measured_on, name
        assert all(problem.measured_on.values()), name
        if "dirichlet" in name:
            assert "own mix of" in problem.measured_on[problem.metric]
            assert any("the same" in words for words in problem.measured_on.values())
    with pytest.raises(InputError, match="no metric as common of problem lines is called 'accuracy'"):
        mine(common="accuracy")


@pytest.mark.parametrize("name", registry.compared())
def test_every_baseline_of_a_problem_has_something_to_tune(name):
    """With nothing to tune, a baseline has one setting where the others of its table have as many as were asked for."""
    problem = problem_named(name)
    for label, variant in problem.baselines.items():
        keywords, _ = parameters(variant.method)
        space = {**problem.level.space, **problem.space, **variant.space}
        free = [argument for argument in space if argument in keywords and argument not in variant.args]
        assert free, f"{label} on {name}"


@pytest.mark.parametrize("wrong", [None, 3, Path("clients.npz"), ["digits"], Task], ids=repr)
def test_what_is_no_task_is_one_line(wrong):
    with pytest.raises(InputError, match=r"give a name, 'FILE.npz', 'FILE.csv', a bench.Problem, a Task"):
        bench.compare(task=wrong)


def one_metric(params, task):
    return {"test_error": errors(params, task)["test_error"]}


def unreadable(params, task):
    return {"test_error": params.nothing}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (lambda trial: dataclasses.replace(lines(trial), metrics=one_metric), "which measures test_error: name them"),
        (lambda trial: dataclasses.replace(lines(trial), metrics=unreadable), "nothing readable: name them"),
        (lambda trial: lines(trial, shift=np.nan), "have a number that is not finite, in row 0"),
        (lambda trial: trial, "returns int for a trial"),
    ],
)
def test_a_task_that_does_not_say_what_it_is_tuned_by_is_refused(given, words):
    with pytest.raises(InputError, match=words):
        make_request(task=given)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"tuned_by": ""}, "would be tuned on its test set, by test_error"),
        ({"privacy_unit": "usr"}, "no privacy unit is called 'usr'"),
        ({"neighbors": "add one"}, "no neighbouring relation is called"),
        ({"best": "highest"}, "best of problem lines is 'highest'"),
        ({"name": "a/b"}, "a problem has the name 'a/b': give a name"),
        ({"delta": 2.0}, "delta of problem lines=2.0: give a probability"),
        ({"baselines": {"a": 1}}, "baseline a of problem lines is 1: give a"),
        ({"space": {"step_size": 3}}, "`space` of problem lines has 3 for step_size: give a list of values"),
        ({"measured_on": {"gradients": ""}}, "has a metric gradients, which is a column of every comparison"),
    ],
)
def test_a_problem_that_cannot_be_used_is_refused_when_it_is_made(changes, words):
    with pytest.raises(InputError, match=words):
        mine(**changes)


def test_rounds_that_nobody_can_make_and_a_task_in_place_of_a_function_are_named_where_they_are_used():
    with pytest.raises(InputError, match="rounds is -1: it must be a whole number"):
        make_request(task=mine(rounds=-1))
    with pytest.raises(InputError, match="the task function of lines fails on trial 0: TypeError: 'Task' object"):
        planned(mine(test=lines(0)))


def test_tuning_data_that_are_the_test_data_under_another_name_are_refused():
    with pytest.raises(InputError, match="test and tuning of problem lines use the same data"):
        planned(mine(tuned_by="", tuning=lambda trial: lines(trial)))
    assert planned(mine(tuned_by="", tuning=lambda trial: lines(trial + 1000))).unfit == {}


@pytest.mark.parametrize("field", ["metric", "tuned_by"])
def test_a_metric_that_the_task_does_not_have_is_refused_before_anything_runs(tmp_path, field):
    with pytest.raises(InputError, match=r"measures test_error, validation_error, not tset_error"):
        compared(task=mine(**{field: "tset_error", "best": "min"}), out=tmp_path)
    assert list(tmp_path.rglob("*")) == []


def checksum(make, **changes):
    return mine(test=make, **changes).test_tasks()(1).checksum


def test_other_data_or_another_metric_is_another_checksum_and_a_trial_is_not():
    assert checksum(lines) == mine().tuning_tasks()(0).checksum
    by_data = checksum(partial(lines, shift=1.0))
    by_metric = checksum(lambda trial: dataclasses.replace(lines(trial), metrics=lambda params, task: {"a": 1.0}))
    assert len({checksum(lines), by_data, by_metric}) == 3
    assert checksum(lambda trial: dataclasses.replace(lines(trial), checksum="mine")) == "mine"


def test_agents_with_a_graph_of_their_own_enter():
    test = partial(linear_p2p, num_features=2, num_agents=10)
    on = Problem(
        name="agents",
        test=test,
        tuning=partial(test, instances="validation"),
        metric="test_accuracy",
        privacy_unit="point",
    )
    plan = planned(on)
    assert plan.unfit == {}
    known = LEVELS["point"].baselines(test(0))
    assert list(plan.candidates) == [label for label, variant in known.items() if not variant.on_request]
    assert {candidate.statement[:2] for candidate in plan.candidates.values()} == {("point", REPLACE)}
    assert plan.candidates["Coordinate descent (1 update)"].args["num_ticks"] == 10


def test_methods_of_the_suite_that_do_not_fit_are_left_out_with_the_reason():
    plan = planned(mine(privacy_unit="point"), walk, fixed={"step_size": 0.1})
    assert list(plan.candidates) == ["walk"]
    assert all("has no graph" in reason for reason in plan.unfit.values())
    assert math.isinf(plan.candidates["walk"].epsilons[0])


def test_every_privacy_unit_but_that_of_local_privacy_has_its_level():
    assert (*LEVELS, "coordinate") == PRIVACY_UNITS
