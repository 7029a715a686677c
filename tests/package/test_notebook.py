"""The notebook for hosted environments runs, but for its installation, and shows a figure."""

import json
import sys
from pathlib import Path
from types import ModuleType

import pytest
from PIL import Image

NOTEBOOK = json.loads((Path(__file__).parents[2] / "examples" / "quick_start.ipynb").read_text())
CODE = [cell for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]


def tagged(cell):
    return "install" in cell["metadata"].get("tags", [])


def test_the_notebook_is_kept_without_what_a_run_leaves():
    assert [tagged(cell) for cell in CODE] == [True, *[False] * (len(CODE) - 1)]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in CODE)


@pytest.mark.slow
def test_the_cells_run(tmp_path, monkeypatch):
    """As Python, in one namespace; a stand-in for the notebook's display reads the picture."""
    shown = []
    display = ModuleType("IPython.display")

    def show(path):
        with Image.open(path) as picture:
            shown.append(picture.size)

    display.Image = show  # pyright: ignore[reportAttributeAccessIssue]
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for cell in CODE:
        if not tagged(cell):
            exec(compile("".join(cell["source"]), "quick_start.ipynb", "exec"), names)
    assert set(names["rows"]["algorithm"]) == {"FedAvg", "FedAvgM", "FedAdam", "FedYogi"}
    assert set(names["numbers"]["repetitions"]) == {1}
    ((width, height),) = shown
    assert min(width, height) > 300
