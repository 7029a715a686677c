"""Tables of Bhaskar et al.: numbers from runs with known answers, thin cases, and pictures of those."""

import math

import numpy as np
import pandas as pd
import pytest
from made_up_pfl import MAKE, cell_of, paper, thin
from made_up_runs import at, changed
from matplotlib.colors import to_hex
from reading import text_of
from scipy import stats

from bench.errors import InputError
from figures.pfl import common
from figures.pfl import tables as pfl_tables
from figures.pfl.common import CELL
from figures.pfl.published import published_cells
from figures.pfl.tables import TABLE_2, TABLE_5

RUNS = {name: make() for name, make in MAKE.items()}
SPLITS, CLIENTS = RUNS["pfl_splits"], RUNS["pfl_clients"]
THIN = thin(SPLITS)
INF = math.inf

pytestmark = pytest.mark.usefixtures("no_layout")


FIRST = {"target_epsilon": 2.93, "num_epochs": 1, "algorithm": "SN+Lin"}


# Published numbers.


def test_all_published_cells_are_there_and_are_accuracies():
    counts = [len(published_cells(name)) for name in common.TABLES]
    assert counts == [72, 72, 72, 60]
    for name in common.TABLES:
        cells = published_cells(name)
        assert not cells.duplicated(CELL).any()
        assert cells["test_accuracy"].between(0.09, 0.991).all()
        assert (cells["total_epochs"] % cells["num_epochs"] == 0).all()
    assert paper("pfl_table2")["MNIST", INF, 20, 10, 20, "CNN+RL"] == 0.0974
    assert paper("pfl_table4")["CIFAR-10", 3.0, 10, 10, 20, "SN+Lin"] == 0.5182
    assert paper("pfl_table5")["CIFAR-10", 7.53, 1, 10, 20, "SN+CNN"] == 0.524
    with pytest.raises(InputError, match="pfl_table9"):
        published_cells("pfl_table9")


def test_the_one_cell_that_the_paper_prints_in_two_ways_is_found():
    (row,) = common.contradictions().itertuples()
    assert (row.dataset, row.target_epsilon, row.algorithm) == ("MNIST", 2.93, "CNN+RL")
    assert (row.pfl_table2, row.pfl_table5) == (0.9386, 0.9306)


# Numbers.


def test_a_cell_is_the_mean_over_seeds_with_its_interval_beside_the_published_value():
    runs = changed(SPLITS, at(seed=2, **FIRST, rounds=20, dataset="MNIST"), test_accuracy=lambda r: 0.99)
    found = cell_of(TABLE_2.table(runs), **FIRST)
    values = np.array([0.9742, 0.9752, 0.99])
    assert found.test_accuracy == pytest.approx(values.mean())
    assert (found.low, found.high) == pytest.approx(
        stats.t.interval(0.95, 2, loc=values.mean(), scale=stats.sem(values))
    )
    assert (found.repetitions, found.diverged, found.communication_rounds) == (3, 0, 20)
    assert found.published == 0.9752
    assert found.difference == pytest.approx(values.mean() - 0.9752)
    assert (found.epsilon, found.epsilon_worst) == pytest.approx((2.93, 2.1 * 2.93))


@pytest.mark.parametrize(
    ("difference", "repetitions", "word"),
    [
        (0.9852 - 0.9752, 1, "within 1 point of the published"),
        (-0.01004, 1, "within 1 point of the published"),
        (-0.0101, 1, "1 to 2 points below"),
        (0.7220 - 0.7420, 1, "1 to 2 points below"),
        (0.0201, 3, "more than 2 points above"),
        (np.nan, 3, "diverged"),
        (np.nan, np.nan, "not run"),
    ],
)
def test_agreement_in_text_of(difference, repetitions, word):
    assert pfl_tables.agreement(difference, repetitions) == word
    assert word in pfl_tables.AGREEMENT


def test_what_differs_from_the_paper_is_not_read():
    """Only the authors' sampler, overlapping clients, their four models, and the last round."""
    runs = SPLITS
    better = runs.assign(test_accuracy=1.0)
    others = [
        better.assign(algorithm="Papernot"),
        better[np.isinf(better["target_epsilon"])].assign(sampler="poisson"),
        better[np.isfinite(better["target_epsilon"])].assign(sampler="in_order"),
        better.assign(task=better["task"].astype(str) + "_disjoint"),
        better.assign(rounds=10),
    ]
    pd.testing.assert_frame_equal(TABLE_2.table(pd.concat([runs, *others])), TABLE_2.table(runs))
    for other in others:
        with pytest.raises(InputError, match=r"no run of pfl_splits as in the paper has reached its last round"):
            TABLE_2.table(other)


def test_runs_of_one_cell_that_differ_in_what_is_not_shown_are_refused():
    with pytest.raises(InputError, match="several runs of one seed at dataset = MNIST, target_epsilon = inf"):
        TABLE_2.table(pd.concat([SPLITS, SPLITS.assign(step_size=0.1, point="other")]))


# Thin runs.


def test_one_that_diverged_is_not_averaged_away():
    runs = changed(SPLITS, at(**FIRST, dataset="MNIST", seed=1), test_accuracy=lambda r: np.nan)
    found = cell_of(TABLE_2.table(runs), **FIRST)
    assert (found.agreement, found.repetitions, found.diverged) == ("diverged", 3, 1)
    others = cell_of(TABLE_2.table(SPLITS[SPLITS["seed"] != 1]), **FIRST).test_accuracy
    assert pfl_tables.cell(found) == f"1 of 3 diverged\n97.52\nothers {100 * others:.2f}"


def test_an_interval_that_says_nothing_is_written_as_the_range_of_the_runs():
    runs = changed(CLIENTS, at(dataset="Fashion-MNIST", num_clients=10, seed=0), test_accuracy=lambda r: 0.1)
    table = TABLE_5.table(runs)
    cells = TABLE_5.printed(table)
    assert "(10.00 to " in "".join(cells.to_numpy().ravel())
    assert table["high"].max() > 1  # the numbers stay whole
    assert "± or brackets are 95 % intervals" in text_of(TABLE_5.picture(table))


# Pictures.


def test_a_picture_of_a_table_is_coloured_by_agreement():
    table = TABLE_2.table(THIN)
    picture = TABLE_2.picture(table)
    (drawn,) = picture.axes[0].tables
    shown = {
        cell.get_text().get_text(): cell
        for (row, column), cell in drawn.get_celld().items()
        if row and column and cell.get_text().get_text()
    }
    looks = pfl_tables.AGREEMENT
    for text, word in (
        ("97.42\n97.52, -0.10\n1 seed", "within 1 point of the published"),
        ("not run\n93.56", "not run"),
        ("1 of 1 diverged\n36.22", "diverged"),
    ):
        assert to_hex(shown[text].get_facecolor()) == looks[word]["facecolor"]
        assert shown[text].get_hatch() == looks[word].get("hatch")
    legend = [text.get_text() for text in picture.legends[0].get_texts()]
    assert legend == list(looks)
    text = text_of(picture)
    assert "CNN+RL on MNIST at epsilon 2.93, E = 1, k = 10 is 93.86 in Table 2 and 93.06 in Table 5" in text
