"""Pictures of Bellet et al.: they show their tables alone, say what they are, and are made of what is there."""

import contextlib
import itertools

import numpy as np
import pandas as pd
import pytest
from made_up_p2p import MAKE
from made_up_runs import at, changed
from reading import text_of

from bench.analysis.saving import save_picture
from bench.errors import InputError
from figures import FIGURES
from figures.p2p import common, fig2c, fig3, fig4

NAMES = [name for name in FIGURES if name.startswith("p2p")]
SLOW = {"p2p_calibration", "p2p_fig3"}  # of several panels
RUNS = {name: make() for name, make in MAKE.items()}


def runs_of(name: str) -> pd.DataFrame:
    return RUNS[FIGURES[name].sweeps[0]]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in NAMES]
)
def test_every_part_of_the_algorithms_is_drawn_or_says_what_is_missing(name, no_layout):
    runs, figure = runs_of(name), FIGURES[name]
    there = list(runs["algorithm"].unique())
    for count in range(1, len(there)):
        for chosen in itertools.combinations(there, count):
            part = runs[runs["algorithm"].isin(chosen)].dropna(axis="columns", how="all")
            with contextlib.suppress(InputError):
                figure.picture(figure.table(part))


# The pictures.


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_shows_the_table_and_says_what_it_is(name, no_layout):
    figure, runs = FIGURES[name], runs_of(name)
    table = figure.table(runs)
    picture = figure.picture(table)
    numbers = table.select_dtypes("number").to_numpy().ravel()
    heights = [np.asarray(line.get_ydata(), float) for ax in picture.axes for line in ax.lines]
    if name != "p2p_table1":
        assert len(np.concatenate(heights)) > 20
        budgets = [1.05, 0.55, 0.15, 0, 1]
        assert np.isin(np.concatenate(heights), [*numbers, *budgets]).all()  # what is drawn stands in the table
    text = text_of(picture)
    for said in ("Bellet et al. 2018", "Scale: laptop", "3 repetitions", "95 % intervals", "Data: made up"):
        assert said in text, said
    assert ("No privacy." in text) == (name == "p2p_fig1")
    assert ("Privacy: one" in text) == (name != "p2p_fig1")
    assert ("delta = 0.006738" in text) == (name not in ("p2p_fig1", "p2p_fig4", "p2p_perturbed"))
    shows_published = name not in ("p2p_allocation", "p2p_calibration", "p2p_perturbed", "p2p_table1")
    assert ("extracted from the paper's vector graphics" in text) == shows_published
    greys = [line for ax in picture.axes for line in ax.lines if line.get_color() == "#b4b4b4"]
    assert bool(greys) == shows_published
    if shows_published:
        theirs = table.loc[table["origin"] == "published", "y"]
        assert np.isin(np.concatenate([line.get_ydata() for line in greys]), theirs).all()
        assert sum(len(line.get_ydata()) for line in greys) == len(theirs)


def test_the_published_setting_is_labelled_as_what_it_spends(no_layout):
    runs = changed(RUNS["p2p_dimensions"], at(calibration="published"), epsilon_true=300.0)
    for name in ("p2p_fig2c", "p2p_fig3"):
        text = text_of(FIGURES[name].picture(FIGURES[name].table(runs)))
        assert "its true epsilon is up to 270 times the nominal one" in text
    text = text_of(FIGURES["p2p_fig2a"].picture(FIGURES["p2p_fig2a"].table(RUNS["p2p_private"])))
    assert "up to 1,000 times the nominal one" in text


@pytest.mark.parametrize("name", NAMES)
def test_half_of_the_runs_can_be_drawn_or_say_what_is_missing(name, no_layout):
    """A sweep that still runs."""
    runs, figure = runs_of(name), FIGURES[name]
    for share in (0.1, 0.5, 0.9):
        points = runs["point"].drop_duplicates().sample(frac=share, random_state=1)
        part = runs[runs["point"].isin(points)]
        with contextlib.suppress(InputError):
            figure.picture(figure.table(part))


def greys(picture) -> list:
    return [line for ax in picture.axes for line in ax.lines if line.get_color() == "#b4b4b4"]


def test_published_curves_are_kept_to_the_numbers_of_features_that_are_there(no_layout):
    runs = RUNS["p2p_dimensions"]
    some = runs[runs["num_features"].isin([5, 10, 50])]
    for figure in (fig2c.FIGURE, fig4.FIGURE):
        lines = greys(figure.picture(figure.table(some)))
        assert lines
        assert {tuple(line.get_xdata()) for line in lines} == {(5, 10, 25, 50)}
    others = runs[runs["num_features"] == 10].assign(num_features=7)
    for figure in (fig2c.FIGURE, fig3.FIGURE, fig4.FIGURE):
        picture = figure.picture(figure.table(others))
        assert greys(picture) == []
        assert not {"published", "Grey"} & set(text_of(picture).replace("The published noise", "").split())


def test_intervals_stretch_the_axes_where_they_are_the_point(no_layout):
    last = at(seed=0, rounds=40, start="propagation")
    runs = changed(RUNS["p2p_private"], last, test_accuracy=lambda r: r["test_accuracy"] - 0.3)
    table = FIGURES["p2p_allocation"].table(runs)
    ax = FIGURES["p2p_allocation"].picture(table).axes[1]
    rows = table[table["y_name"] == "test_accuracy"]
    assert rows["low"].min() < rows["y"].min() - 0.1
    low, high = ax.get_ylim()
    assert low < rows["low"].min()
    assert rows["high"].max() > 1  # an interval of a share, which is drawn up to 1
    assert 1 <= high < 1.01


@pytest.mark.parametrize(
    ("updates", "said"),
    [
        ([4, 4, 2], "4 up to p = 5, then 2"),
        ([4, 2, 1], "4 at p = 2, 2 at p = 5, then 1"),
        ([1, 1, 1], "always 1"),
        ([4, 1, 4], "4 at p = 2, 1 at p = 5, then 4"),
    ],
)
def test_updates_by_number_of_features_in_text_of(updates, said):
    line = pd.DataFrame({"x": [2.0, 5.0, 10.0], "num_updates": updates}).sample(frac=1, random_state=1)
    assert common.by_features(line) == said


def test_the_footer_names_the_largest_budget_first_and_tasks_in_their_order(no_layout):
    text = text_of(fig2c.FIGURE.picture(fig2c.table(RUNS["p2p_dimensions"])))
    assert "updates per agent at ε 1.05: always 8; ε 0.55: always 2; ε 0.15: always 1." in text
    assert "linear_p2p_2, linear_p2p_5, linear_p2p_10, linear_p2p_25, linear_p2p_50, linear_p2p_75, linear_p" in text


def test_diverged_runs_leave_a_gap_and_no_mean(no_layout):
    runs = changed(RUNS["p2p_dimensions"], at(algorithm="CD", num_features=25, seed=1), test_accuracy=lambda r: np.nan)
    row = common.here(fig2c.table(runs), series="non-private").set_index("x")
    assert row["y"].isna().to_dict() == {p: p == 25 for p in row.index}
    fig2c.FIGURE.picture(fig2c.table(runs))


@pytest.mark.parametrize("name", ["p2p_fig1", pytest.param("p2p_table1", marks=pytest.mark.slow)])
def test_files_are_the_same_every_time_and_the_csv_is_the_table(name, tmp_path):
    figure = FIGURES[name]
    table = figure.table(runs_of(name))
    files = [save_picture(figure.picture(table), table, tmp_path / place, name) for place in ("a", "b")]
    for one, other in zip(*files, strict=True):
        assert one.read_bytes() == other.read_bytes()
    again = pd.read_csv(files[0][2])
    numbers = table.select_dtypes("number").columns
    pd.testing.assert_frame_equal(again[numbers], table[numbers], rtol=1e-5, check_dtype=False)
    assert list(again) == list(table)
