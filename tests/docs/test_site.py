"""The site builds without a warning, and its notebooks run without Sphinx, too."""

import importlib.util
import pydoc
import re
import subprocess
import sys
from pathlib import Path

import pytest

import bench.parts

ROOT = Path(__file__).parents[2]
NOTEBOOKS = [page for page in sorted((ROOT / "docs").rglob("*.md")) if "\n```{code-cell}" in page.read_text()]
CELL = re.compile(r"^```\{code-cell\} ipython3\n(?::[^\n]*\n)*(.*?)^```$", re.MULTILINE | re.DOTALL)
BUILDERS = ("sphinx", "sphinx_book_theme", "myst_nb")


def test_there_are_notebooks():
    assert {page.stem for page in NOTEBOOKS} == {
        "is-your-dp-right",
        "reproduce-a-figure",
        "compare-a-method",
        "audit-a-method",
        "your-own-data",
    }
    assert all(page.read_text().startswith("---\nfile_format: mystnb\n") for page in NOTEBOOKS)


def test_the_page_that_is_not_run_says_so():
    assert "were not run when these pages were built" in (ROOT / "docs" / "tutorials" / "a-gpu.md").read_text()


def test_everything_in_the_reference_exists():
    names = re.findall(r"^\.\. auto\w+:: ([\w.]+)$", (ROOT / "docs" / "api.md").read_text(), re.MULTILINE)
    for name in names:
        assert pydoc.locate(name) is not None, name
    assert {f"bench.parts.{name}" for name in bench.parts.__all__} <= set(names)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # a notebook shows the pictures it opens
@pytest.mark.parametrize("page", NOTEBOOKS, ids=lambda page: page.stem)
def test_the_cells_of_a_notebook_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    names: dict = {"__name__": "notebook"}
    cells = CELL.findall(page.read_text())
    assert len(cells) == page.read_text().count("\n```{code-cell}")
    for text in cells:
        magic = re.match(r"\n*%%writefile (\S+)\n", text)
        if magic:
            Path(magic[1]).write_text(text[magic.end() :])
        else:
            exec(compile(text, page.name, "exec"), names)


@pytest.mark.slow
def test_the_site_builds_without_warnings(tmp_path):
    missing = [name for name in BUILDERS if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed: pip install '.[docs]'")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "docs", str(tmp_path / "site")]
    built = subprocess.run(
        [*command, "-d", str(tmp_path / "doctrees")], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr[-4000:]
    assert (tmp_path / "site" / "index.html").is_file()
