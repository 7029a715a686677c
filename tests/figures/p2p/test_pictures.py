"""Pictures of Bellet et al.: they show their tables alone, say what they are, and are made of what is there."""

import contextlib

import numpy as np
import pandas as pd
import pytest
from made_up_p2p import MAKE
from made_up_runs import at, changed
from reading import text_of

from bench.errors import InputError
from figures import FIGURES
from figures.p2p import common, drawing, fig2c, fig3, fig4

NAMES = [name for name in FIGURES if name.startswith("p2p")]
RUNS = {name: make() for name, make in MAKE.items()}


def runs_of(name: str) -> pd.DataFrame:
    return RUNS[FIGURES[name].sweeps[0]]


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
    without = name in ("p2p_fig1", "p2p_agents")
    assert ("No privacy." in text) == without
    assert ("Privacy: one" in text) != without
    assert ("delta = 0.006738" in text) == (not without and name not in ("p2p_fig4", "p2p_perturbed"))
    shows_published = name not in ("p2p_agents", "p2p_allocation", "p2p_calibration", "p2p_perturbed", "p2p_table1")
    by_series = name in ("p2p_fig2a", "p2p_fig2b")
    assert ("published (paler)" in text) == (shows_published and not by_series)
    assert bool(broad(picture)) == shows_published
    if shows_published:
        theirs = table.loc[table["origin"] == "published", "y"]
        drawn = [line.get_ydata() for line in broad(picture)]
        assert np.isin(np.concatenate(drawn), theirs).all()
        rows = 2 if name == "p2p_fig2b" and len(picture.axes) == 4 else 1  # a row for each budget
        assert sum(map(len, drawn)) == rows * len(theirs)


def test_the_published_setting_is_labelled_as_what_it_spends(no_layout):
    runs = changed(RUNS["p2p_dimensions"], at(calibration="published"), epsilon_true=300.0)
    for name in ("p2p_fig2c", "p2p_fig3"):
        text = text_of(FIGURES[name].picture(FIGURES[name].table(runs)))
        assert "The true epsilon is up to 270 times the nominal one" in text
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


def broad(picture) -> list:
    """The published curves."""
    return [line for ax in picture.axes for line in ax.lines if line.get_linewidth() == drawing.GREY["linewidth"]]


def test_published_curves_are_kept_to_the_numbers_of_features_that_are_there(no_layout):
    runs = RUNS["p2p_dimensions"]
    some = runs[runs["num_features"].isin([5, 10, 50])]
    for figure in (fig2c.FIGURE, fig4.FIGURE):
        lines = broad(figure.picture(figure.table(some)))
        assert lines
        assert {tuple(line.get_xdata()) for line in lines} == {(5, 10, 25, 50)}
    others = runs[runs["num_features"] == 10].assign(num_features=7)
    for figure in (fig2c.FIGURE, fig3.FIGURE, fig4.FIGURE):
        picture = figure.picture(figure.table(others))
        assert broad(picture) == []
        assert "published (paler)" not in text_of(picture)


def test_diverged_runs_leave_a_gap_and_no_mean(no_layout):
    runs = changed(RUNS["p2p_dimensions"], at(algorithm="CD", num_features=25, seed=1), test_accuracy=lambda r: np.nan)
    row = common.here(fig2c.table(runs), series="non-private").set_index("x")
    assert row["y"].isna().to_dict() == {p: p == 25 for p in row.index}
    fig2c.FIGURE.picture(fig2c.table(runs))
