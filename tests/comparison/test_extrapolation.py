"""Methods with the noise of more users than exist: what is divided, what is said, where they pass learning alone."""

import dataclasses
import math

import jax
import numpy as np
import pandas as pd
import pytest
from listed_tasks import put
from tiny_comparison import SMALL, TASK, compared, problem

from bench import compare
from bench.algorithms import ALGORITHMS
from bench.api.extrapolations import extrapolate
from bench.comparison import extrapolation as extrapolating
from bench.comparison.board import board_request
from bench.comparison.extrapolation import FACTOR, Crossing, crossing, extrapolation, for_more_users, said
from bench.errors import InputError
from bench.privacy.accounting import epsilon as epsilon_of
from bench.store import part_files

FEW: dict = {"epsilon": 1.0, "factors": (1, 4), "num_settings": 3, "seeds": 2, "rounds": 5}
OF_ALONE = 8  # settings of learning alone, in place of the many of the board
METHOD = "Global private SGD"
ARGS = {"num_sampled": 4, "batch_size": 3, "step_size": 0.1, "clip_norm": 1.0, "personalization": math.inf}
ARGS |= {"sampler": "poisson"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("extrapolated")


@pytest.fixture(scope="module")
def found(folder, tiny):
    """One method with the users that exist, and with four times as many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(extrapolating, "NUM_SETTINGS", OF_ALONE)
        return extrapolate("tiny", METHOD, out=folder, workers=1, **FEW)


# ---- What is run ----


@pytest.mark.parametrize("factor", [1.0, 8.0])
def test_the_noise_of_a_round_is_that_of_the_multiplier_divided_by_the_factor(factor):
    """And nothing else is: the users and examples drawn are the same."""
    method, task, key = ALGORITHMS["ppsgd"], TASK(0), jax.random.key(3)
    more = for_more_users(method)
    after = [
        one.round(key, one.init(jax.random.key(1)))[0].variables
        for one in (
            more.make(task, noise_multiplier=2.0, **ARGS, **{FACTOR: factor}),
            method.make(task, noise_multiplier=2.0 / factor, **ARGS),
            method.make(task, noise_multiplier=2.0, **ARGS),
        )
    ]
    same, other = (jax.tree.all(jax.tree.map(np.array_equal, after[0], after[place])) for place in (1, 2))
    assert same
    assert other == (factor == 1)


def test_what_is_released_and_what_it_costs_are_those_of_the_method():
    method, task = ALGORITHMS["ppsgd"], TASK(0)
    more, args = for_more_users(method), {**ARGS, "local": "dense", "reduce": "mean", "noise_multiplier": 2.0}
    theirs, ours = (
        one.readings(task, delta=1e-4, **args, **extra) for one, extra in ((method, {}), (more, {FACTOR: 50.0}))
    )
    assert {name: epsilon_of(release, 5) for name, release in ours.items()} == {
        name: epsilon_of(release, 5) for name, release in theirs.items()
    }
    assert more.cost_of_round(task, **args, **{FACTOR: 50.0}) == method.cost_of_round(task, **args)


@pytest.mark.slow
def test_with_the_users_that_exist_it_is_the_comparison(found, tmp_path):
    usual = compared(baselines=[METHOD], out=tmp_path, **SMALL | {"epsilons": [1.0]}).runs
    means = usual.groupby(["algorithm", "target_epsilon"])["excess_risk"].mean()
    mine = found.set_index(["method", "target_epsilon", "extrapolated"])["excess_risk"]
    assert mine[METHOD, 1.0, False] == pytest.approx(means[METHOD, 1.0], rel=1e-5)
    assert mine[METHOD, math.inf, False] == pytest.approx(means[METHOD, math.inf], rel=1e-5)


def test_learning_alone_has_as_many_settings_as_on_the_board(tmp_path):
    """With the few of the others it would be beaten by fewer users than on the board."""
    planned = extrapolation("synthetic", [METHOD], 1.0, out=tmp_path)
    assert planned.alone.num_settings == board_request("synthetic", out=tmp_path).num_settings
    assert planned.alone.num_settings > planned.request.num_settings


# ---- What the rows say ----


def test_rows_say_what_is_extrapolated_of_how_many_users(found):
    noisy = found[found[FACTOR].notna()]
    assert noisy[["users", "cohort", "extrapolated"]].to_numpy().tolist() == [[12, 4, False], [48, 16, True]]
    assert not found.loc[found[FACTOR].isna(), "extrapolated"].any()
    assert noisy["noise_multiplier"].nunique() == 1
    assert noisy["users_times_delta"].tolist() == pytest.approx(
        [12 * noisy["delta"].iloc[0], 48 * noisy["delta"].iloc[0]]
    )
    assert set(found.loc[np.isinf(found["target_epsilon"]), "method"]) == {METHOD, "Local learning"}


def test_at_a_delta_that_falls_the_same_noise_has_a_larger_epsilon(found):
    first, more = found[found[FACTOR].notna()]["epsilon_at_lower_delta"]
    assert first == pytest.approx(1.0, rel=2e-3)  # calibrated to it
    assert more > 1.02


def test_nothing_of_it_can_be_taken_for_a_row_of_the_board(found, folder):
    place = folder / "extrapolated"
    assert [path.name for path in folder.iterdir()] == ["extrapolated"]
    runs = part_files.read(place / "tiny_epsilon_1" / "test")
    assert set(runs["scale"]) == {"extrapolated"}
    assert set(runs[FACTOR]) == {1.0, 4.0}
    assert all(", users × " in name for name in runs["algorithm"])
    with pytest.raises(InputError, match="is not the folder of a board's task"):
        compare("ppsgd", task="tiny", board=place, out=folder)
    table = pd.read_csv(place / "tiny_epsilon_1" / "extrapolated.csv")
    assert table["extrapolated"].sum() == 1


# ---- Where it passes learning alone ----


@pytest.mark.parametrize(
    ("gains", "expected"),
    [
        ([0.1, 0.2, 0.3], Crossing(1.0)),
        ([-0.3, -0.2, -0.1], Crossing(None)),
        ([-0.1, 0.1, 0.3], Crossing(10.0, 1.0, math.sqrt(10))),
        ([-0.1, -0.1, 0.3], Crossing(100.0, 10.0, 10**1.25)),
        ([0.1, -0.1, 0.1], Crossing(100.0, 10.0, 10**1.5)),  # only from where on it stays ahead
        ([math.nan, 0.1, 0.2], Crossing(10.0, 1.0, 10.0)),
        ([0.1, 0.2, math.nan], Crossing(None)),
        ([0.0, 0.2, 0.2], Crossing(10.0, 1.0, 1.0)),
    ],
)
def test_crossings(gains, expected):
    found = crossing([1.0, 10.0, 100.0], gains)
    assert found[:2] == expected[:2]
    assert found.at == (None if expected.at is None else pytest.approx(expected.at))


def rows(gains, low=0.05):
    """Made-up rows of a method with 100 users at three factors."""
    factors = [1.0, 10.0, 100.0]
    table = pd.DataFrame({"method": "A", FACTOR: factors, "gain": gains, "target_epsilon": 1.0, "delta": 1e-4})
    scores = {"test_accuracy": 0.8 + table["gain"], "low": 0.7, "high": 0.99, "extrapolated": [False, True, True]}
    users = {"users": 100 * table[FACTOR], "users_times_delta": 0.01 * table[FACTOR], "epsilon_at_lower_delta": 1.5}
    table = table.assign(gain_low=table["gain"] - low, gain_high=table["gain"] + low, **scores, **users)
    alone = {"method": extrapolating.ALONE, "target_epsilon": 1.0, "test_accuracy": 0.8, "low": 0.79, "high": 0.81}
    facts = {
        "metric": "test_accuracy",
        "best": "max",
        "problem": "made up",
        "title": "made up: of tests",
        "repetitions": 3,
    }
    facts |= {"settings_tried": 4, "source": "made up", "task": "none", "scale": "extrapolated"}
    whole = pd.concat([table, pd.DataFrame([alone | {"extrapolated": False}])], ignore_index=True)
    return whole.assign(**facts).astype({"extrapolated": bool})


def test_the_crossing_is_stated_with_whether_the_interval_excludes_0():
    (sentence,) = said(rows([-0.1, 0.1, 0.15]))
    assert sentence == (
        "A is ahead of learning alone from 10 times the users on, 1,000, with a gain that has an interval above 0, and "
        "behind it at 1 times: extrapolated, it passes it at about 316 users"
    )
    assert "an interval that includes 0" in said(rows([-0.1, 0.01, 0.15]))[0]
    assert said(rows([-0.1, -0.1, -0.1])) == ["A is not ahead of learning alone with up to 100 times the users, 10,000"]
    assert said(rows([0.1, 0.1, 0.1]))[0].startswith("A is ahead of learning alone with the 100 users that exist,")


# ---- What is refused ----


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"task": "linear_p2p"}, "linear_p2p protects one point: more users only help a task that protects a user"),
        ({"epsilon": math.inf}, "epsilon is inf: give a finite number above 0"),
        ({"factors": (0.5,)}, "a factor is 0.5: give how many times as many users there are, from 1 on"),
        ({"methods": ["Local learning"]}, "there is no method to extrapolate: name one"),
        (
            {"task": "synthetic", "methods": ["DP-FedAvg with adaptive clipping"]},
            "also adds noise that the size",
        ),
    ],
)
def test_what_cannot_be_extrapolated_is_refused(change, said, tmp_path):
    whole = {"task": "tiny", "methods": [METHOD], "epsilon": 1.0, "out": tmp_path} | change
    with pytest.raises(InputError, match=said):
        extrapolation(whole.pop("task"), whole.pop("methods"), whole.pop("epsilon"), **whole)


def test_a_method_without_noise_is_refused(tmp_path, monkeypatch):
    known = problem()
    twice = dataclasses.replace(known, baselines={**known.baselines, "Alone": known.baselines["Local learning"]})
    put(monkeypatch, "tiny", lambda: twice)
    planned = extrapolation("tiny", ["Alone"], 1.0, out=tmp_path)
    with pytest.raises(InputError, match="Alone releases nothing, or declares no privacy"):
        extrapolating.run(planned)
    assert not list(tmp_path.rglob("*.parquet"))
