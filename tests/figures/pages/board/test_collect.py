"""The folders of tasks: what is read of them, and what of them cannot be used."""

import json
import math
import shutil

import pandas as pd
import pytest
from made_up_board import FEW, USERS, add_task, made_up_board
from made_up_parts import put

from bench.errors import InputError
from figures.pages.board.collect import collect, command


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """Results with two tasks that are in order, which no test may change."""
    results = tmp_path_factory.mktemp("two")
    add_task(results, "sound", FEW)
    add_task(results, "task", USERS)
    return results


@pytest.fixture
def folder(two, tmp_path):
    """A task of a copy of these results, beside one that stays in order."""
    shutil.copytree(two, tmp_path, dirs_exist_ok=True)
    return tmp_path / "board" / "task"


def test_a_task_is_read(tmp_path):
    made_up_board(tmp_path)
    board = collect(tmp_path)
    assert [task.name for task in board.tasks] == ["first", "graph", "second"]
    assert board.left_out == []
    assert board.panels == [("point", "replace one"), ("user", "add-or-remove one")]
    first = board.tasks[0]
    scores = first.scores.set_index(["algorithm", "target_epsilon", "trial"])["score"]
    assert scores["Shared", 4.0, 1] == 0.62
    assert [scores["Alone", epsilon, 2] for epsilon in (1.0, 4.0, math.inf)] == [0.51] * 3
    assert set(first.pictures) == {"budget", "comparison"}
    chosen = first.chosen["Shared"]
    assert list(chosen.tuned.columns) == ["target_epsilon", "trial", "step_size", "clip_norm"]
    assert list(chosen.tuned["step_size"][:3]) == pytest.approx([0.1, 0.2, 0.3])
    assert chosen.fixed == "batch_size = 10, clipping = fixed"


def test_without_what_was_tried_arguments_that_differ_between_runs_were_tuned(folder):
    shutil.rmtree(folder / "tuning")
    chosen = collect(folder.parent.parent).tasks[1].chosen["Shared"]
    assert list(chosen.tuned.columns) == ["target_epsilon", "trial", "step_size"]
    assert chosen.fixed == "batch_size = 10, clipping = fixed, clip_norm = 2"


def rewritten(name, **changes):
    def spoil(folder):
        path = folder / name
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return spoil


def table(**changes):
    def spoil(folder):
        path = folder / "comparison.csv"
        pd.read_csv(path).assign(**changes).to_csv(path, index=False)

    return spoil


def called(name):
    def spoil(folder):
        path = folder / "comparison.csv"
        pd.read_csv(path).replace("Shared", name).to_csv(path, index=False)

    return spoil


def runs(change):
    def spoil(folder):
        (path,) = (folder / "test").glob("part-*")
        rows = pd.read_parquet(path)
        path.unlink()
        put(folder / "test", change(rows))

    return spoil


def text(name, content):
    return lambda folder: (folder / name).write_text(content)


def damaged_tuning(folder):
    (path,) = (folder / "tuning").glob("part-*")
    path.write_text("")


WRONG = {
    "no protocol": (lambda folder: (folder / "protocol.json").unlink(), "protocol.json is missing"),
    "protocol is no JSON": (text("protocol.json", "{"), "protocol.json cannot be read"),
    "protocol is a list": (text("protocol.json", "[]"), "protocol.json does not say 'task' as str"),
    "protocol without delta": (rewritten("protocol.json", delta=None), "does not say 'delta' as float"),
    "protocol of another": (rewritten("protocol.json", task="tags"), "is about task 'tags'"),
    "other epsilons": (rewritten("protocol.json", epsilons=[1.0, 2.0]), "has epsilons [1.0, 4.0], protocol.json says"),
    "epsilons that are words": (rewritten("protocol.json", epsilons=["one"]), "'epsilons' that are not numbers"),
    "other seeds": (rewritten("protocol.json", seeds=5), "has seeds 3, protocol.json says 5"),
    "other delta": (rewritten("protocol.json", delta=1e-6), "has delta 0.0001, protocol.json says 1e-06"),
    "other unit": (rewritten("protocol.json", unit="record"), "has unit user, protocol.json says record"),
    "no table": (lambda folder: (folder / "comparison.csv").unlink(), "comparison.csv cannot be read"),
    "empty table": (text("comparison.csv", ""), "comparison.csv cannot be read (No columns to parse from file)"),
    "half a table": (text("comparison.csv", "algorithm,rank\nShared,1\n"), "comparison.csv has no column"),
    "words for numbers": (table(rank="first"), "comparison.csv is damaged (column 'rank')"),
    "numbers for words": (table(decided=3), "comparison.csv is damaged (column 'decided')"),
    "another metric": (table(metric="test_rmse"), "has no column for metric 'test_rmse', best 'max'"),
    "another direction": (table(best="most"), "has no column for metric 'test_accuracy', best 'most'"),
    "rows twice": (table(algorithm="Shared"), "comparison.csv is damaged"),
    "other scores": (table(test_accuracy=0.5), "comparison.csv is not of the runs in"),
    "no runs": (lambda folder: shutil.rmtree(folder / "test"), "no runs in"),
    "damaged runs": (lambda folder: put(folder / "test", b"PAR1", 7), ".parquet is damaged"),
    "runs of another program": (text("test/mine.parquet", "PAR1"), "mine.parquet is damaged"),
    "runs without the metric": (runs(lambda rows: rows.drop(columns="test_accuracy")), "no column 'test_accuracy'"),
    "runs without epsilon": (runs(lambda rows: rows.drop(columns="target_epsilon")), "no column 'target_epsilon'"),
    "runs beyond their epsilon": (
        runs(lambda rows: rows.assign(epsilon=1e6)),
        "at epsilon 0 that spent 1e+06",
    ),
    "runs without their epsilon": (runs(lambda rows: rows.assign(reading="x")), "at epsilon 0 that spent nan"),
    "a deep protocol": (text("protocol.json", "[" * 100_000), "protocol.json cannot be read"),
    "a name that reverses the line": (called("S\u202e"), r"a method called 'S\u202e'"),
    "a name that is a formula": (called("=cmd"), "a method called '=cmd'"),
    "runs twice": (runs(lambda rows: pd.concat([rows, rows.assign(point="x")])), "has several runs of one method"),
    "a method without runs": (runs(lambda rows: rows[rows["algorithm"] != "Shared"]), "(Shared at epsilon 1)"),
    "what was tried is damaged": (damaged_tuning, "tuning/part-"),
}


@pytest.mark.parametrize(("spoil", "said"), WRONG.values(), ids=WRONG)
def test_a_task_that_cannot_be_used_is_left_out_and_named(folder, spoil, said):
    spoil(folder)
    board = collect(folder.parent.parent)
    assert [task.name for task in board.tasks] == ["sound"]
    (line,) = board.left_out
    assert line.startswith(("no runs in ", str(folder)))
    assert said in line
    assert "\n" not in line
    assert "python -m bench board task" in line or said == "is about task 'tags'"


def test_where_none_can_be_used_the_first_says_why(tmp_path):
    for name in ("a", "b", "c"):
        (tmp_path / "board" / name).mkdir(parents=True)
    with pytest.raises(InputError, match=r"a/protocol.json is missing.*, and 2 more like it"):
        collect(tmp_path)


def test_no_board(tmp_path):
    with pytest.raises(InputError, match="no board in"):
        collect(tmp_path)
    (tmp_path / "board").mkdir()
    with pytest.raises(InputError, match="no task in"):
        collect(tmp_path)


def test_commands_name_the_folder_of_results_where_it_is_another(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert command("board digits", (tmp_path / "results").relative_to(tmp_path)) == "python -m bench board digits"
    assert command("board digits", tmp_path) == f"python -m bench board digits --out {tmp_path}"
