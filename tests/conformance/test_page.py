"""What docs/conformance.md says to type works without JAX, and what it shows is what the check says."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from calling import caller

from bench import __main__ as command
from bench.conformance import ACCOUNTING, FOLDER, GOLDEN_RUNS

PAGE = (Path(__file__).parents[2] / "docs" / "conformance.md").read_text()
PYTHON = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
SHOWN = re.findall(r"^```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
BUILT_IN = {"json", "math", "pathlib"}


@pytest.fixture
def bench(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "bench" / "conformance"
    folder.mkdir(parents=True)
    for name in (ACCOUNTING, GOLDEN_RUNS):
        shutil.copy(FOLDER / name, folder)
    call = caller("bench", command.main, monkeypatch, capsys)
    (tmp_path / "answers.json").write_text(call("conformance")[1])
    return call


def run(code, tmp_path):
    """In a process of its own, which has neither this suite nor anything else that is installed."""
    subprocess.run([sys.executable, "-I", "-S", "-c", code], cwd=tmp_path, check=True)


def test_the_python_of_the_page_needs_nothing_and_agrees(bench, tmp_path):
    assert set(re.findall(r"^(?:import|from) (\w+)", "\n".join(PYTHON), re.MULTILINE)) == BUILT_IN
    run("\n".join(PYTHON), tmp_path)
    status, written, lines = bench("conformance", "answers.json")
    assert (status, lines) == (0, [])
    count = sum(
        answer is not None for answer in json.loads((tmp_path / "answers.json").read_text())["answers"].values()
    )
    assert written.startswith(f"{count} of ")
    assert count > 24


def test_the_cancellation_that_the_page_mentions_gives_two_wrong_answers(bench, tmp_path):
    code = "\n".join(PYTHON)
    run(code.replace("erfc(-x / sqrt(2)) / 2", "(2 - erfc(x / sqrt(2))) / 2"), tmp_path)  # erf = 1 - erfc
    status, written, _ = bench("conformance", "answers.json")
    assert status == 0
    assert ", 2 differ (2 safe)" in written.splitlines()[0]


def test_what_the_page_shows_is_what_the_check_says(bench, tmp_path):
    code = "\n".join(PYTHON)
    wrong = code.replace('("replace_one", 2)', '("replace_one", 1)').replace(
        "** 2 for value in x)", "** 2 for value in x[:3])"
    )
    assert (wrong.count("x[:3]"), wrong.count('replace_one", 1')) == (1, 1)
    run(wrong, tmp_path)
    status, written, _ = bench("conformance", "answers.json")
    assert status == 1
    shown = [line for line in SHOWN[0].splitlines() if line != "..."]
    assert [line for line in shown if line not in written.splitlines()] == []
