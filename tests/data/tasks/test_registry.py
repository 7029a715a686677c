"""A task has one name in every command."""

import re
from functools import cache

import pytest
from calling import caller
from tiny_sweeps import walks

from bench.__main__ import main
from bench.comparison.board import ROUNDS
from bench.comparison.problems import PROBLEMS, problem
from bench.data.tasks.registry import COMPARED, TASKS
from bench.errors import InputError
from bench.execution.chosen import chosen
from bench.papers import SWEEPS
from bench.upkeep.merge import sweep_named


def test_sweeps_run_on_what_methods_are_compared_on(monkeypatch):
    monkeypatch.delitem(PROBLEMS, "tiny", raising=False)  # of the tests of comparisons, while they last
    monkeypatch.setitem(SWEEPS, "server_optimisers", cache(SWEEPS["server_optimisers"]))
    assert set(COMPARED) == set(PROBLEMS)
    for name in COMPARED:
        sweep = chosen("server_optimisers", "smoke", task=name).whole
        assert sweep.name == sweep_named(sweep.name, "smoke", None).name == f"server_optimisers_on_{name}"
        assert sweep.tasks == {name: TASKS.get(name, COMPARED[name])}


def test_the_board_has_tasks_that_methods_are_compared_on():
    assert set(ROUNDS) < set(COMPARED)


MISPLACED = {  # a command -> what it says, and one of the names that it offers
    "run tiny --task mnist": ("mnist is a data set, not a task of `run`", "mnist_by_writer"),
    "compare --task mnist": ("mnist is a data set, not a task of `compare`", "digits"),
    "compare --task emnist_digits": ("emnist_digits is a task of `run`, not a task of `compare`", "digits"),
    "compare --against board --task digits_cnn": (
        "digits_cnn is a task of `run` and `compare`, not a task of the board board",
        "synthetic",
    ),
    "board emnist_digits": ("emnist_digits is a task of `run`, not a task of the board", "digits"),
    "board digits_cnn": ("digits_cnn is a task of `run` and `compare`, not a task of the board", "digits"),
    "attack digits_cnn": ("digits_cnn is a task of `run` and `compare`, not a task of the board board", "synthetic"),
    "attack mnist": ("mnist is a data set, not a task of the board board", "synthetic"),
    "data get digits": ("digits is a task of `run` and `compare`, not a data set", "qmnist_writers"),
}


@pytest.mark.parametrize("words", MISPLACED)
def test_a_name_of_another_command_is_refused_in_a_line_that_says_whose_it_is(words, tmp_path, monkeypatch, capsys):
    said, valid = MISPLACED[words]
    monkeypatch.setitem(SWEEPS, "tiny", lambda scale: walks())
    monkeypatch.chdir(tmp_path)
    (tmp_path / "board" / "synthetic").mkdir(parents=True)
    (tmp_path / "board" / "synthetic" / "protocol.json").touch()
    out = [] if words.startswith("data") else ["--out", "."]
    status, _, (line,) = caller("bench", main, monkeypatch, capsys)(*words.split(), *out)
    assert status == 2
    assert re.fullmatch(rf"error: {re.escape(said)}: choose from (.*, )?{valid}\b.*", line), line


def test_a_comparison_says_what_a_task_of_sweeps_lacks():
    with pytest.raises(InputError, match=r"or pass a bench.Problem of it, which says which data tune a method"):
        problem("made_up_schools")
