"""Methods on equal terms: the statement of privacy, the noise, the tuning, and what is made of the runs."""

import dataclasses
import inspect
import math
from functools import partial, wraps
from pathlib import Path

import jax
import numpy as np
import pandas as pd
import pytest
from tiny_sweeps import walk

from bench.algorithms import ALGORITHMS
from bench.algorithms.base import Method
from bench.api import compare as compared
from bench.api import load
from bench.comparison import compare, stages
from bench.comparison import figure as comparison
from bench.comparison import problems as catalogue
from bench.comparison.candidates import Candidate, NotComparable, Statement, blind, calibrated, filled, reading
from bench.data.problems.synthetic import synthetic
from bench.errors import InputError
from bench.outside import load_method
from bench.privacy.accounting import epsilon
from bench.privacy.events import ADD_OR_REMOVE, REPLACE, full_gaussian

TASK = partial(synthetic, num_clients=12, num_features=6)
EXAMPLES = Path(__file__).parents[2] / "examples"
USERS = Statement("user", ADD_OR_REMOVE, 1e-4)
SMALL: dict = {"task": "tiny", "epsilons": [1.0, 4.0], "seeds": 2, "trials": 3, "rounds": 5}


def problem():
    """One that compiles in a moment."""
    whole = catalogue.PROBLEMS["synthetic"]()
    baselines = {name: whole.baselines[name] for name in ("Global private SGD", "Local learning")}
    defaults = dict(whole.defaults) | {"num_sampled": 4, "batch_size": 3}
    return whole._replace(name="tiny", test=TASK, tuning=TASK, defaults=defaults, baselines=baselines)


def under_another_name(make, wrapper):
    """A factory that takes what another one takes."""
    wrapper.__signature__ = inspect.signature(make, eval_str=True)
    return wrapper


@pytest.fixture(scope="module", autouse=True)
def tiny():
    """The small problem beside the real ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(catalogue.PROBLEMS, "tiny", problem)
        yield


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    return tmp_path_factory.mktemp("compared")


@pytest.fixture(scope="module")
def found(out, tiny, quick_compilation):
    """An outside method that is exactly a built-in one, beside the baselines."""
    original = ALGORITHMS["ppsgd"]

    def renamed(task, **args):
        return original.make(task, **args)

    method = original._replace(make=under_another_name(original.make, renamed))
    return compare([method], **SMALL, fixed={"personalization": math.inf}, name="twin", out=out)


# The statement of privacy and its noise


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
    noise, said = calibrated("x", method, task, statement, args_of(sampler), 2.0, 50)
    assert said == name
    release = method.releases(
        task, delta=1e-4, noise_multiplier=noise, num_epochs=1, reduce="mean", local="dense", **args_of(sampler)
    )[name]
    assert release.sound
    assert release.neighbors == relation
    assert 2.0 * 0.99 <= epsilon(release, 50) <= 2.0


@pytest.mark.parametrize(("sampler", "relation"), [("fixed", ADD_OR_REMOVE), ("queue", ADD_OR_REMOVE)])
def test_a_sampler_for_which_nothing_is_proven_is_refused(sampler, relation):
    with pytest.raises(NotComparable, match="replace one"):
        reading("x", ALGORITHMS["dp_fedavg"], TASK(0), Statement("user", relation, 1e-4), fedavg(sampler), 50)


def fedavg(sampler):
    return args_of(sampler) | {"server_step_size": 0.1}


def test_without_noise_nothing_is_promised_and_local_learning_needs_none():
    method, task = ALGORITHMS["ppsgd"], TASK(0)
    assert calibrated("x", method, task, USERS, args_of("poisson"), math.inf, 50) == (0.0, "")
    local = args_of("poisson") | {"personalization": 0.0}
    assert calibrated("x", method, task, USERS, local, 1.0, 50)[0] == 0.0


def test_arguments_come_from_the_candidate_then_the_caller_then_the_task():
    candidate = Candidate(ALGORITHMS["ppsgd"], {"personalization": 0.0}, {"step_size": [1.0]})
    said: dict = {
        "defaults": {"num_sampled": 4, "batch_size": 3, "clip_norm": 5.0, "noise_multiplier": 9.0},
        "space": {"step_size": [2.0], "mu": [1.0]},
        "fixed": {"clip_norm": 7.0, "personalization": 1.0},
        "tuned": {"step_size": [3.0, 4.0]},
    }
    full = filled("x", candidate, **said)
    assert full.args == {"num_sampled": 4, "batch_size": 3, "clip_norm": 7.0, "personalization": 0.0}
    assert full.space == {"step_size": [3.0, 4.0]}
    with pytest.raises(InputError, match="needs a value of clip_norm"):
        filled("x", candidate, **said | {"defaults": {"num_sampled": 4, "batch_size": 3}, "fixed": {}})


# The two stages


def test_tuning_and_test_share_neither_metric_nor_randomness(found):
    assert "excess_risk" not in found.tuning
    assert "validation_loss" not in found.runs
    assert set(found.tuning["seed"]) == {1000, 1001}
    assert set(found.runs["seed"]) == {0, 1}


def test_every_private_run_has_spent_what_it_was_allowed_and_hardly_less(found):
    private = found.runs[(found.runs["target_epsilon"] > 0) & np.isfinite(found.runs["target_epsilon"])]
    assert len(private) == 2 * 2 * 2
    assert (private["spent"] / private["target_epsilon"]).between(0.98, 1.001).all()
    assert set(private["reading"]) == {"tight"}
    assert np.isinf(found.runs.loc[np.isinf(found.runs["target_epsilon"]), "spent"]).all()


def test_a_method_that_diverged_with_all_that_was_tried_is_named(found):
    assert found.diverged == []
    lost = found.runs["algorithm"] == "Local learning"
    risk = found.runs["excess_risk"].where(~lost, np.inf)
    assert found._replace(runs=found.runs.assign(excess_risk=risk)).diverged == ["Local learning"]
    once = risk.where(found.runs.index != found.runs.index[lost][0], 1.0)
    assert found._replace(runs=found.runs.assign(excess_risk=once)).diverged == []


def test_a_method_that_is_asked_for_and_stands_behind_a_baseline_is_named(found):
    assert found.again == {}  # a copy under another name is another method
    plan = found.plan
    sgd = plan.candidates["Global private SGD"]
    twice = plan._replace(candidates={**plan.candidates, "ppsgd": sgd._replace(outside=True)})
    assert found._replace(plan=twice).again == {"ppsgd": ["Global private SGD", "Local learning"]}


def test_local_learning_is_run_once_and_an_epsilon_by_itself(found):
    local = found.runs[found.runs["algorithm"] == "Local learning"]
    assert local["target_epsilon"].tolist() == [0.0, 0.0]


def test_each_split_takes_the_setting_that_its_own_held_out_data_like_best(found):
    keys = ["algorithm", "target_epsilon", "trial"]
    for key, tried in found.tuning.groupby(keys):
        mine = found.runs[(found.runs[keys] == pd.Series(key, keys)).all(axis=1)]
        assert mine["setting"].tolist() == [tried.loc[tried["validation_loss"].idxmin(), "setting"]]


def test_a_diverged_setting_is_chosen_only_where_all_are():
    plan = stages.Plan(problem(), {}, {}, [1.0], 3, 1, 5)
    tuning = pd.DataFrame(
        {
            "algorithm": "a",
            "target_epsilon": [1.0, 1.0, 1.0, 2.0, 2.0],
            "trial": 0,
            "setting": [0, 1, 2, 0, 1],
            "validation_loss": [np.nan, 3.0, -np.inf, np.nan, np.inf],
        }
    )
    chosen = stages.choose(plan, tuning)
    assert chosen["setting"].tolist() == [1, 0]


def test_a_method_that_is_a_built_in_one_under_another_name_gains_nothing(found):
    table = made(found)
    twin = table[(table["algorithm"] == "renamed") & (table["best_baseline"] == "Global private SGD")]
    assert len(twin) > 0
    assert (twin["gain_low"] <= 0).all()
    assert (twin["gain_high"] >= 0).all()


def made(found):
    chosen = found.plan.problem
    return comparison.table(
        found.runs, metric=chosen.metric, best=chosen.best, baselines=found.baselines, tried=found.tried
    )


def test_it_goes_on_where_it_was_and_does_nothing_twice(found, out, capsys):
    before = {path: path.stat().st_mtime_ns for path in Path(out).rglob("part-*.parquet")}
    again = compare([], **SMALL, name="twin", out=out)
    assert "0 runs to do" in capsys.readouterr().err
    kept = {path for path in before if path.exists() and path.stat().st_mtime_ns == before[path]}
    assert kept
    both = again.runs.merge(found.runs, on=["point", "trial"], suffixes=("", "_before"))
    assert len(both) == len(again.runs)
    assert (both["excess_risk"] == both["excess_risk_before"]).all()


def test_a_method_that_releases_more_often_than_it_says_is_caught(out, quick_compilation):
    def chatty(task, *, step_size: float, noise_multiplier: float):
        plain = walk(task, step_size=step_size, noise_multiplier=noise_multiplier)
        return plain._replace(round=lambda key, state: (plain.round(key, state)[0], {"released": 2.0}))

    method = Method(
        under_another_name(walk, chatty),
        lambda task, *, delta, **a: full_gaussian(a["noise_multiplier"], delta=delta),
        version=1,
    )
    with pytest.raises(InputError, match="releases more often"):
        compare([method], **SMALL | {"epsilons": [1.0], "seeds": 1, "trials": 1}, baselines=[], name="chatty", out=out)


def test_a_method_of_another_unit_is_refused_or_has_a_panel_of_its_own(out, quick_compilation):
    def of_records(task, *, delta, noise_multiplier, **_):
        return full_gaussian(noise_multiplier, delta=delta, privacy_unit="record")

    method = Method(walk, of_records, version=1)
    with pytest.raises(NotComparable, match="one record"):
        compare([method], **SMALL, name="records", out=out)
    apart = compare(
        [method], **SMALL | {"seeds": 1, "trials": 1}, baselines=["Local learning"], units=True, name="u", out=out
    )
    assert dict(zip(apart.runs["algorithm"], apart.runs["privacy_unit_compared"], strict=True))["walk"] == "record"


def private_walk(releases):
    return Method(walk, releases, version=1)


@pytest.mark.parametrize(
    ("releases", "words"),
    [
        (lambda task, *, delta, noise_multiplier, **_: full_gaussian(noise_multiplier, delta=0.3), "at delta 0.3"),
        (lambda task, *, delta, noise_multiplier, **_: full_gaussian(1.0, delta=delta), "must fall with"),
        (lambda task, *, delta, noise_multiplier, **_: full_gaussian(1 / noise_multiplier, delta=delta), "must fall"),
        (lambda task, *, delta, noise_multiplier, **_: None, "give a Release"),
    ],
)
def test_a_statement_that_is_not_that_of_the_others_is_refused(tmp_path, releases, words):
    with pytest.raises(InputError, match=words):
        compare([private_walk(releases)], **SMALL, baselines=[], out=tmp_path)
    assert list(tmp_path.rglob("*.parquet")) == []


def test_a_method_cannot_read_what_it_is_tested_on():
    seen = {}

    def curious(task, *, step_size: float):
        seen["evaluation"] = task.evaluation
        return walk(task, step_size=step_size)

    stored = TASK(0)
    for task, known in ((stored, True), (dataclasses.replace(stored, sample=None), False)):
        blind(under_another_name(walk, curious))(task, step_size=0.1)
        assert (seen["evaluation"] is not None) == known  # a stream is drawn by what it knows


def test_a_mistake_in_a_method_is_one_line(tmp_path):
    def broken(task, **args):
        return walk(task, **args)._replace(round=lambda key, state: (state.variables["w"], {}))

    with pytest.raises(InputError, match=r"`round` of walk stops on .*: TypeError"):
        compare([under_another_name(walk, wraps(walk)(broken))], **SMALL, baselines=[], out=tmp_path)


def test_a_grid_of_its_own_moves_no_other(out, quick_compilation):
    small = SMALL | {"seeds": 1, "epsilons": [1.0]}
    own = {"ppsgd:step_size": [0.01, 0.02, 0.03]}
    found = compare(["ppsgd"], **small, fixed={"personalization": 1.0}, tuned=own, name="own", out=out)
    spaces = {label: one.space.get("step_size") for label, one in found.plan.candidates.items()}
    assert spaces["ppsgd"] == [0.01, 0.02, 0.03]
    assert spaces["Global private SGD"] == problem().space["step_size"]
    chosen = found.runs.loc[found.runs["algorithm"] == "ppsgd", "step_size"]
    assert any("ppsgd: step_size = 0.03" in text for text in found.edges) == (np.isclose(chosen, 0.03).mean() >= 0.25)
    assert np.isclose(chosen, 0.03).any()  # far below what is best: the largest wins


def test_a_built_in_method_by_name_is_counted_as_the_baseline(monkeypatch):
    peers = catalogue.PROBLEMS["linear_p2p"]()
    monkeypatch.setitem(catalogue.PROBLEMS, "peers", lambda: peers)
    with pytest.raises(InputError, match=r"coordinate_descent makes 0 rounds and 0 releases .*max_updates"):
        compare(["coordinate_descent"], task="peers", epsilons=[1.0], seeds=1, trials=1, baselines=[])


def test_a_method_of_which_nothing_is_said_runs_without_noise_only(out, quick_compilation):
    small = SMALL | {"seeds": 1, "trials": 1}
    table = compared([walk], **small, baselines=[], name="bare", out=out)
    assert table["target_epsilon"].tolist() == [math.inf]
    assert "walk (not private)" in (Path(table.attrs["folder"]) / "comparison.md").read_text()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"epsilons": []}, "epsilons are"),
        ({"epsilons": [0.0]}, "above 0"),
        ({"epsilons": [math.inf]}, "finite"),
        ({"seeds": 0}, "seeds is 0"),
        ({"seeds": 2.5}, "whole number"),
        ({"epsilons": ["a"]}, "give numbers"),
        ({"tuned": {"step_size": []}}, "no value"),
        ({"tuned": {"nobody:step_size": [1.0]}}, "no method here"),
        ({"fixed": {"noise_multiplier": 1.0}}, "found for each epsilon"),
        ({"trials": 0}, "trials is 0"),
        ({"rounds": 0}, "rounds is 0"),
        ({"delta": 1.0}, "delta is 1"),
        ({"task": "digitz"}, "did you mean digits"),
        ({"task": "absent.npz"}, "is not a file"),
        ({"baselines": ["PPSG"]}, "no baseline"),
        ({"baselines": []}, "nothing to compare"),
        ({"neighbors": "replace two"}, "neighbouring relation"),
        ({"tuned": {"stepsize": [1.0]}}, "did you mean step_size"),
        ({"fixed": {"num_sampled": 99}}, "more than the 12 clients"),
    ],
)
def test_bad_input_is_refused_before_anything_runs(tmp_path, changes, words):
    with pytest.raises(InputError, match=words):
        compare([], **SMALL | changes, out=tmp_path)
    assert list(tmp_path.rglob("*.parquet")) == []


# The table and the picture


def runs_of(scores, target=1.0, unit="user"):
    return pd.concat(
        pd.DataFrame(
            {
                "algorithm": name,
                "target_epsilon": target if name != "local" else 0.0,
                "trial": range(len(values)),
                "score": values,
                "privacy_unit_compared": unit,
                "neighbors_compared": ADD_OR_REMOVE,
                "delta": 1e-4,
                "source": "made up",
                "task": "none",
                "scale": "compare",
                "commit": "0",
            }
        )
        for name, values in scores.items()
    )


SCORES = {"new": [0.5, 0.7, 0.9], "old": [0.4, 0.5, 0.6], "older": [0.1, 0.2, 0.3], "local": [0.25, 0.25, 0.25]}


def table_of(runs, best="max", baselines=("old", "older", "local")):
    tried = dict.fromkeys(runs["algorithm"], 3)
    return comparison.table(runs, metric="score", best=best, baselines=baselines, tried=tried)


def test_gains_are_paired_and_ranks_count_everybody():
    table = table_of(runs_of(SCORES)).set_index("algorithm")
    assert table["best_baseline"].unique().tolist() == ["old"]
    # new - old is 0.1, 0.2, 0.3 on the three splits: mean 0.2, standard deviation 0.1, t(0.975, 2) = 4.3027.
    assert table.loc["new", "gain"] == pytest.approx(0.2)
    assert table.loc["new", "gain_high"] - table.loc["new", "gain"] == pytest.approx(4.3027 * 0.1 / 3**0.5, rel=1e-4)
    assert table["rank"].to_dict() == {"new": 1, "old": 2, "local": 3, "older": 4}


def test_where_less_is_better_a_gain_is_still_positive():
    table = table_of(runs_of(SCORES), best="min").set_index("algorithm")
    assert table["best_baseline"].unique().tolist() == ["older"]
    assert table.loc["new", "gain"] < 0
    assert table.loc["new", "rank"] == 4


def test_what_reveals_nothing_takes_part_at_every_epsilon():
    several = pd.concat([runs_of(SCORES, 1.0), runs_of({"new": SCORES["new"], "old": SCORES["old"]}, 4.0)])
    table = table_of(several)
    assert sorted(table.loc[table["algorithm"] == "local", "target_epsilon"]) == [1.0, 4.0]
    assert table.loc[table["algorithm"] == "local", "reveals_nothing"].all()


def test_a_diverged_run_is_not_averaged_away():
    table = table_of(runs_of(SCORES | {"new": [0.5, np.nan, 0.9]})).set_index("algorithm")
    assert np.isnan(table.loc["new", ["score", "rank", "gain"]].astype(float)).all()
    assert table.loc["old", "rank"] == 1


def test_different_statements_never_share_a_panel():
    both = pd.concat(
        [runs_of({k: SCORES[k] for k in ("new", "old")}), runs_of({"silo": [0.9, 0.9, 0.9]}, unit="record")]
    )
    table = table_of(both)
    assert table.groupby("privacy_unit_compared")["rank"].min().tolist() == [1, 1]
    figure = comparison.draw(table, "made up")
    assert [ax.get_title() for ax in figure.axes] == ["one record, add-or-remove one", "one user, add-or-remove one"]
    assert "one record" in comparison.printed(table)["method"].str.cat()


def test_from_python_there_is_a_table_a_picture_and_a_way_back(out, quick_compilation):
    table = compared("ppsgd", **SMALL, fixed={"personalization": 1.0}, name="again", out=out)
    folder = Path(table.attrs["folder"])
    for name in ("comparison.png", "comparison.pdf", "comparison.csv", "comparison.md", "comparison.tex", "tuning.csv"):
        assert (folder / name).stat().st_size > 0
    back = load("compare/again", results=out)
    np.testing.assert_allclose(back["excess_risk"], table["excess_risk"], rtol=1e-5)


# The worked examples


def test_the_shared_model_of_ditto_is_that_of_global_private_sgd():
    """Its users' own models do not touch w, whatever lambda is."""
    task, key = TASK(0), jax.random.key(3)
    said: dict = {"num_sampled": 4, "batch_size": 3, "sampler": "poisson"}
    said |= {"step_size": 0.1, "clip_norm": 1.0, "noise_multiplier": 0.5}
    whole = ALGORITHMS["ppsgd"].make(task, personalization=math.inf, **said)
    ditto = load_method(str(EXAMPLES / "ditto.py"))[1].make(task, regularization=0.3, local_step_size=0.1, **said)
    state, other = whole.init(key), ditto.init(key)
    for t in range(4):
        state, _ = whole.round(jax.random.fold_in(key, t), state)
        other, _ = ditto.round(jax.random.fold_in(key, t), other)
    np.testing.assert_allclose(ditto.public(other), whole.public(state), rtol=1e-5, atol=1e-6)
    theta = np.asarray(ditto.params(other).theta)
    assert 0 < np.count_nonzero(np.abs(theta).sum(1)) < 12  # of those alone who took part


def test_the_messages_of_normalised_gradients_have_length_c_and_no_more():
    task = TASK(0)
    algorithm = load_method(str(EXAMPLES / "normalised_gradients.py"))[1].make(
        task,
        num_sampled=12,
        batch_size=3,
        sampler="all",
        step_size=1.0,
        clip_norm=0.7,
        noise_multiplier=0.0,
    )
    state = algorithm.init(jax.random.key(0))
    after, _ = algorithm.round(jax.random.key(1), state)
    moved = np.linalg.norm(np.asarray(after.variables - state.variables))
    assert 0 < moved <= 0.7 * (1 + 1e-5)  # the mean of twelve vectors of that length
