"""What nobody foresaw ends in one line, too; and mistakes in methods, tasks and files that once were tracebacks."""

import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tiny_sweeps import walks

import bench
from bench import Method, Scalar
from bench.cli.exits import exit_status
from bench.comparison.protocol import PROTOCOL, read_protocol
from bench.errors import InputError
from bench.papers import SWEEPS
from bench.sweeps.spec import parameters

ROOT = Path(__file__).parent.parent
HUGE = 10**400


def raising(error):
    def app(**_):
        raise error

    return app


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (KeyError("clip"), 1, "error: unexpected KeyError: 'clip' ("),
        (OSError(28, "No space left on device"), 2, "error: cannot write the output (No space left on device): free "),
        (IsADirectoryError(21, "Is a directory", "a/b"), 2, "error: a/b: Is a directory: move the folder elsewhere"),
        (OSError(36, "File name too long", "aaa"), 2, "error: aaa: File name too long: shorten it"),
        (MemoryError(), 2, "error: out of memory (MemoryError): free some memory"),
        (OSError(12, "Cannot allocate memory"), 2, "error: out of memory (OSError"),
    ],
)
def test_an_exception_is_one_line_or_a_traceback_on_request(error, status, said, capsys, monkeypatch):
    assert exit_status(raising(error)) == status
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(said)
    monkeypatch.setenv("BENCH_TRACEBACK", "1")
    with pytest.raises(type(error)):
        exit_status(raising(error))


def test_an_output_that_lacks_a_letter_has_all_others(monkeypatch):
    """What took hours to compute is printed, though the terminal has no epsilon."""
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    assert exit_status(lambda **_: print("ε = 4: 0.7 ± 0.1", flush=True)) == 0
    assert written.getvalue() == b"? = 4: 0.7 ? 0.1\n"


def test_bad_input_that_comes_from_an_error_in_a_users_code_shows_its_traceback_on_request(capsys, monkeypatch):
    def app(**_):
        try:
            raise ValueError("inside")
        except ValueError as error:
            raise InputError("mine fails") from error

    assert exit_status(app) == 2
    assert capsys.readouterr().err.splitlines() == ["error: mine fails"]
    monkeypatch.setenv("BENCH_TRACEBACK", "1")
    assert exit_status(app) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("Traceback")
    assert lines[-2:] == ["ValueError: inside", "error: mine fails"]


@pytest.mark.parametrize("words", [["--version"], pytest.param(["status", "ppsgd_theory"], marks=pytest.mark.slow)])
def test_a_full_disk_behind_standard_output_is_one_line(words, tmp_path):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "bench", *words], cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: cannot write the output (No space left on device)")


@pytest.mark.parametrize("default", [[1, 2], {}, np.arange(3), b"x", frozenset({1}), Path("x"), len, (1, [2])])
def test_a_default_that_cannot_be_written_down_is_named(default):
    def walk(task, *, step_size: Scalar, values=default):
        raise AssertionError

    with pytest.raises(InputError, match=r"argument values of walk has a default of type .*: give a number, text"):
        parameters(Method(walk, lambda task, **_: {}, version=1))


def test_an_argument_called_self_is_refused():
    def walk(task, *, self: Scalar):
        raise AssertionError

    with pytest.raises(InputError, match="walk has an argument self: rename it"):
        parameters(Method(walk, lambda task, **_: {}, version=1))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: bench.compare(epsilons=[HUGE]), "an epsilon is too large: give at most 3.4e"),
        (lambda: bench.compare(fixed={"step_size": HUGE}, task="synthetic"), "step_size is too large"),
        (lambda: bench.run("tiny", grid={"step_size": [HUGE]}), "too large"),
        (lambda: bench.compare(task=lambda trial: sys.exit(3)), "fails on trial 0: SystemExit: 3"),
    ],
)
def test_python_calls_are_refused_in_words(call, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(SWEEPS, "tiny", lambda scale: walks())
    with pytest.raises(InputError, match=said):
        call()


@pytest.mark.parametrize(
    "change", ['"delta": NaN', '"neighbors": ["x"]', '"seeds": 0', '"rounds": 3.5', '"epsilons": []']
)
def test_a_damaged_protocol_is_named(tmp_path, change):
    (tmp_path / PROTOCOL).write_text(
        '{"task": "t", "epsilons": [1.0], "seeds": 1, "settings": 1, "rounds": 1, "delta": 0.1, "neighbors": "n", '
        f'"unit": "user", {change}}}'
    )
    name = change.split('"')[1]
    with pytest.raises(InputError, match=rf"{PROTOCOL} cannot be read \(.*{name}.*: move the folder elsewhere"):
        read_protocol(tmp_path)
