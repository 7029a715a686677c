"""What the pages in docs say to type works, as it stands there."""

import re
import shlex
import sys
from pathlib import Path

import jax
import pytest

from bench.__main__ import main
from figures.__main__ import main as draw

PAGES = Path(__file__).parents[2] / "docs"
DOCS = [*sorted(PAGES.glob("adding-*.md")), PAGES / "own-grids.md"]
SLOW = {"own-grids", "adding-a-dataset", "adding-a-method", "adding-a-network"}  # most of a minute and more
BLOCK = re.compile(r"^```(python|console)(?: file=(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def typed(command: str, monkeypatch) -> int:
    """The exit status of a line that begins with `python`."""
    words = shlex.split(command)
    assert words[0] == "python", command
    if words[1] != "-m":
        exec(compile(Path(words[1]).read_text(), words[1], "exec"), {"__name__": "__main__"})
        return 0
    assert words[1] == "-m", command
    program = {"bench": main, "figures": draw}[words[2]]
    monkeypatch.setattr(sys, "argv", words[2:])
    return program()


@jax.numpy_dtype_promotion("standard")  # the rules of jax, by which a reader's files run, not the tests' stricter ones
@jax.numpy_rank_promotion("allow")
@pytest.mark.parametrize(
    "page",
    [pytest.param(page, id=page.stem, marks=[pytest.mark.slow] if page.stem in SLOW else []) for page in DOCS],
)
def test_the_page_runs(page, tmp_path, monkeypatch, capsys):
    blocks = BLOCK.findall(page.read_text())
    assert len(blocks) >= 3, "a page without blocks tests nothing"
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for kind, file, text in blocks:
        if file:
            Path(file).write_text(text)
        elif kind == "python":
            exec(compile(text, page.name, "exec"), {"__name__": "__main__"})
        else:
            for line in text.splitlines():
                assert typed(line.removeprefix("$ "), monkeypatch) == 0, capsys.readouterr().err
    assert len(list(Path("results").rglob("part-*.parquet"))) > 0
