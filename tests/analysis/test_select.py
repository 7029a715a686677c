"""Tuning and intervals: by the mean, never a diverged run, Student's t, and the right rows carried along."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bench.analysis import select

MORE = 10_000  # groups of a simulation


def runs(table: dict, **columns) -> pd.DataFrame:
    """step size -> values by repetition, as runs."""
    rows = [
        {"step_size": step, "trial": seed, "seed": seed, "metric": value, **columns}
        for step, values in table.items()
        for seed, value in enumerate(values)
    ]
    return pd.DataFrame(rows)


def chosen(table: dict, best: str, **how) -> float:
    rows = select.tune(runs(table, group=0), by=["group"], over="step_size", on="metric", best=best, **how)
    (step,) = rows["step_size"].unique()
    assert len(rows) == len(table[step])  # all its repetitions, and nothing else
    return step


def test_tune_goes_by_the_mean_over_repetitions():
    """0.1 has the best single run and the best median; 0.2 the best mean."""
    table = {0.1: [0.0, 0.0, 10.0], 0.2: [1.0, 1.0, 1.0], 0.3: [2.0, 2.0, 2.0]}
    assert chosen(table, "min") == 0.2
    assert chosen({step: [-v for v in values] for step, values in table.items()}, "max") == 0.2
    assert chosen(table, "max") == 0.1


def test_tune_by_logarithms_is_the_geometric_mean():
    table = {0.1: [1e-4, 1.0], 0.2: [0.1, 0.1]}
    assert chosen(table, "min") == 0.2
    assert chosen(table, "min", log=True) == 0.1


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("best", ["min", "max"])
@pytest.mark.parametrize("log", [False, True])
def test_tune_never_takes_a_diverged_value_while_another_converged(bad, best, log):
    better, worse = (1.0, 9.0) if best == "min" else (9.0, 1.0)
    for place in range(3):
        values = [better] * 3
        values[place] = bad
        assert chosen({0.1: values, 0.2: [worse] * 3}, best, log=log) == 0.2
        assert chosen({0.1: [worse] * 3, 0.2: values}, best, log=log) == 0.1


@pytest.mark.parametrize("best", ["min", "max"])
def test_tune_where_all_diverged_still_chooses(best):
    assert chosen({0.1: [np.nan, 1.0], 0.2: [np.inf, 1.0]}, best) == 0.1


def test_tune_leaves_out_values_with_missing_repetitions():
    """While a sweep runs, a lucky first repetition must not win against a whole set of them."""
    assert chosen({0.1: [0.0], 0.2: [1.0, 1.0]}, "min") == 0.2
    assert chosen({0.1: [0.0], 0.2: [1.0]}, "min") == 0.1
    assert chosen({0.1: [0.9] * 4, 0.2: [0.3] * 3, 0.3: [0.5] * 3}, "min") == 0.2  # the worst has the most repetitions


@pytest.mark.parametrize("best", ["min", "max"])
def test_of_equals_the_smallest_is_taken(best):
    for table in ({0.1: [1.0, 3.0], 0.2: [2.0, 2.0]}, {0.2: [2.0, 2.0], 0.1: [1.0, 3.0]}):
        assert chosen(table, best) == 0.1


def test_text_as_categories_changes_nothing_and_runs_of_unknown_settings_are_left_out():
    random = np.random.default_rng(0)
    rows = pd.DataFrame(
        {
            "method": random.choice(["a", "b", None], 400),
            "step_size": random.choice([0.1, 0.2, 0.3, np.nan], 400),
            "trial": random.integers(2, size=400),
            "seed": random.integers(3, size=400),
            "metric": random.random(400),
        }
    )
    as_categories = rows.assign(method=rows["method"].astype("category"))
    how = {"by": ["method"], "over": "step_size", "on": "metric", "best": "min"}
    for choice in (select.tune, select.tune_apart):
        found = choice(rows, **how)
        assert set(found["method"]) == {"a", "b"}
        assert found[["step_size", "metric"]].notna().all(axis=None)
        pd.testing.assert_frame_equal(choice(as_categories, **how).astype({"method": found["method"].dtype}), found)


def test_tune_takes_every_group_by_itself_also_infinite_ones():
    one = runs({0.1: [1.0, 1.0], 0.2: [2.0, 2.0]}, personalization=np.inf, rounds=10)
    other = runs({0.1: [2.0, 2.0], 0.2: [1.0, 1.0]}, personalization=np.inf, rounds=20)
    third = runs({0.1: [2.0, 2.0], 0.2: [1.0, 1.0]}, personalization=0.0, rounds=10)
    rows = select.tune(
        pd.concat([one, other, third]), by=["personalization", "rounds"], over="step_size", on="metric", best="min"
    )
    steps = rows.groupby(["personalization", "rounds"])["step_size"].unique().map(list).to_dict()
    assert steps == {(0.0, 10): [0.2], (np.inf, 10): [0.1], (np.inf, 20): [0.2]}


@pytest.mark.parametrize("count", [2, 3, 5, 12])
@pytest.mark.parametrize("log", [False, True])
def test_interval_is_the_textbook_t_interval(count, log):
    values = np.random.default_rng(count).lognormal(size=count)
    (row,) = select.interval(runs({0.1: values}), by=["step_size"], value="metric", log=log).itertuples()
    sample = np.log(values) if log else values
    low, high = stats.t.interval(0.95, count - 1, loc=sample.mean(), scale=stats.sem(sample))
    back = np.exp if log else float
    assert row.metric == pytest.approx(stats.gmean(values) if log else values.mean(), rel=1e-12)
    assert (row.low, row.high) == pytest.approx((back(low), back(high)), rel=1e-12)
    assert row.repetitions == count


def test_one_repetition_has_no_interval():
    for log in (False, True):
        (row,) = select.interval(runs({0.1: [2.0]}), by=["step_size"], value="metric", log=log).itertuples()
        assert row.metric == pytest.approx(2)
        assert np.isnan(row.low)
        assert np.isnan(row.high)
        assert row.repetitions == 1


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("log", [False, True])
def test_a_diverged_repetition_is_not_averaged_away(bad, log):
    table = select.interval(
        runs({0.1: [1.0, bad, 2.0], 0.2: [1.0, 2.0, 3.0]}), by=["step_size"], value="metric", log=log
    )
    assert table.loc[0, ["metric", "low", "high"]].isna().all()
    assert table.loc[0, "repetitions"] == 3
    assert table.loc[1, ["metric", "low", "high"]].notna().all()


def test_means_of_further_columns_and_a_second_interval_stand_beside_the_first():
    rows = runs({0.1: [1.0, 3.0], 0.2: [2.0, 2.0]}).assign(spent=[1.0, 2.0, 5.0, 5.0])
    table = select.interval(rows, by=["step_size"], value="metric", means=["spent"])
    assert table["spent"].tolist() == [1.5, 5.0]
    second = select.beside(rows, by=["step_size"], value="spent")
    assert second.columns.tolist() == ["step_size", "spent", "spent_low", "spent_high"]
    assert second.loc[0, "spent_low"] < second.loc[0, "spent"] < second.loc[0, "spent_high"]


def coverage(half, sample) -> float:
    return np.mean(np.abs(sample.mean(axis=1)) <= half)


def test_the_interval_covers_the_true_mean_95_times_in_100():
    """Five repetitions; the usual mistakes (normal quantile, division by n) are outside the tolerance."""
    sample = np.random.default_rng(1).normal(size=(MORE, 5))
    rows = pd.DataFrame({"group": np.repeat(np.arange(MORE), 5), "metric": sample.ravel()})
    table = select.interval(rows, by=["group"], value="metric")
    covered = ((table["low"] <= 0) & (table["high"] >= 0)).mean()
    tolerance = 4 * np.sqrt(0.95 * 0.05 / MORE)
    assert abs(covered - 0.95) < tolerance
    assert abs(coverage(1.96 * sample.std(axis=1, ddof=1) / np.sqrt(5), sample) - 0.95) > tolerance
    assert abs(coverage(stats.t.ppf(0.975, 4) * sample.std(axis=1) / np.sqrt(5), sample) - 0.95) > tolerance


def test_the_smallest_and_the_largest_of_several_values_are_edges():
    values = {"low": (0.1, 0.2, 0.3), "high": (0.3, 0.2, 0.1), "inside": (0.2, 0.1, 0.2), "single": (0.1,)}
    groups = [
        runs({step: np.full(3, metric) for step, metric in zip((1, 2, 5), metrics, strict=False)}, group=name)
        for name, metrics in values.items()
    ]
    table = select.tune(pd.concat(groups), by=["group"], over="step_size", on="metric", best="min")
    edges = table.groupby("group")["edge"].first()
    assert edges["low"] == "step_size = 1, the smallest tried"
    assert edges["high"] == "step_size = 5, the largest tried"
    assert edges["inside"] == edges["single"] == ""


def test_carried_columns_belong_to_the_step_that_was_chosen():
    table = runs({0.1: [1.0, 1.0], 0.2: [2.0, 2.0]}, group=0)
    table["held_out"] = -table["metric"]
    table["epsilon"] = table["step_size"] * 10
    table["of_seed"] = table["seed"]
    curves = select.tuned_curves(
        table,
        by=["group"],
        value="metric",
        best="min",
        tunings={"shown": "metric", "other": "held_out"},
        carry=["epsilon", "of_seed"],
    ).set_index("tuned_on")
    assert curves["step_size"].to_dict() == {"shown": 0.1, "other": 0.2}
    assert curves["epsilon"].to_dict() == {"shown": 1.0, "other": 2.0}
    assert curves["of_seed"].to_dict() == {"shown": 0.5, "other": 0.5}


@pytest.mark.parametrize("metric", ["excess_risk", "validation_loss", "test_squared_error", "test_rmse"])
def test_metrics_that_can_diverge_have_geometric_means(metric):
    rows = pd.DataFrame({"trial": [0, 1, 0, 1], "seed": 0, "at": ["a", "a", "b", "b"], metric: [1.0, 100.0, 1e4, 1e6]})
    found = select.averaged(rows, by=["at"], value=metric)
    assert found[metric].tolist() == pytest.approx([10.0, 1e5])
    assert set(found["mean"]) == {"geometric"}
    assert (found["low"] > 0).all()


@pytest.mark.parametrize(
    ("metric", "scores"),
    [
        *((metric, [0.5, 0.6]) for metric in ("test_accuracy", "test_error", "score")),
        *(("loss", scores) for scores in ([-1.0, 1e6], [0.0, 1e6], [np.nan, np.inf])),
    ],
)
def test_other_scores_and_losses_of_which_some_are_not_positive_have_arithmetic_means(metric, scores):
    rows = pd.DataFrame({"trial": [0, 1], "seed": 0, "at": "a", metric: scores})
    found = select.averaged(rows, by=["at"], value=metric)
    assert set(found["mean"]) == {"arithmetic"}
    plain = select.interval(rows, by=["at"], value=metric)
    pd.testing.assert_frame_equal(found.drop(columns="mean"), plain)


def test_settings_chosen_apart_gain_nothing_from_chance():
    """Of thirty settings that are alike, the best on the same repetitions looks better than all are, and the best on
    others does not."""
    rng, gained = np.random.default_rng(3), {"tune": [], "tune_apart": []}
    for _ in range(100):
        rows = pd.DataFrame(
            [(0, s, setting, 0, rng.normal()) for s in range(8) for setting in range(30)],
            columns=["trial", "seed", "setting", "group", "risk"],
        )
        for name, values in gained.items():
            tuned = getattr(select, name)(rows, by=["group"], over="setting", on="risk", best="min")
            assert sorted(tuned["seed"]) == list(range(8))
            values.append(tuned["risk"].mean())
    assert np.mean(gained["tune"]) < -0.5
    assert abs(np.mean(gained["tune_apart"])) < 4 / 800**0.5


def test_every_repetition_takes_the_setting_that_is_best_on_the_others():
    rows = pd.DataFrame(
        [(0, s, step, 0, abs(step - s)) for s in range(4) for step in (0.0, 1.0, 2.0, 3.0)],
        columns=["trial", "seed", "step", "group", "risk"],
    )
    for fold in range(4):
        others = rows[rows["seed"] != fold].groupby("step")["risk"].mean()
        tuned = select.tune_apart(rows, by=["group"], over="step", on="risk", best="min")
        (step,) = tuned.loc[tuned["seed"] == fold, "step"]
        assert step == others.idxmin()
    one = select.tune_apart(rows[rows["seed"] == 2], by=["group"], over="step", on="risk", best="min")
    assert one["step"].tolist() == [2.0]
