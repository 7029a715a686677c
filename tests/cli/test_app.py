"""The command line: bad input is one line that names the culprit and the remedy, and exit status 2."""

import inspect
import json
import subprocess
import sys
from dataclasses import replace

import pandas as pd
import pytest
from calling import caller
from tiny_sweeps import ROOT, walks

from bench import __main__ as command
from bench.files import cache_folder
from bench.papers import SWEEPS
from bench.store import part_files


@pytest.fixture
def bench(monkeypatch, capsys):
    """Runs a command line in this process, with a sweep called "tiny": status, standard output, lines of error."""
    monkeypatch.setitem(SWEEPS, "tiny", lambda scale: walks())
    return caller("bench", command.main, monkeypatch, capsys)


WRONG = [
    (["run"], "Missing argument 'sweeps'"),
    (["rum"], "did you mean 'run'"),
    (["run", "tinny"], "no sweep is called 'tinny': did you mean tiny?"),
    (["board", "--methods", "Ditto"], "methods are named for one task"),
    (["compare", "--set", "momentum"], "--set momentum is not NAME=VALUE"),
    (["compare", "--task", "synthetic", "--baselines", ","], "--baselines is empty"),
    (["audit", "nosuch"], "no method is called 'nosuch'"),
    (["audit", "ppsgd", "--set", "stepsize=1"], "no argument of ppsgd is called 'stepsize': did you mean step_size?"),
    (["audit", "ppsgd", "--set", "step_size=-1"], "step_size is -1.0: it must be positive and finite"),
    (["audit", "ppsgd", "--family", "agents"], "ppsgd fits no audit task"),
    (["audit", "ppsgd", "--epsilon", "0"], "epsilon is 0.0: give a finite number above 0"),
    (["audit", "ppsgd", "--set", "num_sampled=100"], "error: num_sampled is 100, more than the 4 clients"),
    (["audit", "ppsgd", "--rounds", "100000"], "rounds is 100000: give 1 to 1,000"),
    (["audit", "ppsgd", "--runs", "5"], "runs is 5: give 300 to 10,000,000"),
    (["run", "qqq"], "no sweep is called 'qqq': choose from "),
    (["run", "tiny", "--seeds", "0"], "seeds is 0: it must be a whole number from 1"),
    (["run", "tiny", "--seeds", "two"], "--seeds"),
    (["run", "tiny", "--seeds"], "--seeds"),
    (["run", "tiny", "--shard", "5/4"], "shard is '5/4': give I/N with I from 1 to N"),
    (["run", "tiny", "--where", "step_size > 9"], "selects none of the points of tiny: widen the condition"),
    (["run", "tiny", "--two\nlines", "1"], "No such option: --two"),
    (["epsilon", "--steps", "10"], "Missing option"),
]


@pytest.mark.parametrize(("words", "said"), WRONG, ids=[" ".join(words)[:40] for words, _ in WRONG])
def test_bad_input_is_one_line_and_status_2(bench, words, said, tmp_path):
    out = ["--out", tmp_path / "results"] if words[0] == "run" and len(words) > 1 and words[-1] != "--seeds" else []
    status, written, lines = bench(*words, *out)
    assert status == 2
    assert written == ""
    assert len(lines) == 1
    assert lines[0].startswith("error: ")
    assert said.lower() in lines[0].lower()
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("words", [["run", "tiny", "--out", ""], ["status", "--out", ""], ["compare", "--against", ""]])
def test_an_empty_path_is_not_the_current_folder(bench, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, _, (line,) = bench(*words)
    assert status == 2
    assert f"{words[-2]}: the path is empty: give a path" in line.replace("'", "")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["fedavg_round", "--out", "."], "--out . is no file of `bench perf`: name another file"),
        (["users", "accelerator"], "no benchmark is called 'accelerator'"),
        (["accelerator"], "JAX sees no GPU or TPU here"),
    ],
)
def test_what_cannot_be_measured_is_refused_in_a_line(bench, words, said):
    status, _, lines = bench("perf", *words)
    assert (status, len(lines)) == (2, 1)
    assert said in lines[0]


def test_a_run_writes_parquet_and_says_what_it_does(bench, tmp_path):
    status, _, lines = bench(
        "run", "tiny", "--out", tmp_path, "--seeds", "1", "--chunk", "3", "--where", "step_size < 0.35"
    )
    assert status == 0
    assert lines[0] == f"tiny at scale smoke: 3 runs to do, 0 in {tmp_path / 'smoke' / 'tiny'}"
    rows = pd.read_parquet(tmp_path / "smoke" / "tiny")
    assert set(rows["step_size"]) == {0.1, 0.2, 0.3}
    assert set(rows["seed"]) == {0}
    assert bench("run", "tiny", "--out", tmp_path)[0] == 0
    assert len(pd.read_parquet(tmp_path / "smoke" / "tiny")) == 4 * 2 * 5
    assert not list(tmp_path.rglob("_stale"))


def test_list_names_everything_as_text_and_as_json(bench, tmp_path, monkeypatch):
    (tmp_path / "noise").symlink_to(cache_folder("noise"), target_is_directory=True)
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path))  # here a sweep is listed that is not in the code
    status, text, lines = bench("list")
    assert (status, lines) == (0, [])
    status, written, _ = bench("list", "--json")
    assert status == 0
    listed = json.loads(written)
    assert {entry["name"] for entry in listed["sweeps"]} == set(SWEEPS)
    for kind, entries in listed.items():
        assert entries, kind
        for entry in entries:
            assert entry["name"] in text
            assert entry["what"], entry


def test_the_program_itself(tmp_path):
    """In a process of its own: the help without arguments, the status and the one line of an error, no traceback."""

    def call(*words):
        return subprocess.run([sys.executable, "-m", "bench", *words], capture_output=True, text=True, cwd=ROOT)

    shown = call()
    assert shown.returncode == 0
    assert shown.stderr == ""
    assert all(name in shown.stdout for name in ("Usage", "run", "list", "data", "epsilon", "noise"))
    wrong = call("run", "nosuch")  # whose imports must print nothing either
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr.startswith("error: no sweep is called 'nosuch'")
    assert wrong.stderr.count("\n") == 1


def test_the_help_of_every_command_has_an_example_that_names_it():
    from bench.cli.app import app as bench_app
    from figures.command_line import app as figures_app

    def commands(app, words):
        for one in app.registered_commands:
            yield [*words, one.name or one.callback.__name__], inspect.getdoc(one.callback)
        for group in app.registered_groups:
            yield from commands(group.typer_instance, [*words, group.name])

    found = [*commands(bench_app, ["bench"]), *commands(figures_app, ["figures"])]
    assert len(found) >= 11
    for words, text in found:
        said = text.split("Example: python -m ")
        assert len(said) == 2, words
        assert said[1].startswith(" ".join(words if words[0] == "bench" else words[:1])), words


def test_the_repetitions_asked_for_hold_for_entries_that_have_fewer(bench, tmp_path, monkeypatch):
    sweep = walks()
    fewer = {label: replace(entry, seeds=1) for label, entry in sweep.entries.items()}
    monkeypatch.setitem(SWEEPS, "fewer", lambda scale: sweep._replace(name="fewer", entries=fewer))
    assert bench("run", "fewer", "--out", tmp_path, "--seeds", "3")[0] == 0
    rows = part_files.read(tmp_path / "smoke" / "fewer")
    assert (rows.groupby("point")["seed"].nunique() == 3).all()
