"""What is settled before anything runs: arguments, statements of privacy, noise; and what is refused."""

import dataclasses
import inspect
import math
from functools import partial

import pytest
from tiny_comparison import SMALL, TASK, compared, problem, under_another_name
from tiny_sweeps import walk

from bench.algorithms import ALGORITHMS
from bench.algorithms.base import Method, Scalar
from bench.algorithms.search_space import Interval
from bench.comparison.baselines import Variant
from bench.comparison.plan import in_legend, make_plan, without_test_data
from bench.comparison.request import make_request
from bench.comparison.statements import Statement, calibrated, reading
from bench.errors import InputError
from bench.privacy.accounting import epsilon, noise_multiplier
from bench.privacy.events import ADD_OR_REMOVE, REPLACE, full_gaussian, poisson_gaussian

USERS = Statement("user", ADD_OR_REMOVE, 1e-4)


def args_of(sampler, num_sampled=4):
    return {
        "num_sampled": num_sampled,
        "batch_size": 3,
        "sampler": sampler,
        "step_size": 0.1,
        "personalization": math.inf,
        "clip_norm": 1.0,
    }


@pytest.mark.parametrize(
    ("sampler", "relation", "name"),
    [
        ("poisson", ADD_OR_REMOVE, "tight"),
        ("poisson", REPLACE, "worst_case"),
        ("fixed", REPLACE, "sampler"),
    ],
)
def test_the_noise_is_that_of_the_proven_reading_for_the_sampler(sampler, relation, name):
    method, task = ALGORITHMS["ppsgd"], TASK(0)
    statement = Statement("user", relation, 1e-4)
    noise, reading_name = calibrated("x", method, task, statement, args_of(sampler), 2.0, 50)
    assert reading_name == name
    release = method.releases(
        task, delta=1e-4, noise_multiplier=noise, num_epochs=1, reduce="mean", local="dense", **args_of(sampler)
    )[name]
    assert release.sound
    assert release.neighbors == relation
    assert 2.0 * 0.99 <= epsilon(release, 50) <= 2.0


ON_REQUEST = (
    "DP-FedAvg in turn",
    "DP-FedAvg with banded noise",
    "DP-FedAvg with adaptive clipping",
    "FedAvgM",
    "FedAdam",
    "FedYogi",
    "FedProx",
    "DP-FedSAM",
    "BLUR and LUS",
    "Fed-SMP",
    "DP-Fed-LS",
)


@pytest.mark.parametrize("neighbors", [ADD_OR_REMOVE, REPLACE])
def test_relatives_of_fedavg_run_where_they_are_named_at_an_epsilon_that_is_proven(neighbors):
    usual = make_plan(make_request(**SMALL | {"task": "synthetic"}))
    assert not set(ON_REQUEST) & set(usual.candidates)
    request = make_request(**SMALL | {"task": "synthetic", "baselines": ON_REQUEST, "neighbors": neighbors})
    plan = make_plan(request)
    assert tuple(plan.candidates) == ON_REQUEST
    task, proven = request.problem.test_tasks()(0), {}
    for label, one in plan.candidates.items():
        assert one.args["num_steps"] == 5
        args = {**one.args, **one.settings[0]}
        proven[label] = reading(label, one.method, task, one.statement, args, 5)[0]
    in_turn = {proven[label] for label in ON_REQUEST[:2]}
    assert in_turn == ({"removed"} if neighbors == ADD_OR_REMOVE else {"paper"})
    assert set(proven.values()) - in_turn == ({"tight"} if neighbors == ADD_OR_REMOVE else {"sampler"})


@pytest.mark.parametrize(("sampler", "relation"), [("fixed", ADD_OR_REMOVE), ("queue", ADD_OR_REMOVE)])
def test_a_sampler_for_which_nothing_is_proven_is_refused(sampler, relation):
    with pytest.raises(InputError, match="replace one"):
        reading("x", ALGORITHMS["dp_fedavg"], TASK(0), Statement("user", relation, 1e-4), fedavg(sampler), 50)


def fedavg(sampler):
    return args_of(sampler) | {"server_step_size": 0.1}


def test_without_noise_nothing_is_promised_and_local_learning_needs_none():
    method, task = ALGORITHMS["ppsgd"], TASK(0)
    assert calibrated("x", method, task, USERS, args_of("poisson"), math.inf, 50) == (0.0, "")
    local = args_of("poisson") | {"personalization": 0.0}
    assert calibrated("x", method, task, USERS, local, 1.0, 50)[0] == 0.0


def test_arguments_come_from_the_variant_then_the_caller_then_the_problem():
    variant = Variant(ALGORITHMS["ppsgd"], {"personalization": 0.0}, {"step_size": [1.0]})
    defaults = {"num_sampled": 4, "batch_size": 3, "clip_norm": 5.0, "noise_multiplier": 9.0}
    space = {"step_size": [2.0], "mu": [1.0]}
    on = dataclasses.replace(problem(), baselines={"x": variant}, defaults=defaults, space=space)
    fixed = {"clip_norm": 7.0, "personalization": 1.0}
    candidate = planned(task=on, fixed=fixed, tuned={"step_size": [3.0, 4.0]}).candidates["x"]
    assert candidate.args == {
        "num_sampled": 4,
        "batch_size": 3,
        "clip_norm": 7.0,
        "personalization": 0.0,
        "sampler": "poisson",
    }
    assert candidate.space == {"step_size": [3.0, 4.0]}
    assert candidate.settings == [{"step_size": 3.0}, {"step_size": 4.0}]


def planned(methods=(), **options):
    return make_plan(make_request(methods, **(SMALL | options)))


def test_an_argument_that_nothing_gives_a_value_is_named():
    def powerful(task, *, step_size: Scalar, power: int):
        return walk(task, step_size=step_size**power)

    with pytest.raises(InputError, match=r"powerful needs a value of power, which .* does not set: give --set power="):
        planned(powerful)
    assert planned(powerful, fixed={"power": 2}).candidates["powerful"].args == {"power": 2}


def test_a_misspelt_argument_is_asked_after():
    def misspelt(task, *, stepsize: Scalar):
        return walk(task, step_size=stepsize)

    with pytest.raises(InputError, match=r"did you mean step_size\? Otherwise give --set stepsize=VALUE"):
        planned(misspelt)


def private_walk(releases):
    return Method(walk, releases, version=1)


@pytest.mark.parametrize(
    ("releases", "words"),
    [
        (lambda task, *, delta, noise_multiplier, **_: full_gaussian(noise_multiplier, delta=0.3), "at delta 0.3"),
        (
            lambda task, *, delta, noise_multiplier, **_: full_gaussian(1 / noise_multiplier, delta=delta),
            "must decrease",
        ),
        (lambda task, *, delta, noise_multiplier, **_: None, "give a Release"),
        (
            lambda task, *, delta, noise_multiplier, **_: full_gaussian(
                noise_multiplier, delta=delta, privacy_unit="record"
            ),
            "one record",
        ),
    ],
)
def test_a_statement_that_is_not_that_of_the_others_is_refused(tmp_path, releases, words):
    with pytest.raises(InputError, match=words):
        compared([private_walk(releases)], baselines=[], out=tmp_path)
    assert list(tmp_path.rglob("*.parquet")) == []


def test_a_method_cannot_read_what_it_is_tested_on():
    seen = {}

    def curious(task, *, step_size: float):
        seen["evaluation"] = task.evaluation
        return walk(task, step_size=step_size)

    stored = TASK(0)
    for task, known in ((stored, True), (dataclasses.replace(stored, sample=None), False)):
        without_test_data(under_another_name(walk, curious))(task, step_size=0.1)
        assert (seen["evaluation"] is not None) == known  # a stream is drawn by what it knows


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"epsilons": [0.0]}, "above 0"),
        ({"tuned": {"step_size": []}}, "has \\[\\] for step_size: give a list of values"),
        ({"fixed": {"noise_multiplier": 1.0}}, "calibrated for each epsilon"),
        ({"name": "../../x"}, "is not the name of a folder"),
        ({"task": "digitz"}, "did you mean digits"),
        ({"baselines": []}, "nothing to compare"),
        ({"neighbors": "replace two"}, "nothing is proven on tiny under 'replace two'"),
        ({"fixed": {"num_sampled": 99}}, "more than the 12 clients"),
    ],
)
def test_bad_input_is_refused_before_anything_runs(tmp_path, changes, words):
    with pytest.raises(InputError, match=words):
        compared(**changes, out=tmp_path)
    assert list(tmp_path.rglob("*.parquet")) == []


@pytest.mark.parametrize(
    ("given", "fixed", "tuned"),
    [
        ({"a": "1", "b": "words", "c": 2}, {"a": 1, "b": "words", "c": 2}, {}),
        ({"a": "1,2", "b": "log:1:100"}, {}, {"a": [1, 2], "b": Interval(1.0, 100.0)}),
        ({"ppsgd:a": 1.0, "ppsgd:b": "3"}, {}, {"ppsgd:a": [1.0], "ppsgd:b": [3]}),
    ],
)
def test_texts_of_arguments_are_read_as_on_the_command_line(given, fixed, tuned, out):
    """Several values, an interval, and what is for one method, are tuned over."""
    request = make_request([ALGORITHMS["ppsgd"]], **SMALL, fixed=given, out=out)
    assert (request.fixed, request.tuned) == (fixed, tuned)


def mine(name="mine", **changes):
    """A method of one's own with all that DP-FedAvg has."""
    method = ALGORITHMS["dp_fedavg"]
    factory = under_another_name(method.make, lambda task, **args: method.make(task, **args))
    factory.__name__ = name
    if changes:
        signature = inspect.signature(method.make, eval_str=True)
        parameters = [one.replace(default=changes.get(one.name, one.default)) for one in signature.parameters.values()]
        factory.__signature__ = signature.replace(parameters=parameters)
    return method._replace(make=factory)


def test_a_method_of_ones_own_takes_as_many_local_steps_as_the_baselines():
    def steps(method, **options):
        plan = make_plan(make_request(method, **SMALL | {"task": "synthetic", "baselines": []} | options))
        return plan.candidates[method.make.__name__].args.get("num_steps", "tuned")

    assert steps(mine()) == 5
    assert steps(mine(), fixed={"num_steps": 2}) == 2
    assert steps(mine(), tuned={"num_steps": [1, 2]}) == "tuned"
    assert steps(mine(num_steps=3)) == 5
    assert steps(ALGORITHMS["dp_fedprox"]) == steps(ALGORITHMS["dp_fedavg"]) == 5


def test_what_a_task_lacks_is_named_before_the_arguments_that_are_missing():
    with pytest.raises(InputError, match="has no graph of peers"):
        planned("coordinate_descent", task="synthetic", baselines=[])
    with pytest.raises(
        InputError, match=r"phase_rounds, which synthetic does not set: .* choose a task for methods of"
    ):
        planned("accelerated", task="synthetic", baselines=[])


def test_a_baseline_whose_name_has_a_comma_can_be_named_in_a_list():
    """The command line divides a list at its commas."""
    known = dict.fromkeys(("A", "A, sampled", "B"), Variant(ALGORITHMS["dp_fedavg"], {}, {}))
    assert in_legend(["A", "sampled", "B", "A"], known, "x") == ["A, sampled", "B", "A"]
    with pytest.raises(InputError, match="no baseline on x is called 'sampled'"):
        in_legend(["B", "sampled"], known, "x")


def test_baselines_can_be_named_as_identifiers():
    named = planned(task="synthetic", baselines=["dp_fedavg", "ppsgd", "global private sgd", "DP-FedAvg"])
    assert list(named.candidates) == ["DP-FedAvg", "PPSGD", "Global private SGD"]


def test_an_error_in_a_methods_own_code_has_its_file_and_line(tmp_path):
    file = tmp_path / "broken.py"
    file.write_text(BROKEN.format(step="return w - total[1.5]"))
    with pytest.raises(InputError, match=rf"`round` of broken fails on .*\({file}, line 11\); BENCH_TRACEBACK=1 shows"):
        compared(str(file), baselines=[], out=tmp_path)
    file.write_text(BROKEN.format(step="return w, total"))
    words = rf"`update` \({file}, line 10\) returns PyTreeDef.*: return w after the round"
    with pytest.raises(InputError, match=words):
        compared(str(file), baselines=[], out=tmp_path)


BROKEN = """from bench import Method
from functools import partial
from bench.parts import AveragingArguments, averaging, noisy_sums, sharing, user_gradients


@sharing(AveragingArguments)
def broken(task, shared):
    send = partial(user_gradients, task)

    def update(w, total, divisor):
        {step}

    return averaging(task, shared, send, update)


METHOD = Method(broken, noisy_sums("all"), version=1)
"""


def stating(accountant, others=()):
    """A method that states Poisson samples by one accountant, and further readings."""
    original = ALGORITHMS["dp_fedavg"]

    def releases(task, *, delta, noise_multiplier, **_):
        release = partial(poisson_gaussian, noise_multiplier, sampling_rate=0.1, delta=delta)
        worst = full_gaussian(noise_multiplier, delta=delta)._replace(sampler="any schedule")
        return {"paper": release(accountant=accountant), "worst_case": worst} | {
            by: release(accountant=by) for by in others
        }

    return original._replace(releases=releases)


def noise_of(method):
    given = make_request(**SMALL | {"task": "synthetic", "methods": method, "baselines": []}, fixed={"num_steps": 1})
    (one,) = make_plan(given).candidates.values()
    task, args = given.problem.test_tasks()(0), {**one.args, **one.settings[0]}
    noise, name = calibrated(one.label, one.method, task, one.statement, args, 1.0, 100)
    return noise, one.method.readings(task, delta=1e-4, **args, noise_multiplier=noise)[name].accountant


def test_the_accountant_of_a_comparison_is_that_of_every_method():
    """So nobody has less noise, or more, by what a method states."""
    noises = [noise_of(method) for method in (stating("rdp"), stating("pld"), stating("rdp", ["pld"]))]
    assert noises == [noises[0]] * 3
    assert noises[0][1] == "pld"
    proven = partial(poisson_gaussian, sampling_rate=0.1, accountant="pld", delta=1e-4)
    assert noises[0][0] == noise_multiplier(1.0, proven, 100)


def test_samples_of_a_fixed_size_do_not_get_the_noise_of_a_floor():
    """Opacus' orders end at 63. With them this comparison had noise multiplier 6,325."""
    options = {"task": "synthetic", "methods": "dp_fedavg", "baselines": [], "neighbors": REPLACE, "rounds": 10}
    given = make_request(**SMALL | options, fixed={"num_steps": 1, "sampler": "fixed"})
    (one,) = make_plan(given).candidates.values()
    task, args = given.problem.test_tasks()(0), {**one.args, **one.settings[0]}
    noise, name = calibrated(one.label, one.method, task, one.statement, args, 0.05, 10)
    release = one.method.readings(task, delta=one.statement.delta, **args, noise_multiplier=noise)[name]
    assert (name, release.accountant) == ("sampler", "rdp_wide")
    assert noise < 100
    assert epsilon(release, 10) <= 0.05 < epsilon(release._replace(accountant="rdp"), 10)
