"""The figures of Gao et al. draw made-up runs, and their tables hold what the pictures show."""

import numpy as np
import pandas as pd
import pytest
from made_up_silos import heterogeneous_runs, nonsmooth_runs, odd_even_runs, risk, rounds_runs
from slow_cases import cases

from bench.analysis.saving import save_picture
from figures import FIGURES
from figures.isrl import gradients as isrl_gradients
from figures.isrl import rounds as isrl_rounds
from figures.isrl.tables import TABLE_1, TABLE_2
from figures.shared.runs import runs_of


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


def test_gradients_are_those_of_the_schedule():
    """n = 128 in 25 silos, 16 rounds: one pass; 16 passes; 64 records for 16 rounds, 32 for 8, 16 for 4;
    or 16 batches of two."""
    table = isrl_gradients.table(rounds_runs())
    rows = table[(table["num_records"] == 128) & (table["num_rounds"] == 16) & (table["target_epsilon"] == 4)]
    localized = 64 * 16 + 32 * 8 + 16 * 4
    expected = {"One-pass MB-SGD": 128, "One-pass accelerated": 128}
    expected |= {"Multi-pass MB-SGD": 128 * 16, "Accelerated": 128 * 16, "Small batches": 2 * 16}
    expected |= dict.fromkeys(("Localized MB-SGD", "Localized accelerated", "Localized multi-stage"), localized)
    assert rows.set_index("algorithm")["gradients"].to_dict() == {name: 25 * n for name, n in expected.items()}
    numbers = isrl_gradients.table(rounds_runs()).drop(columns="gradients")
    pd.testing.assert_frame_equal(numbers, isrl_rounds.table(rounds_runs()))


def test_tables_of_formulas_need_no_runs(tmp_path):
    assert TABLE_1.sweeps == TABLE_2.sweeps == ()
    for figure, rows in ((TABLE_1, 3), (TABLE_2, 5)):
        cells = figure.printed(figure.table(pd.DataFrame()))
        assert len(cells) == rows
        assert "?" in cells.to_numpy()
        assert not cells.isna().any(axis=None)
    runs, folder = runs_of(tmp_path, None, ())
    assert runs.empty
    assert folder == tmp_path / "sweeps"
    (tmp_path / "smoke").mkdir()
    assert runs_of(tmp_path, None, ())[1] == tmp_path / "smoke"
