"""A comparison that is run: tuning, choice, test, and what is said of the runs."""

import math

import numpy as np
import pandas as pd
import pytest
from tiny_comparison import TWIN, compared, problem, renamed, table_of, under_another_name
from tiny_sweeps import walk

from bench.algorithms import ALGORITHMS
from bench.algorithms.base import Method
from bench.comparison import stages
from bench.comparison.result import _ends
from bench.comparison.search import CLOSER
from bench.errors import InputError
from bench.privacy.events import full_gaussian


def test_tuning_and_test_share_neither_metric_nor_randomness(twin):
    assert "excess_risk" not in twin.tuning.runs
    assert "validation_loss" not in twin.runs
    assert set(twin.tuning.runs["seed"]) == {1000, 1001, 2000, 2001, 3000, 3001}
    assert set(twin.runs["seed"]) == {0, 1}


def test_every_private_run_has_spent_what_it_was_allowed_and_hardly_less(twin):
    private = twin.runs[(twin.runs["target_epsilon"] > 0) & np.isfinite(twin.runs["target_epsilon"])]
    assert len(private) == 2 * 2 * 2
    assert (private["spent"] / private["target_epsilon"]).between(0.98, 1.001).all()
    assert set(private["reading"]) == {"tight"}
    assert np.isinf(twin.runs.loc[np.isinf(twin.runs["target_epsilon"]), "spent"]).all()


def test_local_learning_is_run_once_and_an_epsilon_by_itself(twin):
    local = twin.runs[twin.runs["algorithm"] == "Local learning"]
    assert local["target_epsilon"].tolist() == [0.0, 0.0]


def test_each_split_takes_the_setting_that_its_own_held_out_data_like_best(twin):
    keys = ["algorithm", "target_epsilon", "trial"]
    for key, tried in twin.tuning.runs.groupby(keys):
        mine = twin.runs[(twin.runs[keys] == pd.Series(key, keys)).all(axis=1)]
        runs = tried.groupby("setting")["validation_loss"].agg(["mean", "size"])
        finalists = runs[runs["size"] == (3 if np.isinf(key[1]) else 1)]
        assert mine["setting"].tolist() == [finalists["mean"].idxmin()]


def test_without_noise_the_best_settings_are_run_with_further_seeds_of_their_own_split(twin):
    for (_, epsilon, trial), tried in twin.tuning.runs.groupby(["algorithm", "target_epsilon", "trial"]):
        first = tried[tried["seed"] == 1000 + trial]
        again = tried[tried["seed"] != 1000 + trial]
        assert len(again) == (6 if np.isinf(epsilon) else 0)
        for _, with_seed in again.groupby("seed"):
            best = first.nsmallest(3, "validation_loss")
            assert set(with_seed["setting"]) == set(best["setting"])
        assert set(again["seed"]) <= {2000 + trial, 3000 + trial}


def test_closer_looks_lie_near_the_best_of_their_own_split_and_are_as_many_for_all(twin):
    keys = ["algorithm", "target_epsilon", "trial"]
    for (label, epsilon, _), tried in twin.tuning.runs.groupby(keys):
        looks = {0: 1} if epsilon == 0 and len(tried) == 1 else {0: 4, 1: 2, 2: 2}
        assert tried["look"].value_counts().to_dict() == looks | ({3: 6} if np.isinf(epsilon) else {})
        tried = tried[tried["look"] < 3]
        for look in tried.loc[tried["look"] > 0, "look"].unique():
            before = tried[tried["look"] < look]
            best = before.loc[before["validation_loss"].idxmin()]
            near = tried.loc[tried["look"] == look, "step_size"].astype(float)
            width = CLOSER[look - 1] * math.log(2 / 0.05)  # the interval of this problem
            assert np.abs(np.log(near / best["step_size"])).max() < width + 1e-3, label
    assert twin.tuning.num_settings["renamed"] == 8


def test_a_diverged_setting_is_chosen_only_where_all_are():
    tuning = pd.DataFrame(
        {
            "algorithm": "a",
            "target_epsilon": [1.0, 1.0, 1.0, 2.0, 2.0],
            "trial": 0,
            "setting": [0, 1, 2, 0, 1],
            "validation_loss": [np.nan, 3.0, -np.inf, np.nan, np.inf],
        }
    )
    chosen = stages.choose(tuning, metric="validation_loss", best="min")
    assert chosen["setting"].tolist() == [1, 0]


def test_the_best_mean_over_seeds_is_chosen_and_not_the_best_run():
    """Setting 0 is best with one seed and diverges with the next; setting 3 was not run again."""
    scores = {0: [0.9, 0.2, 0.9], 1: [0.8, 0.85, 0.8], 2: [0.7, np.nan, 0.95], 3: [0.79]}
    rows = [("a", np.inf, 0, setting, score) for setting, runs in scores.items() for score in runs]
    tuning = pd.DataFrame(rows, columns=["algorithm", "target_epsilon", "trial", "setting", "validation_accuracy"])
    assert stages.choose(tuning, metric="validation_accuracy", best="max")["setting"].tolist() == [1]


def test_a_method_that_is_a_built_in_one_under_another_name_gains_nothing(twin):
    table = table_of(twin, twin.baselines)
    twin = table[(table["algorithm"] == "renamed") & (table["best_baseline"] == "Global private SGD")]
    assert len(twin) > 0
    assert (twin["gain_low"] <= 0).all()
    assert (twin["gain_high"] >= 0).all()


def test_it_goes_on_where_it_was_and_does_nothing_twice(twin, capsys):
    resumed = compared(**TWIN | {"fixed": {}}, out=twin.plan.request.out)
    assert "0 runs to do" in capsys.readouterr().err
    both = resumed.runs.merge(twin.runs, on=["point", "trial"], suffixes=("", "_before"))
    assert len(both) == len(resumed.runs)
    assert (both["excess_risk"] == both["excess_risk_before"]).all()


def test_another_command_in_the_same_folder_destroys_nothing(out, capsys):
    method = renamed(ALGORITHMS["ppsgd"])
    edited = method._replace(version=method.version + 1)
    whole = {"fixed": {"personalization": math.inf}, "out": out}
    fewer = {"epsilons": [1.0], "seeds": 1, "baselines": ["Local learning"]} | whole
    first = compared([method], name="shared", **whole)
    second, alone = (compared([edited], name=name, **fewer) for name in ("shared", "elsewhere"))
    assert set(second.evaluations["algorithm"]) == {"Local learning", "renamed"}
    pd.testing.assert_frame_equal(as_table(second), as_table(alone))
    capsys.readouterr()
    again = compared([method], name="shared", **whole)
    said = capsys.readouterr().err
    assert said.count("runs to do") == said.count(": 0 runs to do") == 1
    pd.testing.assert_frame_equal(as_table(first), as_table(again))


def as_table(view):
    """The runs in one order: what was chosen, and every number that was measured on it."""
    rows = view.runs.set_index(stages.KEYS).sort_index().filter(regex="^(step_size|noise_multiplier|version|excess)")
    return rows.reset_index()


def test_a_method_that_releases_more_often_than_it_says_is_caught(out):
    def chatty(task, *, step_size: float, noise_multiplier: float):
        plain = walk(task, step_size=step_size, noise_multiplier=noise_multiplier)
        return plain._replace(round=lambda key, state: (plain.round(key, state)[0], {"released": 2.0}))

    method = Method(
        under_another_name(walk, chatty),
        lambda task, *, delta, **a: full_gaussian(a["noise_multiplier"], delta=delta),
        version=1,
    )
    with pytest.raises(InputError, match="releases more than once per round"):
        compared([method], epsilons=[1.0], seeds=1, num_settings=1, baselines=[], name="chatty", out=out)


def test_a_grid_of_its_own_moves_no_other(out):
    grid, fixed = {"ppsgd:step_size": [0.01, 0.02, 0.03]}, {"personalization": 1.0, "clip_norm": 10.0}
    few = {"seeds": 1, "epsilons": [1.0], "baselines": ["Global private SGD"]}
    small = compared("ppsgd", **few, fixed=fixed, tuned=grid, name="grid", out=out)
    spaces = {label: candidate.space.get("step_size") for label, candidate in small.plan.candidates.items()}
    assert spaces["ppsgd"] == [0.01, 0.02, 0.03]
    assert spaces["Global private SGD"] == problem().space["step_size"]
    chosen = small.runs.loc[small.runs["algorithm"] == "ppsgd", "step_size"]
    assert np.isclose(chosen, 0.03).all()  # far below what is best: the largest wins
    assert any(
        text.startswith("ppsgd: step_size is the largest that was tried, on 1 of 1 splits at ε = 1")
        for text in small.at_grid_ends
    )


@pytest.mark.parametrize(("values", "ends"), [([0.0, 0.5, 1.0], {"largest": 1}), ([0.1, 0.5, 1.0], {"smallest": 2})])
def test_the_ends_of_a_range_are_named_but_for_0(values, ends):
    tried = pd.DataFrame(
        {"algorithm": "mine", "target_epsilon": 1.0, "beta": values * 3, "trial": np.repeat([0, 1, 2], 3)}
    )
    low, high = values[0], values[-1]
    chosen = {"largest": [low, low, high], "smallest": [low, low, 0.5]}[next(iter(ends))]
    runs = pd.DataFrame({"algorithm": "mine", "target_epsilon": 1.0, "beta": chosen, "trial": [0, 1, 2]})
    found = _ends(tried, runs, "mine", "beta").loc[1.0].to_dict()
    assert found == {"smallest": 0, "largest": 0, "splits": 3} | ends
