"""Pieces of the page: formulas, cells, small pictures, facts of runs."""

import io
import re
from pathlib import Path

import pandas as pd
import pytest
from PIL import Image

from bench.analysis.select import span
from figures import PAPERS
from figures.pages import html
from figures.pages.report.collect import Drawn, one_panel
from figures.pages.report.facts import Facts, duration


def test_formulas_become_what_a_browser_shows():
    assert html.formula(r"$N^{1/2} \min(n, \varepsilon_1)$ a<b") == ("N<sup>1/2</sup> min(n, ε<sub>1</sub>) a&lt;b")
    assert html.formula("5 $ and <b>") == "5 $ and &lt;b&gt;"


def test_cells_sort_by_their_numbers_and_escape():
    cells = [html.cell(value) for value in (float("nan"), 1e-5, float("inf"), "1,234 x", "<i>", "word")]
    assert re.findall(r'data-number="([^"]*)"', "".join(cells)) == ["1e-05", "Infinity", "1234"]
    assert cells[4] == "<td>&lt;i&gt;</td>"
    numbers = "".join(map(html.cell, [0.12345, 12345.6, 7.0, -1e-7]))
    assert re.findall(r">([^<>]+)</td>", numbers) == ["0.1235", "12,346", "7", "-1e-07"]


def test_facts_count_runs_once():
    runs = pd.DataFrame(
        {
            "sweep": "s",
            "point": ["a", "a", "a", "b"],
            "trial": 0,
            "seed": [0, 0, 1, 0],
            "rounds": [0, 1, 1, 1],
            "algorithm": "x",
            "source": "generated",
            "scale": "laptop",
            "wall_s": [1.0, 1.0, 2.0, 4.0],
            "date": ["2026-01-01", "2026-01-01", "2026-02-01", "2025-12-01"],
        }
    )
    facts = Facts(runs)
    assert (facts.num_runs, facts.wall_s) == (3, 7.0)
    copied = Facts(pd.concat([runs, runs[runs["point"] == "a"].assign(sweep="another")]))
    assert (copied.num_runs, copied.wall_s) == (5, 7.0)
    assert (facts.repetitions, facts.newest) == ((1, 2), "2026-02-01")
    assert (facts.commits, facts.devices) == ((), ())
    assert [duration(seconds) for seconds in (2, 90, 7200)] == ["2.0 s", "1.5 min", "2.0 h"]
    assert [span((3, 3)), span((1, 5))] == ["3", "1 to 5"]


@pytest.mark.parametrize("name", [name for name, paper in PAPERS.items() if paper.in_full])
def test_a_card_has_one_panel_drawn_from_the_committed_numbers(name):
    paper = PAPERS[name]
    path = Path(__file__).parents[4] / "results" / "sweeps" / "figures" / f"{paper.leading}.csv"
    panel = one_panel(paper.figures[paper.leading], Drawn(b"", {"csv": path.read_bytes()}, None, "", ""), paper.panel)
    width, height = Image.open(io.BytesIO(panel)).size
    assert 0.7 < width / height < 1.4
