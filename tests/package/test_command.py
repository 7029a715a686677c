"""The command of an installed suite, which is both programs, and the one version that everything has."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

from bench.cli.options import PACKAGE

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def call(*words, cwd):
    """The command in a process of its own; status, standard output, lines of error."""
    module, _, name = PROJECT["scripts"][PACKAGE].partition(":")
    found = f"import sys; sys.argv[0] = {PACKAGE!r}; sys.path.insert(0, {str(ROOT)!r})"
    program = f"{found}; from {module} import {name}; {name}()"
    done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, cwd=cwd, timeout=120)
    return done.returncode, done.stdout, done.stderr.splitlines()


def test_both_programs_are_behind_one_command(tmp_path):
    """Their own help and version, under the command's name; errors as of `python -m`. From any folder."""
    assert call("--version", cwd=tmp_path) == (0, f"{PACKAGE} {PROJECT['version']}\n", [])
    status, said, _ = call("figures", "--help", cwd=tmp_path)
    assert status == 0
    assert f"Usage: {PACKAGE} figures " in said
    assert "claims" in said
    status, said, (line,) = call("conformance", "nosuch", cwd=tmp_path)
    assert (status, said) == (2, "")
    assert line.startswith("error: nosuch is no file")


def test_the_version_is_one():
    """pyproject.toml has it; what cites the suite, and the changelog, follow."""
    cited = re.findall(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    released = re.findall(r"^## ([\d.]+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert cited == released[:1] == [PROJECT["version"]]
