"""Shares of the published grids and tables are counted from the runs."""

from pathlib import Path

import pandas as pd
import pytest

from bench.errors import InputError
from bench.papers import SWEEPS
from figures import shares
from figures.docs import shares_part

ROOT = Path(__file__).parents[2]
LAPTOP = ROOT / "results" / "sweeps"


def test_the_share_is_that_of_the_combinations_that_were_run(monkeypatch):
    grid = SWEEPS["ppsgd_digits"]("paper").entries["PPSGD"].points
    whole = grid[grid["clip_norm"] == 10.0]
    some = whole[(whole["personalization"] == 1.0) & (whole["step_size"] < 1e-3)]
    runs = some.assign(algorithm="PPSGD", point=range(len(some)), trial=0, seed=0)
    monkeypatch.setattr(shares, "GRIDS", {"1c": "ppsgd_digits"})
    monkeypatch.setattr(shares, "_finished", lambda folder, sweep: runs)
    (row,) = shares.of_grids(LAPTOP).to_dict("records")
    assert (row["alpha"], row["sigma"], row["steps"]) == ("1 of 9", "13 of 13", "3 of 7")
    assert row["share"] == f"{100 * len(some) / len(whole):.0f} %"
    assert row["clipping norms"] == "1 of 3"
    assert row["repetitions"] == "1"


def test_further_steps_and_other_norms_do_not_count(monkeypatch):
    grid = SWEEPS["ppsgd_cnn"]("paper").entries
    further = grid["PPSGD, further step sizes"].points.assign(algorithm="PPSGD, further step sizes")
    own = grid["PPSGD"].points.assign(algorithm="PPSGD")
    runs = pd.concat([further, own[own["clip_norm"] == 10.0]], ignore_index=True)
    runs = runs.assign(point=range(len(runs)), trial=0, seed=0)
    monkeypatch.setattr(shares, "GRIDS", {"1d": "ppsgd_cnn"})
    monkeypatch.setattr(shares, "_finished", lambda folder, sweep: runs)
    (row,) = shares.of_grids(LAPTOP).to_dict("records")
    assert row["share"] == "0 %"


def test_cells_of_tables_are_counted_from_their_numbers(tmp_path):
    (tmp_path / "figures").mkdir()
    with pytest.raises(InputError, match="run `python -m figures pfl_table2`"):
        shares.of_tables(tmp_path)
    for name in shares.TABLES:
        table = pd.DataFrame({"repetitions": [float("nan"), 3, 10, 15], "program": [None, None, None, "again"]})
        table.to_csv(tmp_path / "figures" / f"{name}.csv", index=False)
    table = shares.of_tables(tmp_path)
    assert set(table["cells"]) == {"2 of 3"}
    assert set(table["share"]) == {"67 %"}
    assert set(table["with ten runs, as published"]) == {"1"}


def test_without_runs_the_command_is_named(tmp_path):
    with pytest.raises(InputError, match="run `python -m bench run ppsgd_synthetic --scale"):
        shares.of_grids(tmp_path)


def test_the_page_has_the_shares_of_the_committed_runs():
    assert shares_part(LAPTOP / "figures") in (ROOT / "docs" / "papers" / "missing.md").read_text()
