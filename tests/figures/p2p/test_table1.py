"""Table 1 of Bellet et al.: its rows, its cells, its files."""

import numpy as np
import pandas as pd
import pytest
from made_up_p2p import MAKE
from made_up_runs import at, changed, write
from reading import text_of

from bench.analysis import tables
from figures import FIGURES
from figures.p2p import table1

NAMES = [name for name in FIGURES if name.startswith("p2p")]
RUNS = {name: make() for name, make in MAKE.items()}


def runs_of(name: str) -> pd.DataFrame:
    return RUNS[FIGURES[name].sweeps[0]]


def test_table1_has_a_row_a_variant_tuned_on_validation_ratings():
    runs = RUNS["p2p_movielens"]
    table = table1.table(runs).set_index(["series", "variant"])
    row = table.loc[("epsilon 1", "Laplace, C = 10, warm start within the budget")]
    assert (row["test_rmse"], row["published"], row["num_updates"]) == (pytest.approx(0.9527), 0.9527, 1)
    assert row["difference"] == pytest.approx(0, abs=1e-12)
    assert len(table) == 3 + 3 * 9
    assert len(table1.table(runs[runs["algorithm"] != "one release"])) == 3 + 3 * 6
    once = table.xs("Laplace, C = 10, one release, smoothed", level="variant")
    assert once["difference"].tolist() == pytest.approx([-0.0005] * 3)
    assert set(once["start_step_size"]) == {0.3}
    assert set(once["num_updates"]) == {0}
    assert set(table.xs("Laplace, C tuned, one release, smoothed", level="variant")["clip_norm"]) == {5}
    longer = changed(runs, at(algorithm="one release", instances="validation", step_size=1.0), test_rmse=0.9)
    moved = table1.table(longer)
    assert set(moved.loc[moved["variant"].str.contains("one release"), "start_step_size"]) == {1}
    assert table.loc[("user mean", "not in the paper"), "test_rmse"] == pytest.approx(1.03)
    assert np.isnan(table.loc[("user mean", "not in the paper"), "published"])
    tempting = changed(runs, at(instances="test", num_updates=8.0), test_rmse=0.5)
    assert (table1.table(tempting).set_index(["series", "variant"])["num_updates"].dropna() <= 1).all()
    loose = changed(runs, at(instances="validation", clip_norm=5.0), test_rmse=0.9)
    again = table1.table(loose).set_index(["series", "variant"])["clip_norm"]
    assert again["epsilon 1", "Laplace, C tuned, from user means"] == 5
    assert again["epsilon 1", "Laplace, C = 10, from user means"] == 10


def test_the_picture_of_a_table_has_its_cells(no_layout):
    table = table1.table(RUNS["p2p_movielens"])
    text = text_of(table1.FIGURE.picture(table))
    for cell in table1.printed(table).to_numpy().ravel():
        assert " ".join(cell.split()) in text
    assert "0.9502 [0.9497, 0.9507] 0.9502 +0.0000" in text


def test_the_command_writes_a_table_as_text_too_and_knows_of_one_way_of_tuning(command, tmp_path):
    write(RUNS["p2p_movielens"], tmp_path / "results")
    assert command("p2p_table1", "--tune", "paper", "--results", tmp_path / "results")[0] == 0
    folder = tmp_path / "results" / "smoke" / "figures"
    kinds = ("png", "csv", "md", "tex")
    assert {path.name for path in folder.iterdir()} == {"drawn.json", *(f"p2p_table1.{kind}" for kind in kinds)}
    cells = table1.printed(pd.read_csv(folder / "p2p_table1.csv").fillna({"variant": ""}))
    assert (folder / "p2p_table1.md").read_text() == tables.markdown(cells)
