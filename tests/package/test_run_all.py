"""The first command: its help, and bad input, which ends before anything is installed."""

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "run_all.sh"


def ended(*words: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run([SCRIPT, *words], env=os.environ | environment, capture_output=True, text=True, timeout=60)


def test_help_names_every_option_of_the_script_and_nothing_of_its_code():
    done = ended("--help")
    assert done.returncode == 0
    options = [line.split(")")[0].strip() for line in SCRIPT.read_text().splitlines() if line.startswith("    --")]
    assert len(options) >= 10
    assert all(option in done.stdout for option in options)
    assert "set -euo" not in done.stdout
    assert done.stdout.rstrip().endswith("relative to this folder.")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--scale", "huge"], "no scale is called 'huge'"),
        (["--skale", "smoke"], "no option or command is called '--skale'"),
        (["--slow"], "belong to the command test"),
    ],
)
def test_bad_input_is_one_line_and_status_2(words, said):
    done = ended(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert said in done.stderr


def test_another_interpreter_is_refused(tmp_path):
    done = ended("test", PYTHON="/bin/false", BENCH_VENV=str(tmp_path / "venv"))
    assert done.returncode == 2
    assert "PYTHON=/bin/false is not a Python 3.11 to 3.13" in done.stderr
    assert not (tmp_path / "venv").exists()


def test_the_part_of_the_tests_is_made_of_files_that_are_there():
    root = SCRIPT.parent
    named = (root / "tests" / "part.txt").read_text().split()
    assert len(named) >= 10
    assert [name for name in named if not (root / name).is_file()] == []
