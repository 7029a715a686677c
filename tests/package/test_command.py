"""The command of an installed suite: both programs, and a line where another package has the name of one of them."""

import csv
import hashlib
import json
import os
import re
import subprocess
import sys
import tomllib
from base64 import urlsafe_b64encode
from pathlib import Path

import pytest

import private_federated_bench as entry

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def call(*words, cwd, path=ROOT):
    """The command in a process of its own; status, standard output, lines of error."""
    program = f"from {entry.__name__} import main; main()"
    environment = os.environ | {"PYTHONPATH": str(path)}
    done = subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, cwd=cwd, env=environment, timeout=120
    )
    return done.returncode, done.stdout, done.stderr.splitlines()


SEVERAL = """
import contextlib, io, json, sys
from {name} import main
ended = []
for words in json.loads(sys.argv[1]):
    sys.argv[1:] = words
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main()
        except SystemExit as stop:
            status = stop.code
    ended.append([status or 0, out.getvalue(), err.getvalue().splitlines()])
print(json.dumps(ended))
"""


def test_both_programs_are_behind_one_command(tmp_path):
    """Their own help and version, under the command's name; errors as of `python -m`. From any folder.

    One process answers all commands, of which the imports would be most of the time.
    """
    asked = [["--help"], ["figures", "--help"], ["--version"], ["conformance", "nosuch"], ["figures", "nosuch"]]
    program = SEVERAL.format(name=entry.__name__)
    done = subprocess.run(
        [sys.executable, "-c", program, json.dumps(asked)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        check=True,
    )
    own_help, help_of_figures, version, check, draw = json.loads(done.stdout)
    assert own_help[0] == 0
    assert f"Usage: {entry.NAME} " in own_help[1]
    assert "compare" in own_help[1]
    assert help_of_figures[0] == 0
    assert f"Usage: {entry.NAME} figures " in help_of_figures[1]
    assert "claims" in help_of_figures[1]
    assert version[1] == f"{entry.NAME} {PROJECT['version']}\n"
    assert (check[0], len(check[2])) == (2, 1)
    assert check[2][0].startswith("error: nosuch does not exist")
    assert (draw[0], len(draw[2])) == (2, 1)
    assert draw[2][0].startswith("error: no figure is called 'nosuch'")


@pytest.mark.parametrize("package", entry.PACKAGES)
def test_another_package_of_that_name_is_one_line(tmp_path, package):
    """Whose code is not run, whichever command is asked for; a mere folder of that name is no package."""
    (tmp_path / package).mkdir()
    assert call("--version", cwd=tmp_path)[0] == 0
    (tmp_path / package / "__init__.py").write_text("raise RuntimeError")
    for words in (["--version"], ["figures", "--version"]):
        status, out, (line,) = call(*words, cwd=tmp_path)
        assert (status, out) == (2, "")
        assert line.startswith(f"error: the package `{package}` of {entry.NAME} is at {ROOT / package}")
        assert str(tmp_path / package / "__init__.py") in line
        assert "run this in another folder" in line


@pytest.fixture
def installed(tmp_path):
    """A folder with the entry, packages that hold nothing, and the record of their installation."""
    files = {f"{entry.__name__}.py": (ROOT / f"{entry.__name__}.py").read_text()}
    files |= {f"{package}/__init__.py": f"'''{package}'''\n" for package in entry.PACKAGES}
    rows = []
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
        digest = urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        rows.append((name, f"sha256={digest}", len(text)))
    info = tmp_path / f"{entry.__name__}-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {entry.NAME}\nVersion: 1\n")
    with (info / "RECORD").open("w", newline="") as record:
        csv.writer(record).writerows(rows)
    return tmp_path


@pytest.mark.parametrize("package", entry.PACKAGES)
def test_a_package_that_was_written_over_is_one_line(installed, package):
    asked = f"from {entry.__name__} import collision; print(collision({package!r}))"

    def said():
        environment = os.environ | {"PYTHONPATH": str(installed)}
        done = subprocess.run(
            [sys.executable, "-c", asked], capture_output=True, text=True, cwd=installed, env=environment, check=True
        )
        return done.stdout.strip()

    assert said() == "None"
    (installed / package / "__init__.py").write_text("'''somebody else's'''\n")
    assert said().startswith(f"another package has written over `{package}` of {entry.NAME}")


def test_the_version_is_one():
    """pyproject.toml has it; what cites the suite, and the changelog, follow."""
    cited = re.findall(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    released = re.findall(r"^## ([\d.]+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert cited == released[:1] == [PROJECT["version"]]
