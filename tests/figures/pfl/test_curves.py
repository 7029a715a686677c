"""Curves of Bhaskar et al.: ours and the published, and what every picture says."""

import math

import numpy as np
import pandas as pd
import pytest
from made_up_pfl import MAKE, cell_of, thin
from reading import text_of

from bench.errors import InputError
from figures import FIGURES
from figures.pfl import curves, splits_curves

NAMES = [name for name in FIGURES if name.startswith("pfl_")]
RUNS = {name: make() for name, make in MAKE.items()}
SPLITS, CLIENTS = RUNS["pfl_splits"], RUNS["pfl_clients"]
THIN = thin(SPLITS)
INF = math.inf

pytestmark = pytest.mark.usefixtures("no_layout")


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
    assert ("untuned (step size 0.1 to 0.3" in text) == (name in ("pfl_one_client", "pfl_table5", "pfl_small_epsilon"))
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
    broad = curves.BEHIND["linewidth"]
    theirs, ours = ([line for line in lines if (line.get_linewidth() == broad) == behind] for behind in (True, False))
    assert (len(theirs), len(ours)) == (4, 3)  # CNN+TS is published alone
    np.testing.assert_allclose(theirs[2].get_ydata()[[0, -1]], [0.9752, 0.9685])
    np.testing.assert_allclose(ours[1].get_ydata()[[0, -1]], [0.9742, 0.9675])
    assert np.isnan(ours[2].get_ydata()[-1])
    whole = splits_curves.FIGURE.picture(splits_curves.table(SPLITS))
    assert "interrupted" not in text_of(whole)
    assert "not run" not in text_of(whole)


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
