"""Tables and curves of Bhaskar et al.: numbers from runs with known answers, thin cases, and pictures of those."""

import math

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from made_up_pfl import MAKE, clients_runs, epsilon_runs, paper, splits_runs
from made_up_runs import at, changed
from scipy import stats

from bench.analysis import style, tables
from bench.errors import InputError
from figures import FIGURES
from figures.pfl import common, splits_curves, table2, table5
from figures.pfl import tables as pfl_tables
from figures.pfl.common import CELL
from figures.shared.published import published_cells
from figures.shared.runs import sweeps_of

NAMES = [name for name in FIGURES if name.startswith("pfl_")]
RUNS = {name: make() for name, make in MAKE.items()}
SPLITS, CLIENTS, EPSILON, NORMALISATION, AVERAGING, ONE_CLIENT, SMALL_EPSILON, ALONE = (RUNS[name] for name in MAKE)
INF = math.inf


@pytest.fixture(autouse=True)
def small_pictures(monkeypatch):
    """Laying out is most of the time."""
    monkeypatch.setattr(plt.Figure, "tight_layout", lambda *_, **__: None)
    with plt.rc_context({"savefig.dpi": 40}):
        yield
    plt.close("all")


def words(figure) -> str:
    """Everything that is written on a figure."""
    texts = [text.get_text() for ax in figure.axes for text in (ax.title, ax.xaxis.label, ax.yaxis.label, *ax.texts)]
    cells = [cell.get_text().get_text() for ax in figure.axes for one in ax.tables for cell in one.get_celld().values()]
    legends = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    return " ".join("\n".join([*texts, *cells, *legends, *(text.get_text() for text in figure.texts)]).split())


def cell_of(table, **values):
    """The one row with these values."""
    (found,) = table[at(**values)(table)].itertuples()
    return found


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
    found = cell_of(table2.table(runs), **FIRST)
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
        (0.0, 3, "within 1 point of the published"),
        (0.9852 - 0.9752, 1, "within 1 point of the published"),
        (-0.01004, 1, "within 1 point of the published"),
        (-0.0101, 1, "1 to 2 points below"),
        (0.0199, 1, "1 to 2 points above"),
        (0.7220 - 0.7420, 1, "1 to 2 points below"),
        (0.0201, 3, "more than 2 points above"),
        (-0.5, 3, "more than 2 points below"),
        (np.nan, 3, "diverged"),
        (np.nan, np.nan, "not run"),
    ],
)
def test_agreement_in_words(difference, repetitions, word):
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
        better.assign(task=better["task"] + "_disjoint"),
        better.assign(rounds=10),
    ]
    pd.testing.assert_frame_equal(table2.table(pd.concat([runs, *others])), table2.table(runs))
    for other in others:
        with pytest.raises(InputError, match=r"no run of pfl_splits as in the paper has come to its last round"):
            table2.table(other)


def test_runs_of_one_cell_that_differ_in_what_is_not_shown_are_refused():
    with pytest.raises(InputError, match="several runs of one seed at dataset = MNIST, target_epsilon = inf"):
        table2.table(pd.concat([SPLITS, SPLITS.assign(step_size=0.1, point="other")]))


def test_runs_of_another_table_make_none():
    with pytest.raises(InputError, match="no run of pfl_splits is in a cell of pfl_table2: run the whole sweep"):
        table2.table(SPLITS[SPLITS["dataset"] == "CIFAR-10"])


# Thin runs: one seed, a model missing, a run that diverged, one epsilon.

THIN = SPLITS[
    (SPLITS["seed"] == 0) & (SPLITS["algorithm"] != "CNN+TS") & (SPLITS["target_epsilon"] == 2.93)
    | (SPLITS["dataset"] != "MNIST")
]
THIN = changed(THIN, at(num_epochs=20, algorithm="SN+CNN", dataset="MNIST"), test_accuracy=lambda r: np.nan)


def test_a_table_of_thin_runs_says_what_was_not_run_and_how_many_seeds_there_are():
    table = table2.table(THIN)
    assert table["agreement"].value_counts().to_dict() == {
        "not run": 54,
        "within 1 point of the published": 17,
        "diverged": 1,
    }
    cells = table2.printed(table).set_index("E, R")
    head = "$\\varepsilon$ = 2.93\n"
    assert cells.loc["1, 20", head + "SN+Lin"] == "97.42\n97.52, -0.10\n1 seed"
    assert cells.loc["1, 20", head + "CNN+TS"] == "not run\n93.56"
    assert cells.loc["20, 1", head + "SN+CNN"] == "diverged\n36.22\n1 of 1 seed"
    assert cells.loc["10, 2", "FedAvg\nCNN+RL"] == "not run\n96.55"


def test_one_that_diverged_is_not_averaged_away():
    runs = changed(SPLITS, at(**FIRST, dataset="MNIST", seed=1), test_accuracy=lambda r: np.nan)
    found = cell_of(table2.table(runs), **FIRST)
    assert (found.agreement, found.repetitions, found.diverged) == ("diverged", 3, 1)
    assert pfl_tables.cell(found) == "diverged\n97.52\n1 of 3 seeds"


def test_full_cells_have_an_interval():
    cells = table5.printed(table5.table(CLIENTS))
    assert list(cells["k"]) == ["1", "10", "25", "50", "100"]
    assert cells.shape == (5, 13)
    half = 100 * stats.t.ppf(0.975, 2) * 0.001 / math.sqrt(3)
    said = cells["Fashion-MNIST\n$\\varepsilon$ = 2.7\nSN+Lin"][1]
    assert said == f"86.01 ± {half:.2f}\n86.01, +0.00\n3 seeds"


def test_markdown_and_latex_of_cells_with_lines():
    cells = table2.printed(table2.table(THIN))
    lines = tables.markdown(cells).splitlines()
    assert len(lines) == 8
    assert {line.count("|") for line in lines} == {14}
    assert "97.42<br>97.52, -0.10<br>1 seed" in lines[2]
    text = tables.latex(cells)
    body = [line for line in text.splitlines() if " & " in line]
    assert len(body) == 7
    assert all(line.count(" & ") == 12 and line.endswith(r" \\") for line in body)
    assert r"\shortstack[r]{97.42 \\ 97.52, -0.10 \\ 1 seed}" in body[1]
    assert r"\shortstack[r]{$\varepsilon$ = 2.93 \\ SN+Lin}" in body[0]
    assert text.count("{") == text.count("}")
    assert all(sign.isascii() or sign == "±" for sign in text)


# Pictures.


def test_a_picture_of_a_table_is_coloured_by_agreement():
    table = table2.table(THIN)
    picture = table2.draw(table)
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
        ("diverged\n36.22\n1 of 1 seed", "diverged"),
    ):
        assert style.matplotlib.colors.to_hex(shown[text].get_facecolor()) == looks[word]["facecolor"]
        assert shown[text].get_hatch() == looks[word].get("hatch")
    legend = [text.get_text() for text in picture.legends[0].get_texts()]
    assert legend == list(looks)
    text = words(picture)
    assert "CNN+RL on MNIST at epsilon 2.93, E = 1, k = 10 is 93.86 in Table 2 and 93.06 in Table 5" in text


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_says_what_it_is(name):
    figure = FIGURES[name]
    table = figure.table(pd.concat(RUNS[sweep] for sweep in sweeps_of(figure)))
    text = words(figure.draw(table))
    for said in ("Data: made up (task ", "Scale: laptop", "3 repetitions"):
        assert said in text
    if name == "pfl_averaging":
        assert "No private run is there" in text
        return
    for said in (
        "one example of one client, against the server (add-or-remove one; Poisson sampling)",
        "delta = 1e-05 by privacy loss distributions",
        "How many examples a client has is public",
    ):
        assert said in text
    if name != "pfl_overlap":
        assert "on the test set after the last round; nothing is tuned" in text
        assert "step size 0.3, momentum 0.5, clipping norm 1, batches of 64" in text
        assert "Only" not in text
    assert "no runs" not in text


def heights(ax) -> list[float]:
    return [value for line in ax.lines for value in np.asarray(line.get_ydata(), float)]


def test_curves_show_ours_and_the_published_and_break_where_nothing_was_run():
    table = splits_curves.table(THIN)
    picture = splits_curves.draw(table)
    text = words(picture)
    assert "Lines break where a cell was not run, or diverged" in text
    assert text.count("no runs") == 2  # MNIST without privacy and at the smaller epsilon
    panel = picture.axes[1]
    grey, ours = (
        [line for line in panel.lines if (line.get_color() == "#b4b4b4") == behind] for behind in (True, False)
    )
    assert (len(grey), len(ours)) == (4, 3)  # CNN+TS is published alone
    np.testing.assert_allclose(grey[2].get_ydata()[[0, -1]], [0.9752, 0.9685])
    np.testing.assert_allclose(ours[1].get_ydata()[[0, -1]], [0.9742, 0.9675])
    assert np.isnan(ours[2].get_ydata()[-1])
    assert "Lines break" not in words(splits_curves.draw(splits_curves.table(SPLITS)))


def test_another_normalisation_is_held_against_table_2():
    figure = FIGURES["pfl_normalisation"]
    table = figure.table(NORMALISATION)
    assert set(table["algorithm"]) == {"CNN+RL", "CNN+TS"}
    assert len(table) == 2 * 3 * 6
    np.testing.assert_allclose(table["difference"], 0, atol=1e-12)
    assert "pixels in [-1, 1]" in words(figure.draw(table))


def test_one_client_is_held_against_its_published_cell_at_every_batch_size():
    figure = FIGURES["pfl_one_client"]
    table = figure.table(ONE_CLIENT)
    assert table.groupby("dataset")["published"].nunique().to_dict() == {"Fashion-MNIST": 1, "MNIST": 1}
    best = table.loc[table.groupby("dataset")["test_accuracy"].idxmax()]
    assert set(best["batch_size"]) == {512}
    np.testing.assert_allclose(best["test_accuracy"], best["published"], atol=1e-12)
    assert [ax.get_xlabel() for ax in figure.draw(table).axes] == ["expected batch size $L$"] * 2


def test_less_noise_and_larger_batches_are_held_against_the_column_at_epsilon_1_2():
    figure = FIGURES["pfl_small_epsilon"]
    table = figure.table(SMALL_EPSILON)
    assert len(table) == 16  # 2 data sets, 2 splits, 4 settings
    met = table[np.isclose(table["test_accuracy"], table["published"])]
    assert met[["target_epsilon", "batch_size"]].drop_duplicates().values.tolist() == [[1.5, 64]]
    assert len(met) == 4
    drawn = figure.draw(table)
    assert [len(ax.lines) for ax in drawn.axes] == [5, 5]


def test_clients_and_their_average_are_told_apart():
    figure = FIGURES["pfl_averaging"]
    table = figure.table(AVERAGING)
    last = cell_of(table, algorithm="CNN+RL", num_epochs=20, rounds=20, line="test_accuracy")
    clients = cell_of(table, algorithm="CNN+RL", num_epochs=20, rounds=20, line="train_accuracy")
    assert (last.accuracy, clients.accuracy) == (pytest.approx(0.1), pytest.approx(0.9))
    assert table["rounds"].min() == 1  # before it the clients have seen no batch
    lines = figure.draw(table).axes[0].lines
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
    picture = figure.draw(table)
    assert [tick.get_text() for tick in picture.axes[0].get_xticklabels()] == ["0.5", "1", "2", "4", "8", "FedAvg"]
    drawn = heights(picture.axes[0])
    assert {0.9752, 0.9642, 0.9899} <= set(drawn)
    assert np.isclose(drawn, 0.9 - 0.1 / 0.5**0.5).any()
    alone = figure.table(EPSILON[(EPSILON["dataset"] == "MNIST") & (EPSILON["seed"] == 0)])
    picture = figure.draw(alone[np.isfinite(alone["target_epsilon"])])
    assert len(picture.axes) == 1
    assert "1 repetition, no intervals" in words(picture)
    with pytest.raises(InputError, match="no run of pfl_epsilon with num_epochs = 1, num_clients = 10"):
        figure.table(EPSILON.assign(num_epochs=2))


def test_what_a_client_reaches_alone_is_a_level_line_beside_accuracy_by_epsilon():
    figure = FIGURES["pfl_accuracy_epsilon"]
    plain, table = figure.table(EPSILON), figure.table(pd.concat([EPSILON, ALONE]))
    own = table[table["alone"]]
    assert len(own) == 12  # 3 data sets, 4 models
    assert cell_of(own, dataset="MNIST", algorithm="SN+Lin").test_accuracy == pytest.approx(0.8)
    assert set(own["num_clients"]) == {1}
    drawn = figure.draw(table)
    levels = [line.get_ydata()[0] for line in drawn.axes[0].lines if line.get_linestyle() == "--"]
    assert sorted(levels) == pytest.approx([0.7, 0.7, 0.7, 0.8])
    assert "one client alone, no noise" in words(drawn)
    assert "Only 10 %" not in words(drawn)  # of those who train together
    assert "alone" not in words(figure.draw(plain))
    assert "Not run" not in words(drawn)
    fewer = EPSILON[(EPSILON["dataset"] != "CIFAR-10") | (EPSILON["algorithm"] == "SN+Lin")]
    assert "Not run: CNN+RL, CNN+TS, SN+CNN on CIFAR-10." in words(figure.draw(figure.table(fewer)))
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
    assert {2.93, 7.53} <= set(np.round(np.concatenate([heights(ax) for ax in figure.draw(table).axes]), 6))
    with pytest.raises(InputError, match="no private run of pfl_clients"):
        figure.table(CLIENTS.assign(target_epsilon=INF, sampler="in_order"))


def test_a_part_of_the_data_is_said():
    table = table5.table(CLIENTS.assign(data_share=0.05))
    assert "Only 5 % of the data of each client are used" in words(table5.draw(table))


def test_without_private_runs_no_privacy_is_claimed():
    text = words(table2.draw(table2.table(SPLITS[np.isinf(SPLITS["target_epsilon"])])))
    assert "No private run is there" in text
    assert "Poisson" not in text


def test_files_are_the_same_every_time(tmp_path):
    table = table2.table(THIN)
    files = [style.save(table2.draw(table), table, tmp_path / place, "t") for place in ("a", "b")]
    for one, other in zip(*files, strict=True):
        assert one.read_bytes() == other.read_bytes()
    again = pd.read_csv(files[0][2])
    pd.testing.assert_frame_equal(again, table, rtol=1e-5, check_dtype=False)


@pytest.mark.parametrize("make", [splits_runs, clients_runs, epsilon_runs])
def test_made_up_runs_are_shaped_like_results(make):
    runs = make(repetitions=1)
    assert not runs.duplicated(["point", "trial", "seed", "rounds"]).any()
