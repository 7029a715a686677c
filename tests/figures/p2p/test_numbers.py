"""Numbers of the figures of Bellet et al., and the published ones: from runs with known answers."""

import numpy as np
import pandas as pd
import pytest
from made_up_p2p import BEST_UPDATES, MAKE, TARGETS, accuracy, objective
from made_up_runs import at, changed
from reading import text_of
from scipy import stats

from bench.errors import InputError
from figures import FIGURES
from figures.p2p import calibration, common, fig1, fig2c, fig3, fig4, vectors
from figures.p2p.published import published

NAMES = [name for name in FIGURES if name.startswith("p2p")]
RUNS = {name: make() for name, make in MAKE.items()}


def runs_of(name: str) -> pd.DataFrame:
    return RUNS[FIGURES[name].sweeps[0]]


# Published points.


def test_published_points_are_all_there():
    counts = {name: len(published(name)) for name in ("p2p_fig1", "p2p_fig2a", "p2p_fig2b", "p2p_fig2c")}
    assert counts == {"p2p_fig1": 248, "p2p_fig2a": 168, "p2p_fig2b": 168, "p2p_fig2c": 35}
    assert (len(published("p2p_fig3")), len(published("p2p_fig4")), len(published("p2p_table1"))) == (45, 28, 5)
    ends = published("p2p_fig1").query("x_name == 'iterations' and y_name == 'objective'").groupby("series")["y"].last()
    assert ends.to_dict() == {"ADMM": pytest.approx(1.535, abs=1e-3), "CD": pytest.approx(0.733, abs=1e-3)}
    assert published("p2p_table1").set_index("series")["y"]["non-private"] == 0.9502
    assert set(published("p2p_fig3")["x"]) == set(range(10, 100, 10))


@pytest.mark.parametrize("name", ["p2p_fig5", "nonsense"])
def test_a_figure_without_published_numbers_is_said(name):
    with pytest.raises(InputError, match="no figure with published numbers is called"):
        published(name)


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


def test_equal_numbers_of_vectors_are_on_straight_lines():
    runs = pd.DataFrame({"point": ["a"] * 3 + ["b"] * 3, "trial": 0, "seed": 0, "rounds": [0, 1, 2] * 2})
    runs["vectors_sent"] = [0.0, 10, 20, 0, 30, 40]
    runs["objective"] = 3 * runs["vectors_sent"] + 1
    found = vectors.by_vectors(runs, ["objective"])
    assert found["vectors_sent"].tolist() == [0, 10, 20] * 2
    assert found["objective"].tolist() == [1, 31, 61] * 2
    lost = vectors.by_vectors(changed(runs, at(point="b", rounds=1), objective=lambda r: np.nan), ["objective"])
    assert lost.loc[lost["point"] == "b", "objective"].isna().tolist() == [False, True, True]


@pytest.mark.parametrize("name", ["p2p_fig2a", "p2p_fig2b"])
def test_private_curves_by_calibration_and_split(name):
    table = FIGURES[name].table(RUNS["p2p_private"])
    ours = common.here(table)
    assert set(ours["target_epsilon"]) == ({0.5} if name == "p2p_fig2a" else {0.5, 1.0})
    assert ours.groupby("target_epsilon")["variant"].nunique().eq(1).all()
    splits = {"equal", "published", "unrolled"} if name == "p2p_fig2b" else {"equal"}
    assert set(ours["allocation"]) == splits
    assert set(ours["calibration"]) == {"published", "clipped"}
    shown = "calibration == 'published' and allocation == 'equal' and target_epsilon == 0.5"
    last = ours.query(f"{shown} and y_name == 'objective'")
    last = last.sort_values("x").groupby("series").last()
    theirs = table[table["origin"] == "published"].query("y_name == 'objective'").groupby("series")["y"].last()
    assert (last["y"] - theirs).abs().max() < 1e-9
    assert last["x"].to_dict() == {f"T/n = {k}": 100 * k for k in (1, 2, 4, 8)}
    assert (last["epsilon_true"] == 500).all()


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


def test_without_validation_runs_nothing_is_tuned():
    runs = RUNS["p2p_dimensions"]
    for name in ("p2p_fig2c", "p2p_fig3", "p2p_calibration"):
        with pytest.raises(InputError, match="instances = validation"):
            FIGURES[name].table(runs[runs["instances"] == "test"])


def test_fig3_is_by_size_at_100_features_or_at_the_most_there_are():
    runs = RUNS["p2p_dimensions"]
    table = fig3.table(runs)
    row = common.here(table, series="epsilon 0.55").set_index("x")
    assert row["y"][30] == pytest.approx(0.5 + 0.03 + 0.15 * (1 - 30 / 200))
    assert (table["origin"] == "published").sum() == 45
    fewer = fig3.table(runs[runs["num_features"] < 100])
    assert set(fewer["num_features"]) == {75}
    assert set(fewer["origin"]) == {"here"}  # the published are of other runs


def test_fig3_has_the_mu_of_the_paper_where_tuning_chooses_another():
    runs = changed(RUNS["p2p_dimensions"], at(algorithm="CD", mu=0.02), test_accuracy=1.5)
    assert common.tuned_mu(runs) == 0.02
    assert set(common.here(fig3.table(runs))["mu"].dropna()) == {common.PAPER_MU}
    without = runs[runs["mu"] != common.PAPER_MU]
    assert set(common.here(fig3.table(without))["mu"].dropna()) == {0.02}


def test_fig4_says_that_it_protects_a_coordinate_without_labels(no_layout):
    text = text_of(fig4.FIGURE.picture(fig4.table(RUNS["p2p_dimensions"])))
    assert "one coordinate of one input of one agent" in text
    assert "epsilon is infinite for a data point with its label" in text


def test_calibration_shows_what_each_noise_spends(no_layout):
    runs = changed(RUNS["p2p_dimensions"], at(calibration="published"), epsilon_true=1000.0)
    figure = FIGURES["p2p_calibration"]
    table = figure.table(runs)
    table["ratio"] = table["epsilon_true"] / table["epsilon"]
    private = table[table["series"].str.startswith("eps")]
    assert private.groupby(["calibration", "variant"])["ratio"].mean().to_dict() == pytest.approx(
        {("published", ""): 900, ("clipped", ""): 0.9, ("gaussian", ""): 0.9}
        | {(calibration, "one release, smoothed"): 0.8 for calibration in ("clipped", "gaussian")}
    )
    picture = figure.picture(table)
    drawn = np.concatenate([line.get_ydata() for line in picture.axes[3].lines])
    assert {945.0, 0.945, 0.84, 1.05} <= set(np.round(drawn, 6))


def test_one_release_is_tuned_by_validation_instances_and_its_lines_are_its_own(no_layout):
    figure, runs = FIGURES["p2p_calibration"], RUNS["p2p_dimensions"]
    tempting = changed(runs, at(algorithm="one release", instances="test", clip_norm=10.0), test_accuracy=1.5)
    table = figure.table(tempting)
    once = table[table["variant"] == common.ONCE]
    assert len(once) == 2 * 3 * 7
    assert (once["clip_norm"].unique(), once["mu"].unique(), once["num_updates"].unique()) == (1, 0.04, 0)
    row = once[(once["series"] == "epsilon 0.15") & (once["x"] == 25) & (once["calibration"] == "gaussian")]
    printed = published("p2p_fig2c").set_index(["series", "x"])["y"]
    assert row["y"].item() == pytest.approx(printed["epsilon 0.15", 25] + 0.001)
    mean = changed(runs, at(algorithm="one release", instances="validation", clip_norm=10.0), test_accuracy=1.5)
    assert set(figure.table(mean).query("variant == @common.ONCE and calibration == 'clipped'")["clip_norm"]) == {10}
    picture = figure.picture(table)
    dotted = [line for line in picture.axes[0].lines if line.get_markerfacecolor() == "white"]
    assert [line.get_color() for line in dotted] == [
        calibration.STYLES[name]["color"] for name in ("clipped", "gaussian")
    ]
    assert "one release, smoothed" in text_of(picture)
    old = figure.picture(figure.table(runs[runs["algorithm"] != "one release"]))
    assert len(picture.axes[0].lines) - len(old.axes[0].lines) == 2
    assert "one release" not in text_of(old)
