"""Figures of folders with a user's own values: what they show, what they name, and what they refuse."""

from pathlib import Path

import pandas as pd
import pytest
from tiny_sweeps import walks

from bench.analysis import style
from bench.errors import InputError
from bench.execution.chosen import requested
from bench.execution.run import run_sweep
from bench.papers import SWEEPS
from bench.store.requests import GridRequest, prepare
from figures.shared import user_grids
from figures.shared.figure import Figure


def draw(table):
    figure, ax = style.subplots(figsize=(3.0, 2.0))
    ax.plot(table["step_size"], table["rounds"])
    return figure


def best(runs):
    return runs.groupby("step_size", as_index=False)["rounds"].max()


STEPS = Figure("Steps\n\nRounds by step.", ("tiny",), best, draw, apart=("step_size",))


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """The results of a sweep over two values of its own."""
    monkeypatch.setitem(SWEEPS, "tiny", lambda scale: walks())
    request = GridRequest("tiny", "smoke", {"step_size": [0.5, 0.6]})
    made = tmp_path / "smoke" / "mine"
    prepare(made, request)
    run_sweep(requested(SWEEPS, request, "mine"), scale="smoke", out=tmp_path)
    return made


def test_it_shows_the_own_values_beside_the_folder(folder):
    path, left_out = user_grids.write("steps", STEPS, [folder], None, None)
    assert path.parent == folder.parent / "figures" / "mine"
    assert path.stat().st_size
    assert set(pd.read_csv(path.parent / "steps.csv")["step_size"]) == {0.5, 0.6}
    assert left_out == []


def test_a_value_that_the_figure_drops_is_named(folder):
    some = STEPS._replace(table=lambda runs: best(runs[runs["step_size"] < 0.55]))
    assert user_grids.write("steps", some, [folder], None, None)[1] == ["steps does not show step_size = 0.6"]


def test_values_that_would_be_averaged_are_refused_until_one_is_chosen(folder):
    blind = STEPS._replace(apart=())
    with pytest.raises(InputError, match=r"does not tell step_size = 0\.5, 0\.6 apart"):
        user_grids.write("steps", blind, [folder], None, None)
    path, _ = user_grids.write("steps", blind, [folder], "step_size == 0.5", None)
    assert pd.read_csv(path.parent / "steps.csv")["step_size"].tolist() == [0.5]


@pytest.mark.parametrize(
    ("where", "words"), [("step_size > 9", "selects none of the runs"), ("step_sise > 9", "did you mean step_size")]
)
def test_a_condition_that_does_not_fit_is_one_line(folder, where, words):
    with pytest.raises(InputError, match=words):
        user_grids.write("steps", STEPS, [folder], where, None)


def test_a_width_gives_a_pdf_of_that_width_alone(folder):
    path, _ = user_grids.write("steps", STEPS, [folder], None, None, 2.5)
    assert [each.name for each in path.parent.iterdir()] == ["steps_2.5in.pdf"]


def test_a_folder_without_results_is_told_from_one_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="--runs nope is not a folder"):
        user_grids.read([Path("nope")], None)
    with pytest.raises(InputError, match="has no results"):
        user_grids.read([tmp_path], None)


def test_a_folder_that_is_given_twice_is_refused(folder):
    with pytest.raises(InputError, match=f"--runs {folder} is given twice"):
        user_grids.read([folder, folder], None)
