"""Numbers of the figures of Bellet et al., and the published ones: from runs with known answers."""

import numpy as np
import pandas as pd
import pytest
from made_up_p2p import BEST_UPDATES, MAKE, TARGETS, accuracy, objective
from made_up_runs import at, changed
from reading import text_of
from scipy import stats

from figures.p2p import common, fig1, fig2c, fig4, vectors
from figures.p2p.published import published

RUNS = {name: make() for name, make in MAKE.items()}


# Published points.


def test_published_points_are_all_there():
    counts = {name: len(published(name)) for name in ("p2p_fig1", "p2p_fig2a", "p2p_fig2b", "p2p_fig2c")}
    assert counts == {"p2p_fig1": 248, "p2p_fig2a": 168, "p2p_fig2b": 168, "p2p_fig2c": 35}
    assert (len(published("p2p_fig3")), len(published("p2p_fig4")), len(published("p2p_table1"))) == (45, 28, 5)
    ends = published("p2p_fig1").query("x_name == 'iterations' and y_name == 'objective'").groupby("series")["y"].last()
    assert ends.to_dict() == {"ADMM": pytest.approx(1.535, abs=1e-3), "CD": pytest.approx(0.733, abs=1e-3)}
    assert published("p2p_table1").set_index("series")["y"]["non-private"] == 0.9502
    assert set(published("p2p_fig3")["x"]) == set(range(10, 100, 10))


# The numbers.


def test_fig1_is_the_mean_of_cd_and_of_admm_at_the_fitting_and_at_its_best_penalty():
    table = common.here(fig1.table(RUNS["p2p_convergence"]), x_name="iterations")
    table = table.set_index(["series", "variant", "y_name", "x"]).sort_index()
    fitting = fig1.fitting_penalty(RUNS["p2p_convergence"])
    assert set(table.loc["ADMM", "penalty"]) == {fitting}
    row = table.loc[(fig1.AT_BEST, "short descent", "objective", 500)]
    values = [objective("ADMM", "descent", 500, 0.05) + 0.0002 * (seed - 1) for seed in range(3)]
    low, high = stats.t.interval(0.95, 2, loc=np.mean(values), scale=stats.sem(values))
    assert (row["y"], row["low"], row["high"]) == pytest.approx((np.mean(values), low, high))
    assert (row["penalty"], row["repetitions"]) == (0.05, 3)
    assert table.loc[("CD", "exact minimisers", "test_accuracy", 1500), "y"] == pytest.approx(accuracy("CD", 1500, 0))
    other = changed(RUNS["p2p_convergence"], at(penalty=0.1, rounds=30, start="local"), objective=0.5)
    chosen = fig1.chosen(other).query("series == 'ADMM'").groupby("variant")["penalty"].unique()
    assert {name: list(values) for name, values in chosen.items()} == {
        "exact minimisers": [0.1],
        "short descent": [0.05],
    }


def test_vectors_are_summed_over_the_rounds_between_evaluations():
    """A row has the mean of the rounds since the last evaluation, here 1, 2 and 4 rounds apart."""
    runs = pd.DataFrame({"point": "a", "trial": 0, "seed": 0, "rounds": [0, 1, 3, 7], "num_ticks": 50})
    runs["vectors_sent"] = [np.nan, 10.0, 20.0, 5.0]
    shuffled = pd.concat([runs, runs.assign(seed=1, vectors_sent=1.0)]).sample(frac=1, random_state=0)
    found = vectors.with_vectors(shuffled)
    assert found.loc[found["seed"] == 0, "vectors_sent"].tolist() == [0, 10, 50, 70]
    assert found.loc[found["seed"] == 1, "vectors_sent"].tolist() == [0, 1, 3, 7]
    assert found["iterations"].tolist() == [0, 50, 150, 350] * 2


def test_settings_are_chosen_by_validation_instances_alone():
    runs = RUNS["p2p_dimensions"]
    table = common.here(fig2c.table(runs), calibration="published")
    chosen = table.groupby("series")["num_updates"].unique()
    assert {name: list(values) for name, values in chosen.items()} == {
        f"epsilon {target + 0.05:g}": [BEST_UPDATES[target]] for target in TARGETS
    }
    assert set(table["mu"]) == {0.04}
    best = common.here(fig2c.table(runs), series="epsilon 0.55").set_index("x")["y"]
    assert best[25] == pytest.approx(published("p2p_fig2c").set_index(["series", "x"])["y"]["epsilon 0.55", 25])
    tempting = changed(runs, lambda r: (r["instances"] == "test") & (r["num_updates"] == 8), test_accuracy=1.5)
    again = common.here(fig2c.table(tempting), calibration="published").groupby("series")["num_updates"].unique()
    pd.testing.assert_series_equal(again, chosen)
    elsewhere = changed(runs, at(instances="validation", num_updates=1.0, num_features=25.0), test_accuracy=1.5)
    moved = common.here(fig2c.table(elsewhere), calibration="published")
    assert set(moved.loc[moved["x"] == 25, "num_updates"]) == {1}
    assert set(moved.loc[moved["x"] != 25, "num_updates"]) == {8, 2, 1}


def test_mu_is_one_for_all_numbers_of_features_and_of_the_run_without_privacy():
    """0.02 is better at one p by less than it is worse at the six others; private runs do not count."""
    runs = RUNS["p2p_dimensions"]
    one = changed(runs, at(algorithm="CD", mu=0.02, num_features=2), test_accuracy=lambda r: r["test_accuracy"] + 0.05)
    assert common.tuned_mu(one) == 0.04
    more = changed(runs, at(algorithm="CD", mu=0.02, num_features=2), test_accuracy=lambda r: r["test_accuracy"] + 0.08)
    assert common.tuned_mu(more) == 0.02
    private = changed(runs, at(algorithm="private CD", mu=0.02), test_accuracy=1.5)
    assert common.tuned_mu(private) == 0.04
    assert common.tuned_private(private, "published", 0.04)["mu"].unique().tolist() == [0.04]
    assert common.tuned_private(private, "clipped")["mu"].unique().tolist() == [0.02]


def test_fig4_says_that_it_protects_a_coordinate_without_labels(no_layout):
    text = text_of(fig4.FIGURE.picture(fig4.table(RUNS["p2p_dimensions"])))
    assert "one coordinate of one input of one agent" in text
    assert "epsilon is infinite for a data point with its label" in text
