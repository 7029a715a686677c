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
    add_task(results, "digits", FEW)
    add_task(results, "shakespeare", USERS)
    return results


@pytest.fixture
def folder(two, tmp_path):
    """A task of a copy of these results, beside one that stays in order."""
    shutil.copytree(two, tmp_path, dirs_exist_ok=True)
    return tmp_path / "board" / "shakespeare"


def test_a_task_is_read(tmp_path):
    made_up_board(tmp_path)
    board = collect(tmp_path)
    assert [task.name for task in board.tasks] == ["digits", "movielens", "shakespeare"]
    assert board.left_out == []
    assert board.panels == [("user", "add-or-remove one"), ("point", "replace one")]
    digits = board.tasks[0]
    scores = digits.scores.set_index(["algorithm", "target_epsilon", "trial"])["score"]
    assert scores["DP-FedAvg", 4.0, 1] == 0.62
    assert [scores["Local learning", epsilon, 2] for epsilon in (1.0, 4.0, math.inf)] == [0.51] * 3
    assert set(digits.pictures) == {"convergence", "comparison"}
    chosen = digits.chosen["DP-FedAvg"]
    assert list(chosen.tuned.columns) == ["target_epsilon", "trial", "step_size", "clip_norm"]
    assert list(chosen.tuned["step_size"][:3]) == pytest.approx([0.1, 0.2, 0.3])
    assert "batch_size = 10, " in chosen.fixed
    assert "clipping = fixed" in chosen.fixed
    assert "noise = independent" in chosen.fixed  # an argument that these runs lack had its default


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


def runs(change):
    def spoil(folder):
        (path,) = (folder / "test").glob("part-*")
        rows = pd.read_parquet(path)
        path.unlink()
        put(folder / "test", change(rows))

    return spoil


WRONG = {
    "no protocol": (lambda folder: (folder / "protocol.json").unlink(), "as it has no protocol.json"),
    "protocol of another": (rewritten("protocol.json", task="tags"), "has the protocol of task 'tags'"),
    "other epsilons": (rewritten("protocol.json", epsilons=[1.0, 2.0]), "others than those at epsilon [1.0, 2.0, inf]"),
    "no table": (lambda folder: (folder / "comparison.csv").unlink(), "comparison.csv cannot be used"),
    "rows twice": (table(algorithm="DP-FedAvg"), "comparison.csv cannot be used (MergeError"),
    "other scores": (table(test_accuracy=0.5), "it is not of the runs in test, DP-FedAvg at epsilon 1"),
    "no commit": (table(commit=""), "it has rows without commit"),
    "infinitely many repetitions": (table(repetitions="inf"), "comparison.csv cannot be used (ValueError"),
    "no runs": (lambda folder: shutil.rmtree(folder / "test"), "has no runs in test"),
    "damaged runs": (lambda folder: put(folder / "test", b"PAR1", 7), ".parquet is damaged"),
    "runs beyond their epsilon": (
        runs(lambda rows: rows.assign(epsilon=rows["epsilon"].where(rows["algorithm"] != "DP-FedAvg", 1e6))),
        "DP-FedAvg cannot be ranked: it spent epsilon 1e+06 at the target 1",
    ),
}


@pytest.mark.parametrize(("spoil", "said"), WRONG.values(), ids=WRONG)
def test_a_task_that_cannot_be_used_is_left_out_and_named(folder, spoil, said):
    spoil(folder)
    board = collect(folder.parent.parent)
    assert [task.name for task in board.tasks] == ["digits"]
    (line,) = board.left_out
    assert line.startswith(str(folder))
    assert said in line
    assert "\n" not in line


def test_where_none_can_be_used_the_first_says_why(tmp_path):
    for name in ("a", "b", "c"):
        (tmp_path / "board" / name).mkdir(parents=True)
    with pytest.raises(InputError, match=r"a is not the folder of a board's task.*, and 2 more like it"):
        collect(tmp_path)


def test_commands_name_the_folder_of_results_where_it_is_another(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert command("board digits", (tmp_path / "results").relative_to(tmp_path)) == "python -m bench board digits"
    assert command("board digits", tmp_path) == f"python -m bench board digits --out {tmp_path}"
