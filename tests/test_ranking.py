"""Ranks and gains of anybody's table of scores: those of the board and of `compare`, and what a table must have."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bench import ranking
from bench.comparison.report.table import table
from bench.errors import InputError

ROOT = Path(__file__).parents[1]


def scores(methods=("A", "B", "C"), tasks=("one", "two"), epsilons=(1.0, np.inf), splits=6, best="max"):
    draw = np.random.default_rng(3)
    rows = [
        {"task": task, "epsilon": epsilon, "method": method, "split": split, "score": place + draw.normal()}
        for task in tasks
        for epsilon in epsilons
        for split in range(splits)
        for place, method in enumerate(methods)
    ]
    return pd.DataFrame(rows).assign(best=best)


def test_the_committed_scores_give_the_mean_ranks_and_gains_of_the_board():
    """The board's table is all that another program needs; intervals alone know less there (users, test examples)."""
    flat = pd.read_csv(ROOT / "results/board/scores.csv")
    board = pd.read_csv(ROOT / "results/board/board.csv")
    for _, own in board.groupby("task"):
        here = flat[flat["task"] == own["task"].iloc[0]]
        baselines = sorted(own.loc[own["is_baseline"], "algorithm"].unique())
        found = ranking.gains(here, baselines=baselines).rename(columns={"method": "algorithm"})
        found = found.rename(columns={"epsilon": "target_epsilon", "privacy_unit": "privacy_unit_compared"})
        found = found.rename(columns={"neighbors": "neighbors_compared"})
        by = ["privacy_unit_compared", "neighbors_compared", "target_epsilon", "algorithm"]
        both = own.merge(found, on=by, suffixes=("", "_found"))
        assert len(both) == len(own) == len(found)
        for name in ("score", "gain"):
            np.testing.assert_allclose(both[name], both[f"{name}_found"], rtol=2e-5, atol=2e-6, err_msg=name)
        for _, rows in both.groupby(by[:3]):  # scores are rounded in the file, which may tie methods, or part them
            alike = np.isclose(rows["score"].to_numpy()[:, None], rows["score"].to_numpy(), rtol=2e-5).sum(axis=1)
            assert (np.abs(rows["rank"] - rows["rank_found"]) < alike).all()
        assert list(both["best_baseline"].fillna("")) == list(both["best_baseline_found"].fillna(""))


@pytest.mark.parametrize("best", ["max", "min"])
def test_gains_are_those_of_compare(best):
    ours = scores(tasks=("one",), best=best)
    runs = ours.rename(columns={"method": "algorithm", "epsilon": "target_epsilon", "split": "trial", "score": "loss"})
    runs = runs.assign(privacy_unit_compared="user", neighbors_compared="add", delta=1e-5)
    runs = runs.assign(source="made up", scale="test", commit="none", checksum="")
    theirs = table(
        runs,
        **{"problem": "one", "title": "one", "metric": "loss", "best": best, "baselines": ["A", "B"]},
        **{"num_settings": dict.fromkeys("ABC", 1), "against": dict.fromkeys("ABC", "all"), "test_ratio": 0.25},
    )
    theirs = theirs.sort_values(["target_epsilon", "algorithm"], ignore_index=True)
    found = ranking.gains(ours, baselines=["A", "B"], test_ratio=0.25)
    for name in ("rank", "gain", "gain_low", "gain_high", "gain_p", "decided"):
        np.testing.assert_array_equal(found[name], theirs[name], err_msg=name)


def test_names_and_units_change_no_rank():
    """Other names of splits and a common shift of a split's scores leave all gains as they are."""
    one = scores()
    other = one.assign(split="split " + one["split"].astype(str), score=one["score"] + 10 * one["split"])
    pd.testing.assert_frame_equal(
        ranking.gains(one).drop(columns="score"), ranking.gains(other).drop(columns="score"), rtol=1e-9
    )
    pd.testing.assert_frame_equal(ranking.mean_ranks(one), ranking.mean_ranks(other))


def test_losses_are_ranked_upside_down():
    up, down = scores(), scores().assign(best="min")
    down["score"] = -down["score"]
    pd.testing.assert_frame_equal(ranking.mean_ranks(up), ranking.mean_ranks(down))
    assert list(ranking.gains(up)["gain"]) == list(ranking.gains(down)["gain"])
    assert list(ranking.gains(up.drop(columns="best"), best="max")["rank"]) == list(ranking.gains(up)["rank"])


def test_a_run_that_diverged_has_no_gain():
    table = scores(tasks=("one",))
    table.loc[(table["method"] == "C") & (table["split"] == 2), "score"] = np.nan
    found = ranking.gains(table).set_index(["epsilon", "method"])
    assert found.loc[(1.0, "C"), ["rank", "gain"]].isna().all()
    assert found.loc[(1.0, "B"), "best_baseline"] == "B"


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda t: t.drop(columns="split"), "'split'"),
        (lambda t: t.drop(columns="best"), "best"),
        (lambda t: t.assign(best="larger"), "larger"),
        (lambda t: t.assign(best=np.where(t.index < 2, "min", "max")), "both"),
        (lambda t: t.assign(score="good"), "good"),
        (lambda t: t.assign(epsilon=0.0), "epsilon"),
        (lambda t: t.assign(method=np.where(t.index < 2, None, t["method"])), "'method'"),
        (lambda t: pd.concat([t, t.iloc[:1]]), "several scores of 'A'"),
        (lambda t: t.iloc[1:], "'A' has scores of 5"),
        (lambda t: t.iloc[:0], "no row"),
    ],
)
def test_another_table_is_refused_by_what_is_wrong(change, named):
    for function in (ranking.gains, ranking.mean_ranks):
        with pytest.raises(InputError, match=named):
            function(change(scores()))


def test_methods_that_are_not_there_are_no_baselines():
    for options in ({"baselines": ["A", "Z"]}, {"reference": "Z"}):
        with pytest.raises(InputError, match="'Z'"):
            ranking.gains(scores(), **options)
    with pytest.raises(InputError, match="test_ratio"):
        ranking.gains(scores(), test_ratio=-1.0)
