"""How far runs are from the points that Bellet et al. published."""

import numpy as np
import pandas as pd
import pytest
from made_up_p2p import MAKE
from made_up_runs import at, changed

from figures.p2p import common, deviations
from figures.p2p.published import published

RUNS = {name: make() for name, make in MAKE.items()}
NAN = np.nan


def test_deviations_are_zero_where_the_runs_are_the_published_points():
    table, left_out = deviations.deviations(RUNS)
    assert left_out == []
    drawn = table[table["figure"].isin(["p2p_fig2c", "p2p_fig4"]) & (table["variant"] != common.DESCENT)]
    exact = drawn[drawn["series"].str.startswith("epsilon")]
    assert (exact["deviation"].abs() < 1e-9).all()
    assert set(exact["points"]) == {7}
    assert table.set_index(["figure", "series"]).loc[("p2p_fig2c", "non-private"), "deviation"].item() == pytest.approx(
        0.002
    )
    best = table[table["variant"].str.startswith("Laplace, C = 10, warm")]
    assert (best["deviation"].abs() < 1e-9).all()
    assert len(best) == 3


def test_every_published_curve_is_compared():
    table, _ = deviations.deviations(RUNS)
    there = {(figure, series) for figure in (*deviations.CURVES, "p2p_table1") for series in series_of(figure)}
    assert {tuple(pair) for pair in table[["figure", "series"]].to_numpy()} == there


def series_of(figure):
    return published(figure)["series"].unique()


def deviation_of(series, runs) -> pd.Series:
    table, _ = deviations.deviations({"p2p_dimensions": runs})
    return table[(table["figure"] == "p2p_fig2c") & (table["series"] == series)].iloc[0]


def test_the_largest_deviation_is_found_and_keeps_its_sign():
    runs = changed(
        RUNS["p2p_dimensions"], at(algorithm="CD", num_features=25), test_accuracy=lambda r: r["test_accuracy"] - 0.1
    )
    row = deviation_of("non-private", runs)
    assert (row["x"], row["deviation"]) == (25, pytest.approx(-0.098))
    assert row["here"] - row["published"] == pytest.approx(row["deviation"])
    runs = changed(RUNS["p2p_dimensions"], at(algorithm="CD", num_features=50), test_accuracy=lambda r: NAN)
    assert np.isnan(deviation_of("non-private", runs)["deviation"])


def test_between_evaluations_a_curve_is_a_straight_line_and_nothing_is_compared_beyond_its_end():
    runs = RUNS["p2p_convergence"]
    whole, _ = deviations.deviations({"p2p_convergence": runs})
    short = runs[runs["rounds"] <= 10].assign(num_rounds=10)
    part, _ = deviations.deviations({"p2p_convergence": short})
    assert set(whole["points"]) == {31}
    counts = part.set_index(["x_name"])["points"]
    assert set(counts["iterations"]) == {11}  # until 500 of 1,500 iterations
    assert set(counts["vectors_sent"]) == {11}  # 4,000 vectors
    points = pd.DataFrame({"x": [0.0, 10.0], "y": [0.0, 1.0]}).assign(
        origin="here", series="CD", variant="", x_name="iterations", y_name="objective"
    )
    theirs = points.tail(1).assign(x=2.5, y=0.0, origin="published")
    assert common.compared(pd.concat([points, theirs]))["here"].tolist() == [0.25]


def test_deviations_of_what_is_there_only():
    table, left_out = deviations.deviations({})
    assert table.empty
    assert len(left_out) == len(deviations.CURVES) + 1
    assert left_out[0] == "p2p_fig1 is left out: no results of p2p_convergence"
    runs = RUNS["p2p_dimensions"]
    parts = {"p2p_dimensions": runs[runs["algorithm"] != "CD"], "p2p_movielens": only("p2p_movielens", "local")}
    table, left_out = deviations.deviations(parts)
    assert set(table["figure"]) == {"p2p_fig4"}  # nothing to tune mu by: no other figure
    said = dict(line.split(" is left out: ") for line in left_out)
    assert set(said) == {*deviations.CURVES, "p2p_table1"} - {"p2p_fig4"}
    assert "with algorithm = CD, instances = validation" in said["p2p_fig2c"]
    assert "no run of p2p_movielens with algorithm = CD" in said["p2p_table1"]


def test_a_figure_without_any_published_point_is_said():
    runs = RUNS["p2p_dimensions"]
    table, left_out = deviations.deviations({"p2p_dimensions": runs[runs["num_features"] == 50]})
    assert set(table["figure"]) == {"p2p_fig2c", "p2p_fig4"}
    assert "p2p_fig3 is left out: these runs of p2p_dimensions have none of the published points" in left_out


def only(sweep: str, *algorithms: str) -> pd.DataFrame:
    """The runs of some algorithms as they are read where there are no others: with their columns alone."""
    runs = RUNS[sweep]
    return runs[runs["algorithm"].isin(algorithms)].dropna(axis="columns", how="all")
