"""Importing the suite, and drawing with it, changes nothing of the caller's."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

DRAW = """
import matplotlib

matplotlib.use("svg")  # as a notebook has a backend of its own
matplotlib.rcParams["font.size"] = 7
matplotlib.rcParams["axes.grid"] = False
before = dict(matplotlib.rcParams)

from bench import compare, load, run
import figures
import figures.command_line
import bench.comparison.report.figure

assert dict(matplotlib.rcParams) == before

figure = figures.FIGURES["isrl_table1"]
table = figure.table(None).head(1)
picture = figure.picture(table)
assert dict(matplotlib.rcParams) == before

from pathlib import Path
from tempfile import TemporaryDirectory

from bench.analysis.saving import save_picture

with TemporaryDirectory() as folder:
    save_picture(picture, table, Path(folder), "table", pdf=True)
assert dict(matplotlib.rcParams) == before
assert matplotlib.get_backend() == "svg"

import matplotlib.pyplot as plt

assert plt.get_fignums() == []
"""
CALLERS = """
import sys
from pathlib import Path

import matplotlib

from bench.analysis.saving import save_picture
from figures import FIGURES

if sys.argv[2] == "other":
    matplotlib.rcParams.update({"font.size": 20, "axes.facecolor": "red", "savefig.dpi": 30, "figure.figsize": (1, 1)})
figure = FIGURES["isrl_table1"]
table = figure.table(None)
save_picture(figure.picture(table), table, Path(sys.argv[1], sys.argv[2]), "picture", pdf=True)
"""


def process(program: str, *words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, cwd=ROOT, timeout=120
    )
    assert done.returncode == 0, done.stderr


def test_nothing_of_the_callers_is_changed():
    process(DRAW)


@pytest.mark.slow
def test_nothing_of_the_callers_changes_a_picture(tmp_path):
    for place in ("own", "other"):
        (tmp_path / place).mkdir()
        process(CALLERS, str(tmp_path), place)
    for kind in ("png", "pdf", "csv"):
        own, other = (tmp_path / place / f"picture.{kind}" for place in ("own", "other"))
        assert own.read_bytes() == other.read_bytes()
