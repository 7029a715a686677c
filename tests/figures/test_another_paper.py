"""A paper more is its folder of figures, its sweeps, and one line: then it is run, drawn and judged."""

import os
import re
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pandas as pd
import pytest

from bench.papers import PAPERS
from figures import FIGURES
from figures import PAPERS as OBJECTS
from figures.shared.published import numbers

ROOT = Path(__file__).parents[2]
SWEEPS = '''
"""What Doe et al. 2030 swept."""

from functools import partial

from bench.algorithms import ALGORITHMS
from bench.data.tasks.synthetic import synthetic
from bench.sweeps.spec import Entry, Sweep, grid


def doe_steps(scale: str) -> Sweep:
    """Learning alone at two step sizes."""
    return Sweep(
        name="doe_steps",
        reproduces="Doe et al. 2030, Figure 1",
        tasks={"synthetic": partial(synthetic, num_clients=6, num_features=6)},
        entries={
            "PPSGD": Entry(
                ALGORITHMS["ppsgd"],
                grid(
                    step_size=[0.1, 0.2],
                    personalization=0.0,
                    clip_norm=10.0,
                    noise_multiplier=0.0,
                    batch_size=2,
                    num_sampled=3,
                    sampler="fixed",
                ),
            )
        },
        num_rounds=2,
        eval_every=1,
        delta=1e-4,
        seeds=20,
    )


SWEEPS = {"doe_steps": doe_steps}
'''
FOLDER = '''
"""Doe et al. 2030: a paper that does not exist."""

from bench.analysis import select, style
from figures.shared.checks import ahead, cells_of
from figures.shared.figure import Figure
from figures.shared.paper import Paper
from figures.shared.verdicts import Claim


def table(runs):
    """Mean risk by round and step size."""
    risk = runs.groupby(["rounds", "step_size"], as_index=False)["excess_risk"].mean()
    return risk.assign(**select.where_from(runs))


def draw(numbers):
    """A line for each step size."""
    figure, ax = style.subplots(figsize=(4, 3))
    for _, line in numbers.groupby("step_size"):
        ax.plot(line["rounds"], line["excess_risk"])
    return figure


def risks(runs):
    """The risk before the first round and after the last."""
    return cells_of(runs[runs["step_size"] == 0.1], "rounds", {}, "excess_risk", "of risk", scale=-1)


PAPER = Paper(
    name="doe",
    cited="Doe et al. 2030",
    authors="Doe, Roe",
    title="Learning alone",
    venue="Nowhere 2030",
    protects="nothing",
    against="nobody",
    state="complete",
    figures={"doe_fig1": Figure("Doe et al. 2030, Figure 1: risk by round.", ("doe_steps",), table, draw)},
    claims=[Claim("Risk falls", "Figure 1", "The risk is lower at the end", "doe_steps", risks, ahead(2, 0))],
)
'''
PROGRAM = """
import sys

from bench.__main__ import main
from figures.__main__ import main as run

for words in (line.split() for line in sys.stdin.read().splitlines()):
    sys.argv = words
    print(">", *words, flush=True)
    status = main() if words[0] == "bench" else run()
    assert status == 0, (words, status)
"""
COMMANDS = """\
bench run doe_steps --scale laptop
figures draw doe_fig1
figures claims doe
"""


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    """A copy of the suite with a fifth paper; what its commands printed, by command."""
    copy = tmp_path_factory.mktemp("suite")
    for name in ("bench", "figures"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "bench" / "papers" / "doe.py").write_text(SWEEPS)
    (copy / "figures" / "doe").mkdir()
    (copy / "figures" / "doe" / "__init__.py").write_text(FOLDER)
    line = copy / "bench" / "papers" / "__init__.py"
    text, count = re.subn(r"^PAPERS = \((.*)\)$", r'PAPERS = (\1, "doe")', line.read_text(), flags=re.MULTILINE)
    assert count == 1
    line.write_text(text)
    environment = os.environ | {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    words = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(words, input=COMMANDS, capture_output=True, text=True, cwd=copy, env=environment, timeout=900)
    assert done.returncode == 0, done.stderr
    parts = [part.partition("\n") for part in f"\n{done.stdout}".split("\n> ")[1:]]
    return copy, {command: printed for command, _, printed in parts}


@pytest.mark.slow
def test_it_is_run_drawn_and_judged(suite):
    copy, printed = suite
    folder = copy / "results" / "sweeps" / "figures"
    assert {path.name for path in folder.glob("doe_fig1.*")} == {"doe_fig1.png", "doe_fig1.csv"}
    assert len(pd.read_csv(folder / "doe_fig1.csv")) == 3 * 2
    (claim,) = pd.read_csv(folder / "claims_doe.csv").itertuples()
    assert (claim.paper, claim.statement, claim.seen) == ("doe", "Risk falls", "yes")
    assert "**yes**: The risk is lower at the end (Figure 1)" in printed["figures claims doe"]


def test_every_paper_says_who_it_is():
    assert tuple(OBJECTS) == PAPERS
    for name, paper in OBJECTS.items():
        assert paper.name == name
        assert all(figure.startswith(f"{name}_") for figure in paper.figures)
        assert all(words.strip() for words in paper[1:8])
        own = all(paper.cited in figure.about.replace("\n", " ") for figure in paper.figures.values())
        assert own or name in ("pfl", "server_steps")  # the figures of the last are of three papers, and name them
        package = f"figures.{name}"
        published = set(numbers(package)["figure"]) if (files(package) / "published.csv").is_file() else set()
        assert published <= set(paper.figures)
    assert len(FIGURES) == sum(len(paper.figures) for paper in OBJECTS.values())
