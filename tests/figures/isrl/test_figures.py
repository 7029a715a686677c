"""The figures of Gao et al. draw made-up runs, and their tables hold what the pictures show."""

import numpy as np
import pandas as pd
import pytest
from made_up_silos import MULTI_PASS, heterogeneous_runs, nonsmooth_runs, odd_even_runs, risk, rounds_runs
from slow_cases import cases

from bench.analysis.saving import save_picture
from bench.errors import InputError
from figures import FIGURES
from figures.isrl import errors, heterogeneity, nonsmooth
from figures.isrl import gradients as isrl_gradients
from figures.isrl import rounds as isrl_rounds
from figures.isrl.tables import TABLE_1, TABLE_2
from figures.shared.runs import folder_of, runs_of


def differing(name, spread, *rest):
    """A risk that grows with the distance of the silos' models, of one-pass accelerated the most."""
    return risk(name, 512, *rest) * (1 + (1.0 if name == "One-pass accelerated" else 0.1) * spread)


RUNS = {
    "isrl_odd_even": odd_even_runs(),
    "isrl_nonsmooth": nonsmooth_runs(),
    "isrl_rounds": rounds_runs(),
    "isrl_heterogeneity": heterogeneous_runs(differing),
}
NAMES = [name for name in FIGURES if name.startswith("isrl_")]


def table_of(name):
    figure = FIGURES[name]
    return figure.table(RUNS[figure.sweeps[0]] if figure.sweeps else None)


@pytest.mark.parametrize("name", cases(NAMES, slow={"isrl_rounds", "isrl_heterogeneity"}))
def test_a_figure_is_drawn_from_its_table_alone(name, tmp_path):
    table = table_of(name)
    paths = save_picture(FIGURES[name].picture(pd.DataFrame(table)), table, tmp_path, name)
    assert all(path.stat().st_size > 500 for path in paths)


def test_curves_are_where_the_table_says():
    table = table_of("isrl_fig2")
    figure = errors.FIGURE_2.picture(table)
    row = table[(table["series"] == MULTI_PASS) & (table["calibration"] == "exact")].sort_values("target_epsilon")
    lines = [line for line in figure.axes[1].lines if len(line.get_xdata()) == len(row)]
    assert any(np.allclose(line.get_ydata(), row["test_error"]) for line in lines)
    words = [tick.get_text() for tick in figure.axes[0].get_xticklabels()]
    assert words[0] == "0.75\n(0.6)"  # what the nominal epsilon costs
    assert [tick.get_text() for tick in figure.axes[1].get_xticklabels()] == ["0.75", "3", "18", "no\nnoise"]


def test_curves_that_are_not_there_are_not_described():
    runs = RUNS["isrl_odd_even"]
    for part in (runs[runs["phase_rounds"] != 35], runs[runs["algorithm"] == MULTI_PASS]):
        figure = errors.draw(errors.table(part, 25), "title")
        assert not any("with 35 rounds" in text.get_text() for text in figure.texts)


def test_an_empty_panel_says_so():
    runs = RUNS["isrl_odd_even"]
    figure = errors.draw(errors.table(runs[runs["calibration"] != "exact"], 25), "title")
    assert [text.get_text() for text in figure.axes[1].texts] == ["no runs"]


def test_parts_of_the_runs_can_be_drawn():
    runs = RUNS["isrl_rounds"].query("algorithm == 'Accelerated'").drop(columns="theorem_lambda")
    isrl_rounds.FIGURE.picture(isrl_rounds.table(runs))
    for silent in (True, False):
        runs = RUNS["isrl_nonsmooth"]
        table = nonsmooth.table(runs[(runs["calibration"] == "no noise") == silent])
        nonsmooth.FIGURE.picture(table)


def test_rounds_to_the_target_are_the_fewest_that_reach_it():
    table = isrl_rounds.table(rounds_runs())
    row = table[(table["algorithm"] == "Localized accelerated") & (table["num_records"] == 128)].iloc[0]
    best = min(risk("One-pass MB-SGD", 128, 4.0, rounds, 1) for rounds in (1, 4, 16, 64))
    np.testing.assert_allclose(row["target"], best, rtol=0.01)
    assert row["rounds_low"] == row["rounds_to_target"] == row["rounds_high"] == 4
    assert table.groupby("target_epsilon")["interior"].first().to_dict() == {4.0: True, np.inf: False}
    one_pass = table[(table["algorithm"] == "One-pass MB-SGD") & (table["num_rounds"] == 16)]
    np.testing.assert_allclose(one_pass.loc[one_pass["interior"], ["ratio", "ratio_low", "ratio_high"]], 1)
    never = isrl_rounds.table(rounds_runs(lambda name, *rest: risk(name, *rest) * (1 if name[0] == "O" else 99)))
    assert never.loc[never["algorithm"] == "Accelerated", "rounds_to_target"].isna().all()


def test_risks_are_compared_with_those_of_silos_with_one_distribution():
    table = heterogeneity.table(RUNS["isrl_heterogeneity"]).set_index(["algorithm", "spread", "target_epsilon"])
    assert (table.xs(0.0, level="spread")["ratio"] == 1).all()
    for name, factor in (("One-pass accelerated", 3.0), ("Localized accelerated", 1.2)):
        row = table.loc[name, 2.0, 4.0]
        np.testing.assert_allclose([row["ratio"], row["ratio_low"], row["ratio_high"]], factor)
        assert row["settings"] == 8  # four numbers of rounds, two steps
        assert row["num_rounds"] == 64
        means = np.exp(np.mean([np.log(differing(name, 2.0, 4.0, 64, trial)) for trial in range(3)]))
        np.testing.assert_allclose(row["excess_risk"], means)


def test_gradients_are_those_of_the_schedule():
    """n = 128 in 25 silos, 16 rounds: one pass; 16 passes; or 64 records for 16 rounds, 32 for 8, 16 for 4."""
    table = isrl_gradients.table(rounds_runs())
    rows = table[(table["num_records"] == 128) & (table["num_rounds"] == 16) & (table["target_epsilon"] == 4)]
    localized = 64 * 16 + 32 * 8 + 16 * 4
    expected = {"One-pass MB-SGD": 128, "One-pass accelerated": 128}
    expected |= {"Multi-pass MB-SGD": 128 * 16, "Accelerated": 128 * 16}
    expected |= dict.fromkeys(("Localized MB-SGD", "Localized accelerated", "Localized multi-stage"), localized)
    assert rows.set_index("algorithm")["gradients"].to_dict() == {name: 25 * n for name, n in expected.items()}
    numbers = isrl_gradients.table(rounds_runs()).drop(columns="gradients")
    pd.testing.assert_frame_equal(numbers, isrl_rounds.table(rounds_runs()))


def test_runs_of_another_setting_are_refused():
    with pytest.raises(InputError, match="no run with num_sampled = 7"):
        errors.table(RUNS["isrl_odd_even"], 7)


def test_tables_of_formulas_need_no_runs(tmp_path):
    assert TABLE_1.sweeps == TABLE_2.sweeps == ()
    for figure, rows in ((TABLE_1, 3), (TABLE_2, 5)):
        cells = figure.printed(figure.table(pd.DataFrame()))
        assert len(cells) == rows
        assert "?" in cells.to_numpy()
        assert not cells.isna().any(axis=None)
    runs, folder = runs_of(tmp_path, None, ())
    assert runs.empty
    assert folder == folder_of(tmp_path, None) == tmp_path / "sweeps"
    (tmp_path / "sweeps").mkdir()
    assert folder_of(tmp_path, None) == tmp_path / "sweeps"
    assert folder_of(tmp_path, "smoke") == tmp_path / "smoke"
