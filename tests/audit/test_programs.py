"""The scripts that save the outputs of programs outside the suite: the right program passes, each mistake is refuted.

Those of Opacus and Flower run where these packages can be imported, or with the interpreter that BENCH_OPACUS_PYTHON or
BENCH_FLOWER_PYTHON names.
"""

import importlib.util
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from bench import __main__ as command

EXAMPLES = Path(__file__).parents[2] / "examples"
PAGE = EXAMPLES.parent / "docs" / "audit-your-program.md"
SHOWN = [" ".join(block.split()) for block in PAGE.read_text().split("\n\n")]  # paragraphs, each on one line


def interpreter(package: str) -> str:
    """A Python that has a package, or a skipped test."""
    variable = f"BENCH_{package.upper()}_PYTHON"
    if variable in os.environ:
        return os.environ[variable]
    if importlib.util.find_spec({"flower": "flwr"}.get(package, package)) is None:
        pytest.skip(f"{package} is not installed here: install it, or name a Python that has it in {variable}")
    return sys.executable


def judged(
    python: str, script: str, words: str, folder: Path, monkeypatch, capsys, leave_out: str = ""
) -> tuple[int, str]:
    """Exit status and verdict of the command that a script prints last, which is run as a shell would, without an
    option that is left out.
    """
    monkeypatch.chdir(folder)
    made = subprocess.run(
        [python, EXAMPLES / f"audit_{script}.py", *shlex.split(words)], capture_output=True, text=True
    )
    assert made.returncode == 0, made.stderr
    python, *typed = (word for word in shlex.split(made.stdout.splitlines()[-1]) if word != leave_out)
    assert (python, *typed[:2]) == ("python", "-m", "bench")
    expanded = [file for word in typed[2:] for file in (sorted(map(str, Path().glob(word))) if "*" in word else [word])]
    monkeypatch.setattr(sys, "argv", ["bench", *expanded])
    status = command.main()
    return status, capsys.readouterr().out


def mistakes(script: str) -> list[str]:
    """The mistakes of a script, read without its imports."""
    lines = (EXAMPLES / f"audit_{script}.py").read_text().split("\nMISTAKES = {\n")[1].split("\n}\n")[0].splitlines()
    return [line.split('"')[1] for line in lines if line.startswith('    "') and '": ' in line]


NUMPY = {"": 0, **{f"--mistake {name}": 1 for name in mistakes("numpy")}}
TOO_MUCH_NOISE = "--mistake no-norm"  # at C = 0.5
NUMPY |= {TOO_MUCH_NOISE: 0, "--mistake no-norm --clip-norm 2": 1, "--clip-norm 2": 0}
OPACUS = {"": 0, "--audit sampling": 0, "--audit sampler": 0}
OPACUS |= {f"--mistake {name}": 1 for name in ("mean", "no-norm", "clip-mean")}
OPACUS |= {"--audit sampling --mistake size": 1, "--audit sampler --mistake shuffled": 1}
FLOWER = {"": 0, **{f"--mistake {name}": 1 for name in mistakes("flower")}}


def test_every_mistake_is_tried_and_named_on_the_page():
    assert len(NUMPY) == len(mistakes("numpy")) + 3
    for name in mistakes("opacus"):
        assert any(f"--mistake {name}" in words for words in OPACUS), name
    for script in ("numpy", "opacus", "flower"):
        for name in mistakes(script):
            assert f"`{name}`" in PAGE.read_text(), name


@pytest.mark.parametrize(("words", "status"), [("", 0), ("--mistake mean", 1)])
def test_a_loop_in_numpy_is_judged_by_few_runs(words, status, tmp_path, monkeypatch, capsys):
    found, said = judged(sys.executable, "numpy", f"{words} --runs 500", tmp_path, monkeypatch, capsys)
    assert found == status, said
    assert said.startswith("FAILED" if status else "inconclusive: nothing contradicts")


@pytest.mark.slow
@pytest.mark.parametrize(("words", "status"), NUMPY.items())
def test_a_loop_in_numpy(words, status, tmp_path, monkeypatch, capsys):
    found, said = judged(sys.executable, "numpy", words, tmp_path, monkeypatch, capsys)
    assert found == status, said
    assert said.startswith("FAILED" if status else "inconclusive" if words == TOO_MUCH_NOISE else "passed")
    if words in ("", "--mistake mean"):
        assert said.splitlines()[0] in SHOWN


@pytest.mark.slow
@pytest.mark.parametrize("words", ["", "--mistake half-noise", "--mistake by-layer"])
def test_a_loop_in_numpy_of_which_nobody_says_what_its_noise_is(words, tmp_path, monkeypatch, capsys):
    """The last two passed. What the page shows is what the command prints."""
    found, said = judged(sys.executable, "numpy", words, tmp_path, monkeypatch, capsys, leave_out="--gaussian")
    assert found == 0
    assert said.startswith("inconclusive, and FAILED if all noise is Gaussian" if words else "inconclusive: nothing")
    if words == "--mistake half-noise":
        assert said.splitlines()[0] in SHOWN


@pytest.mark.slow
@pytest.mark.parametrize(("words", "status"), OPACUS.items())
def test_opacus(words, status, tmp_path, monkeypatch, capsys):
    found, said = judged(interpreter("opacus"), "opacus", words, tmp_path, monkeypatch, capsys)
    assert found == status, said
    assert said.startswith("FAILED" if status else "passed")


@pytest.mark.slow
@pytest.mark.parametrize(("words", "status"), FLOWER.items())
def test_flower(words, status, tmp_path, monkeypatch, capsys):
    found, said = judged(interpreter("flower"), "flower", words, tmp_path, monkeypatch, capsys)
    assert found == status, said
    assert said.startswith("FAILED" if status else "passed")
