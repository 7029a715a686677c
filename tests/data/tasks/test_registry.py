"""A task has one name in every command and is one data set, or ends in a line that says what to do."""

import importlib
import re
from contextlib import suppress
from pathlib import Path

import pytest
from calling import caller
from tiny_sweeps import walks

from bench.__main__ import main
from bench.api.comparisons import board
from bench.comparison.problems import problem
from bench.data.fetch import retrieval
from bench.data.fetch.sources import DATASETS
from bench.data.tasks import movielens, ratings, school, tags
from bench.data.tasks.registry import TASKS, compared
from bench.errors import InputError
from bench.papers import SWEEPS


def test_no_task_has_two_names():
    makers = [(getattr(of.make, "func", of.make), str(getattr(of.make, "keywords", {}))) for of in TASKS.values()]
    assert len(set(makers)) == len(makers)


# ---- A new task ----

MODULE = """
import dataclasses
from bench.data.tasks.synthetic import synthetic

def mine(trial):
    '''Lines of 60 users.'''
    return dataclasses.replace(synthetic(trial, num_clients=60, num_features=6, by_user=True), name="mine")
"""


@pytest.fixture
def bench(tmp_path, monkeypatch, capsys):
    """Calls a command of a suite with a new task: a module, and a line of the table."""
    (tmp_path / "my_task.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(
        TASKS, "mine", TASKS["synthetic"]._replace(make=importlib.import_module("my_task").mine, board=2)
    )
    for name in {*SWEEPS} - {"tiny"}:
        monkeypatch.delitem(SWEEPS, name)
    monkeypatch.setitem(SWEEPS, "tiny", lambda scale: walks())
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    call = caller("bench", main, monkeypatch, capsys)

    def called(words: str, expected: int = 0) -> str:
        status, out, err = call(*words.split())
        assert status == expected, err
        return out + "\n".join(err)

    return called


def test_sweeps_lists_and_what_keeps_results_know_a_new_task(bench):
    tasks, comparisons = bench("list").split("tasks:")[1].split("comparisons:")
    assert re.search(r"^  mine +Lines of 60 users\.", tasks, re.MULTILINE)
    assert re.search(r"^  mine +one user, ", comparisons, re.MULTILINE)
    assert "mine is a task of `run` and `compare`, not a data set" in bench("data get mine", 2)
    bench("run tiny --task mine --workers 1")
    assert "8 of 8" in bench("status tiny_on_mine")
    assert "tiny_on_mine" in bench("merge results --out merged")


@pytest.mark.slow
def test_comparisons_and_the_board_know_a_new_task(bench):
    few = "--epsilons 1 --seeds 1 --settings 1 --workers 1"
    board("mine", methods=["DP-FedAvg"], epsilons=1.0, seeds=1, num_settings=1, workers=1)
    assert "DP-FedAvg" in bench("compare ppsgd --task mine --against board --workers 1 --set personalization=1")
    assert "mine" in bench("attack mine", 2)
    assert "compare/mine" in bench(f"compare --task mine --baselines DP-FedAvg {few}")
    assert "Extrapolated" in bench(f"compare --task mine --baselines DP-FedAvg {few} --population 2")


# ---- Data that are not here ----


@pytest.fixture
def nothing_here(monkeypatch, tmp_path):
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("BENCH_SOURCE", "none")
    for module in (school, movielens, ratings, tags):  # what other tests have read
        for name, function in vars(module).items():
            if hasattr(function, "cache_clear"):
                monkeypatch.setattr(module, name, function.__wrapped__)


MISSING = {  # a task -> the file that is missing, and a task of the same kind without files
    "digits": ("qmnist-train-labels-idx2-int", "digits_by_style"),
    "tags": ("debian_packages.jsonl", "made_up_tags"),
    "school": ("school.mat", "made_up_schools"),
    "movielens": ("u.data", "linear_p2p"),
    "insteval": ("lme4.rdx", "synthetic"),
    "emnist_digits": ("fed_emnist_digitsonly_train.h5", "digits_by_style"),
    "stackoverflow_tags": ("stackoverflow.sqlite", "made_up_tags"),
}


@pytest.mark.parametrize("command", ["compare", "run tiny"])
@pytest.mark.parametrize("task", MISSING)
def test_a_task_whose_data_are_missing_says_what_to_get_and_what_needs_nothing(
    task, command, nothing_here, tmp_path, monkeypatch, capsys
):
    monkeypatch.setitem(SWEEPS, "tiny", lambda scale: walks())
    file, instead = MISSING[task]
    words = [*command.split(), "--task", task, "--out", str(tmp_path)]
    status, _, lines = caller("bench", main, monkeypatch, capsys)(*words)
    assert status == 2
    assert re.fullmatch(
        rf"error: .*: put .*{re.escape(file)}.* and name it by BENCH_DATA, or take the task {instead}, which .*",
        lines[-1],
    )
    assert instead in compared()


def test_every_task_that_is_named_instead_is_one_of_the_table():
    assert {dataset.instead for dataset in DATASETS.values()} - {""} == {instead for _, instead in MISSING.values()}


def test_the_smallest_scale_needs_no_file_of_the_user(monkeypatch):
    """What run_all.sh fetches is in packages."""
    script = (Path(__file__).parents[3] / "run_all.sh").read_text()
    fetched = set(re.search(r"^sets=\((.*)\)$", script, re.MULTILINE)[1].split())
    asked = set()

    def note(name, data_files=None, **_):
        asked.add(name)
        raise InputError(name)

    monkeypatch.setattr(retrieval, "get", note)
    for make in SWEEPS.values():
        for function in make("smoke").tasks.values():
            with suppress(InputError):
                function(0)
    assert asked <= fetched


# ---- Names ----

MISPLACED = {  # a command -> what it says, and one of the names that it offers
    "compare --task mnist": ("mnist is a data set, not a task of `compare`", "digits"),
    "compare --against board --task digits_cnn": (
        "digits_cnn is a task of `run` and `compare`, not a task of the board board",
        "synthetic",
    ),
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
        problem("bounded")
