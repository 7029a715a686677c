"""What the README and the pages in docs show works."""

import re
from pathlib import Path

import pytest

from bench.command_line import app
from bench.sweeps import SWEEPS
from figures import FIGURES

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
LINK = re.compile(r"\]\(([^)#]+)\)")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.slow
def test_the_python_of_the_readme_runs_and_gives_tables(tmp_path, monkeypatch):
    code = README.split("```python\n")[1].split("```")[0]
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    exec(compile(code, "README.md", "exec"), names)
    assert set(names["rows"]["seed"]) == {0}
    assert set(names["rows"]["step_size"]) == {0.4}
    assert set(names["table"]["target_epsilon"]) >= {1.0, 4.0}
    assert (tmp_path / "results" / "compare" / "mine" / "comparison.png").is_file()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_file_and_picture_that_a_page_names_is_there(page):
    links = LINK.findall(page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_readme_leads_to_every_page_and_shows_every_paper():
    links = set(LINK.findall(README))
    assert {str(page.relative_to(ROOT)) for page in PAGES[1:]} <= links
    pictures = {Path(link).name.split("_")[0] for link in links if link.startswith("results/laptop/figures/")}
    assert pictures >= {"ppsgd", "isrl", "pfl", "p2p"}


@pytest.mark.parametrize("page", PAGES[1:], ids=lambda page: page.stem)
def test_every_picture_that_a_page_shows_is_a_figure_of_the_suite(page):
    shown = {Path(link).stem for link in re.findall(r"!\[[^]]*\]\(([^)#]+)\)", page.read_text())}
    assert shown <= set(FIGURES)


def test_every_command_of_the_pages_exists():
    known = {command.name or command.callback.__name__ for command in app.registered_commands} | {"data"}
    for page in PAGES:
        assert set(re.findall(r"python -m bench (\w+)", page.read_text())) <= known, page
    assert len(set(re.findall(r"python -m bench (\w+)", README))) >= 8


def test_every_sweep_and_figure_that_a_page_says_to_make_is_there():
    pages = "\n".join(page.read_text() for page in PAGES)
    said = re.findall(r"python -m (?:bench run|figures) ([^#`\n]+)", pages)
    names = {word for line in said for word in line.split() if re.fullmatch(r"(ppsgd|isrl|pfl|p2p)_\w+", word)}
    assert len(names) > 30
    assert names <= {*SWEEPS, *FIGURES}
