"""What the README and the pages in docs show works."""

import re
import shutil
from pathlib import Path

import pytest
from layers import MAY_IMPORT

import bench.parts
from bench.cli.app import app
from bench.papers import SWEEPS
from figures import FIGURES, PAPERS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
LINK = re.compile(r"\]\(([^)]+)\)")
TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = [README, *sorted(DOCS.rglob("*.md"))]
PICTURES = "results/sweeps/figures/"
BOARD = "results/board/"


def python_of(page: Path, tmp_path, monkeypatch) -> dict:
    """The names that the blocks of Python on a page leave behind."""
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for code in re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL):
        exec(compile(code, page.name, "exec"), names)
    return names


def links(page: Path) -> list[tuple[Path, str]]:
    """Where a page leads: files, itself for a link within it, with the anchor or ""."""
    found = [link.partition("#")[::2] for link in LINK.findall(page.read_text()) if "://" not in link]
    return [((page.parent / path).resolve() if path else page, anchor) for path, anchor in found]


def anchors(page: Path) -> set[str]:
    """Of the headings of a page, as Sphinx and repositories make them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.slow
def test_the_python_of_reproducing_and_comparing_runs_and_gives_tables(tmp_path, monkeypatch):
    rows = python_of(DOCS / "reproducing.md", tmp_path, monkeypatch)["rows"]
    assert set(rows["seed"]) == {0}
    assert set(rows["step_size"]) == {0.4}
    (tmp_path / "results" / "board").mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "results" / "board" / "scores.csv", tmp_path / "results" / "board")
    table = python_of(DOCS / "comparing.md", tmp_path, monkeypatch)["table"]
    assert set(table["target_epsilon"]) >= {1.0, 4.0}
    assert (tmp_path / "results" / "compare" / "mine" / "comparison.png").is_file()


def test_the_readme_is_short():
    words = re.sub(r"<!-- papers -->.*?<!-- end -->", "", README.read_text(), flags=re.DOTALL).split()
    assert len(words) < 600


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_file_picture_and_heading_that_a_page_links_to_is_there(page):
    assert [str(path) for path, _ in links(page) if not path.exists()] == []
    assert [(path.name, anchor) for path, anchor in links(page) if anchor and anchor not in anchors(path)] == []


def test_every_page_is_in_a_table_of_contents():
    listed = {
        (page.parent / f"{name}.md").resolve()
        for page in PAGES[1:]
        for part in TOCTREE.findall(page.read_text())
        for name in part.split()
    }
    assert set(PAGES[1:]) - listed == {DOCS / "index.md"}


def test_the_readme_shows_a_picture_and_the_page_of_papers_one_of_every_paper():
    assert len([link for link in LINK.findall(README.read_text()) if link.endswith(".png")]) == 1
    shown = {Path(link).stem for link in LINK.findall((DOCS / "papers" / "index.md").read_text()) if PICTURES in link}
    assert all(shown & set(paper.figures) for paper in PAPERS.values())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_picture_that_a_page_shows_is_a_figure_of_the_suite(page):
    pictures = re.findall(r"!\[[^]]*\]\(([^)#]+)\)", page.read_text())
    folders = (PICTURES, BOARD, "results/compare/", "results/extrapolated/")
    assert all(any(folder in link for folder in folders) for link in pictures)
    assert {Path(link).stem for link in pictures if PICTURES in link} <= set(FIGURES)


def test_every_picture_of_a_page_has_an_alternative_text():
    assert [page for page in PAGES if "![](" in page.read_text()] == []


def test_pages_examples_and_tutorials_import_from_the_public_addresses_alone():
    """`bench` and `bench.parts` for methods, tasks and sweeps, `bench.audit` and `figures`; what is behind may move."""
    public = {"bench", "bench.parts", "bench.audit", "figures"}
    found = {}
    for page in (*PAGES, *(path for path in (ROOT / "examples").iterdir() if path.is_file())):
        text = re.sub(r"^```python\n# bench/.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)  # its own
        found[page.name] = set(re.findall(r'^\s*"?(?:from|import) ((?:bench|figures)[\w.]*)', text, re.MULTILINE))
    assert {name: modules - public for name, modules in found.items() if modules - public} == {}
    assert {"bench", "bench.parts"} <= found["adding-a-method.md"]
    named = re.findall(r"bench\.parts\.(\w+)", "".join(page.read_text() for page in PAGES))
    assert set(named) <= set(bench.parts.__all__)


def test_every_file_that_a_page_names_is_there():
    paths = {
        path
        for page in (*PAGES, ROOT / "CONTRIBUTING.md")
        for path in re.findall(r"`((?:bench|figures|tests|docs|examples)/[\w./-]+)`", page.read_text())
    }
    assert len(paths) > 50
    assert sorted(path for path in paths if not (ROOT / path).exists() and path != "docs/_build") == []


def test_every_module_that_the_design_page_names_by_its_room_is_there():
    """As `execution/run.py`, and `report/table.py` of the walk through a comparison."""
    named = set(re.findall(r"`([a-z]+/\w+\.py)`", (DOCS / "design.md").read_text()))
    tops = [ROOT, ROOT / "bench", ROOT / "bench/comparison"]
    assert len(named) > 10
    assert sorted(path for path in named if not any((top / path).exists() for top in tops)) == []


def test_every_command_of_the_pages_exists():
    known = {command.name or command.callback.__name__ for command in app.registered_commands} | {"data"}
    for page in PAGES:
        assert set(re.findall(r"python -m bench (\w+)", page.read_text())) <= known, page
    assert len(set(re.findall(r"python -m bench (\w+)", (DOCS / "reproducing.md").read_text()))) >= 8


def test_every_sweep_and_figure_that_a_page_says_to_make_is_there():
    pages = "\n".join(page.read_text() for page in PAGES)
    said = re.findall(r"python -m (?:bench run|figures) ([^#`\n]+)", pages)
    names = {word for line in said for word in line.split() if re.fullmatch(r"(ppsgd|isrl|pfl|p2p)_\w+", word)}
    assert len(names) > 30
    assert names <= {*SWEEPS, *FIGURES}


def test_the_design_page_says_who_may_import_whom():
    rows = re.findall(r"^\| `([\w.]+)` \| (.*) \|$", (DOCS / "design.md").read_text().split("helpers apart")[1], re.M)
    helpers = {"bench.errors", "bench.files", "bench.processes", "bench.inputs"}
    assert {name for name, _ in rows} > {"bench.sweeps", "bench.comparison", "figures"}
    for name, said in rows:
        assert set(re.findall(r"`([\w.]+)`", said)) == {each.lstrip("=") for each in MAY_IMPORT[name]} - helpers - {
            name
        }, name
