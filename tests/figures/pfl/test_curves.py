"""Curves of Bhaskar et al.: ours and the published, and what every picture says."""

import math

import numpy as np
import pandas as pd
import pytest
from made_up_pfl import MAKE
from made_up_runs import at, changed
from reading import text_of

from bench.errors import InputError
from figures import FIGURES
from figures.pfl import curves, splits_curves

NAMES = [name for name in FIGURES if name.startswith("pfl_")]
RUNS = {name: make() for name, make in MAKE.items()}
SPLITS, CLIENTS, EPSILON, NORMALISATION, AVERAGING, ONE_CLIENT, SMALL_EPSILON, ALONE = (RUNS[name] for name in MAKE)
INF = math.inf


@pytest.fixture(autouse=True)
def quick(no_layout):
    """Laying out is most of the time."""


AS_PUBLISHED = (
    "averaged model after the last round, published settings, untuned "
    "(step size 0.3, momentum 0.5, clipping norm 1, batches of 64)"
)
EXAMINED = {
    "pfl_one_client": "after the last round, untuned (step size 0.1 to 0.3, momentum 0.5 to 0.9, clipping norm 0.1 to "
    "1, batches of 64 to 2048)",
    "pfl_table5": "after the last round, untuned (step size 0.1 to 0.3, momentum 0.5 to 0.9, clipping norm 0.1 to 1, "
    "batches of 64)",
    "pfl_small_epsilon": "after the last round, untuned (step size 0.1 to 0.3, momentum 0.5, clipping norm 1, batches "
    "of 64 to 128)",
}


def cell_of(table, **values):
    """The one row with these values."""
    (found,) = table[at(**values)(table)].itertuples()
    return found


FIRST = {"target_epsilon": 2.93, "num_epochs": 1, "algorithm": "SN+Lin"}


# One seed, a model missing, a run that diverged, one epsilon.
THIN = SPLITS[
    (SPLITS["seed"] == 0) & (SPLITS["algorithm"] != "CNN+TS") & (SPLITS["target_epsilon"] == 2.93)
    | (SPLITS["dataset"] != "MNIST")
]
THIN = changed(THIN, at(num_epochs=20, algorithm="SN+CNN", dataset="MNIST"), test_accuracy=lambda r: np.nan)


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_says_what_it_is(name):
    figure = FIGURES[name]
    table = figure.table(pd.concat(RUNS[sweep] for sweep in figure.sweeps))
    text = text_of(figure.picture(table))
    for said in ("Data: made up (task ", "Scale: laptop", "3 repetitions"):
        assert said in text
    if name == "pfl_averaging":
        assert "There are no private runs" in text
        return
    assert (
        "one example of one client, against the server (add-or-remove one; Poisson sampling), at delta = 1e-05" in text
    )
    others = "larger for an example of several clients" in text
    assert others == (name not in ("pfl_overlap", "pfl_one_client"))  # it is what the one shows, and the other has none
    if name != "pfl_overlap":
        assert EXAMINED.get(name, AS_PUBLISHED) in text
        assert "Only" not in text
    assert "no runs" not in text


def heights(ax) -> list[float]:
    return [value for line in ax.lines for value in np.asarray(line.get_ydata(), float)]


def test_curves_show_ours_and_the_published_and_break_where_nothing_was_run():
    table = splits_curves.table(THIN)
    picture = splits_curves.FIGURE.picture(table)
    text = text_of(picture)
    absent = table["repetitions"].isna().sum()
    assert f"interrupted at {absent + 1} of 216 cells ({absent} not run, 1 with a run that diverged)." in text
    assert text.count("no runs") == 2  # MNIST without privacy and at the smaller epsilon
    panel = picture.axes[1]
    (cross,) = [line for line in panel.lines if line.get_marker() == "x"]  # the run that diverged counts as 0 %
    assert (cross.get_xdata().tolist(), cross.get_ydata().tolist()) == ([20], [0.0])
    assert "mean with diverged runs as 0 %" in [words.get_text() for words in picture.legends[0].get_texts()]
    lines = [line for line in panel.lines if line is not cross]
    grey, ours = ([line for line in lines if (line.get_color() == "#b4b4b4") == behind] for behind in (True, False))
    assert (len(grey), len(ours)) == (4, 3)  # CNN+TS is published alone
    np.testing.assert_allclose(grey[2].get_ydata()[[0, -1]], [0.9752, 0.9685])
    np.testing.assert_allclose(ours[1].get_ydata()[[0, -1]], [0.9742, 0.9675])
    assert np.isnan(ours[2].get_ydata()[-1])
    whole = splits_curves.FIGURE.picture(splits_curves.table(SPLITS))
    assert "interrupted" not in text_of(whole)
    assert "not run" not in text_of(whole)


def test_more_seeds_of_some_cells_are_not_called_missing_runs():
    more = SPLITS[(SPLITS["seed"] == 0) | (SPLITS["algorithm"] == "SN+Lin")]
    text = text_of(splits_curves.FIGURE.picture(splits_curves.table(more)))
    assert "1 to 3 repetitions (more of some numbers than of others)" in text
    assert "not run" not in text


def test_another_normalisation_is_held_against_table_2():
    figure = FIGURES["pfl_normalisation"]
    table = figure.table(NORMALISATION)
    assert set(table["algorithm"]) == {"CNN+RL", "CNN+TS"}
    assert len(table) == 2 * 3 * 6
    np.testing.assert_allclose(table["difference"], 0, atol=1e-12)
    assert "pixels in [-1, 1]" in text_of(figure.picture(table))


def test_one_client_is_held_against_its_published_cell_at_every_batch_size():
    figure = FIGURES["pfl_one_client"]
    table = figure.table(ONE_CLIENT)
    assert table.groupby("dataset")["published"].nunique().to_dict() == {"Fashion-MNIST": 1, "MNIST": 1}
    assert len(table) == 2 * (3 + 1)
    best = table.loc[table.groupby("dataset")["test_accuracy"].idxmax()]
    assert set(best["batch_size"]) == {512}
    np.testing.assert_allclose(best["test_accuracy"], best["published"], atol=1e-12)
    axes = figure.picture(table).axes
    assert [ax.get_xlabel() for ax in axes] == ["expected batch size $L$"] * 4
    for ax, clip_norm in zip(axes, (1.0, 1.0, 0.1, 0.1), strict=True):
        name, _, rest = ax.get_title().partition(",")
        assert f"$C$ = {clip_norm:g}" in rest
        shown = table[(table["dataset"] == name) & (table["clip_norm"] == clip_norm)]["test_accuracy"]
        drawn = [list(line.get_ydata()) for line in ax.lines if line.get_color() == curves.LOOKS["SN+Lin"]["color"]]
        assert drawn == [pytest.approx(list(shown))]


def test_one_client_stands_beside_ten_with_both_settings():
    figure = FIGURES["pfl_clients_curves"]
    single = ONE_CLIENT[(ONE_CLIENT["clip_norm"] == 0.1) & (ONE_CLIENT["dataset"] == "MNIST")]
    table = figure.table(pd.concat([CLIENTS, single]))
    picture = figure.picture(table)
    open_markers = [[line for line in ax.lines if line.get_markerfacecolor() == "white"] for ax in picture.axes]
    assert [len(lines) for lines in open_markers] == [1, 0, 0]  # made-up runs have SN+Lin on MNIST
    of_model = table[(table["dataset"] == "MNIST") & (table["algorithm"] == "SN+Lin")]
    alone, ten = cell_of(of_model, program="single-node program"), cell_of(of_model, num_clients=10)
    (line,) = open_markers[0]
    np.testing.assert_array_equal(line.get_xydata(), [[1, alone.test_accuracy], [10, ten.test_accuracy]])
    assert "Open markers: one client with clipping norm 0.1, step size 0.1, momentum 0.9." in text_of(picture)
    without = figure.picture(figure.table(CLIENTS))
    assert "single" not in text_of(without)
    assert all(line.get_markerfacecolor() != "white" for ax in without.axes for line in ax.lines)


def test_less_noise_and_larger_batches_are_held_against_the_column_at_epsilon_1_2():
    figure = FIGURES["pfl_small_epsilon"]
    table = figure.table(SMALL_EPSILON)
    assert len(table) == 20  # 2 data sets, 2 splits, 5 settings
    met = table[np.isclose(table["test_accuracy"], table["published"])]
    assert met[["target_epsilon", "batch_size", "step_size"]].drop_duplicates().values.tolist() == [[1.5, 64, 0.3]]
    assert len(met) == 4
    drawn = figure.picture(table)
    assert [sum(len(line.get_xdata()) > 0 for line in ax.lines) for ax in drawn.axes] == [6, 6]
    (legend,) = drawn.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        *(rf"$\varepsilon$ = {setting}" for setting in ("1.2", "1.5", "2", "1.2, $L$ = 128", "1.2, step 0.1")),
        r"published, $\varepsilon$ = 1.2",
    ]


def test_clients_and_their_average_are_told_apart():
    figure = FIGURES["pfl_averaging"]
    table = figure.table(AVERAGING)
    last = cell_of(table, algorithm="CNN+RL", num_epochs=20, rounds=20, line="test_accuracy")
    clients = cell_of(table, algorithm="CNN+RL", num_epochs=20, rounds=20, line="train_accuracy")
    assert (last.accuracy, clients.accuracy) == (pytest.approx(0.1), pytest.approx(0.9))
    assert table["rounds"].min() == 1  # before it the clients have seen no batch
    lines = figure.picture(table).axes[0].lines
    assert sorted(line.get_linestyle() for line in lines) == ["-", "-", "--", "--"]
    with pytest.raises(InputError, match="run the whole sweep"):
        figure.table(AVERAGING.assign(sampler="poisson"))


def test_accuracy_by_epsilon_has_the_published_epsilons_as_points():
    figure = FIGURES["pfl_accuracy_epsilon"]
    table = figure.table(EPSILON)
    assert table["published"].notna().sum() == 36  # 3 data sets, 3 epsilons, 4 models
    assert (table["repetitions"] > 0).sum() == 3 * 6 * 4
    both = table[table["published"].notna() & (table["repetitions"] > 0)]
    assert set(both["target_epsilon"]) == {INF}
    picture = figure.picture(table)
    assert [tick.get_text() for tick in picture.axes[0].get_xticklabels()] == ["0.5", "1", "2", "4", "8", "FedAvg"]
    drawn = heights(picture.axes[0])
    assert {0.9752, 0.9642, 0.9899} <= set(drawn)
    assert np.isclose(drawn, 0.9 - 0.1 / 0.5**0.5).any()
    alone = figure.table(EPSILON[(EPSILON["dataset"] == "MNIST") & (EPSILON["seed"] == 0)])
    picture = figure.picture(alone[np.isfinite(alone["target_epsilon"])])
    assert len(picture.axes) == 1
    assert "1 repetition, no intervals" in text_of(picture)
    with pytest.raises(InputError, match="no run of pfl_epsilon with num_epochs = 1, num_clients = 10"):
        figure.table(EPSILON.assign(num_epochs=2))


def test_what_a_client_reaches_alone_is_a_level_line_beside_accuracy_by_epsilon():
    figure = FIGURES["pfl_accuracy_epsilon"]
    plain, table = figure.table(EPSILON), figure.table(pd.concat([EPSILON, ALONE]))
    own = table[table["alone"]]
    assert len(own) == 12  # 3 data sets, 4 models
    assert cell_of(own, dataset="MNIST", algorithm="SN+Lin").test_accuracy == pytest.approx(0.8)
    assert set(own["num_clients"]) == {1}
    drawn = figure.picture(table)
    levels = [line.get_ydata()[0] for line in drawn.axes[0].lines if line.get_linestyle() == "--"]
    assert sorted(levels) == pytest.approx([0.7, 0.7, 0.7, 0.8])
    assert "one client alone, no noise" in text_of(drawn)
    assert "Only 10 %" not in text_of(drawn)  # of those who train together
    assert "alone" not in text_of(figure.picture(plain))
    assert "Not run" not in text_of(drawn)
    fewer = EPSILON[(EPSILON["dataset"] != "CIFAR-10") | (EPSILON["algorithm"] == "SN+Lin")]
    assert "Not run over epsilon: CNN+RL, CNN+TS, SN+CNN on CIFAR-10; Tables 2 to 4 have two." in text_of(
        figure.picture(figure.table(fewer))
    )
    with pytest.raises(InputError, match="no run of pfl_epsilon"):
        figure.table(ALONE)


def test_overlap_shows_what_a_draw_costs_once_a_trial():
    figure = FIGURES["pfl_overlap"]
    table = figure.table(CLIENTS)
    ten = {"dataset": "MNIST", "num_clients": 10}
    worst = cell_of(table, accounted="epsilon_worst", **ten)
    assert worst.mean == pytest.approx(2.1 * 2.93)  # 2, 2.1 and 2.2 times in three draws
    assert worst.largest == pytest.approx(2.2 * 2.93)
    assert worst.repetitions == 3  # and not 12, for four models
    assert cell_of(table, accounted="epsilon_average", **ten).mean == pytest.approx(1.1 * 2.93)
    one = table[table["num_clients"] == 1]
    np.testing.assert_allclose(one["mean"], one["target_epsilon"])
    assert {2.93, 7.53} <= set(np.round(np.concatenate([heights(ax) for ax in figure.picture(table).axes]), 6))
    with pytest.raises(InputError, match="no private run of pfl_clients"):
        figure.table(CLIENTS.assign(target_epsilon=INF, sampler="in_order"))


def test_an_accuracy_far_below_all_others_is_written_at_the_foot_and_does_not_squeeze_the_panel():
    figure = FIGURES["pfl_accuracy_epsilon"]
    table = figure.table(pd.concat([EPSILON, ALONE]))
    whole = figure.picture(table)
    assert "Accuracies below the end of the axis" not in text_of(whole)
    fallen = table["alone"] & (table["dataset"] == "MNIST") & (table["algorithm"] == "CNN+RL")
    picture = figure.picture(table.assign(test_accuracy=table["test_accuracy"].mask(fallen, 0.1)))
    assert "CNN+RL alone: 10 %" in text_of(picture)
    assert "Accuracies below the end of the axis" in text_of(picture)
    lowest = min(value for value in heights(whole.axes[0]) if value > 0.1)
    assert 0.1 < picture.axes[0].get_ylim()[0] < lowest
    assert picture.axes[1].get_ylim() == whole.axes[1].get_ylim()
