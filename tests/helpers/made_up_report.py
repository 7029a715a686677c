"""A page from made-up results: some figures drawn, some lying there drawn already, the others not run.

It stands alone, or beside other made-up results that stand for those of the repository.
"""

from functools import cache
from io import BytesIO
from pathlib import Path

import pytest
from made_up_pfl import clients_runs
from made_up_runs import digit_runs, write
from matplotlib.figure import Figure

from bench.analysis import style
from bench.files import record
from figures import FIGURES
from figures.pages.report.write import write as write_report
from figures.shared.drawn import RECORD, digest

HARMLESS = "<script>alert('x')</script> & \"quotes\""
LYING_THERE = ("ppsgd_fig1c", "ppsgd_fig2", "isrl_table2", "pfl_table5", "pfl_clients_curves", "pfl_overlap")


def results(folder: Path) -> Path:
    """Results of two papers at scale laptop, with one run a cell of the second, which leaves its claims undecided.

    The source of the first would be a program if it were not escaped.
    """
    timing = {"date": "2026-01-02", "jax_version": "0.0.1", "device": "1 x cpu", "wall_s": 0.5, "compile_s": 2.0}
    digits = digit_runs(rounds=(0, 1000)).assign(**timing, source=HARMLESS, num_epochs=1)
    write(digits, folder, "laptop")
    write(clients_runs(repetitions=1).assign(**timing), folder, "laptop")
    return folder


@cache
def _png(width: float) -> bytes:
    """An empty picture."""
    content = BytesIO()
    Figure(figsize=(width, 1)).savefig(content, dpi=100)
    return content.getvalue()


def picture(path: Path, width: float = 2.0) -> None:
    """A small picture, as of a figure."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_png(width))


def comparison(folder: Path) -> None:
    """What another command leaves of a comparison."""
    place = folder / "compare" / "mine"
    picture(place / "comparison.png")
    (place / "comparison.csv").write_text("method,epsilon,score\nmine,1.0,0.9\nDP-FedAvg,1.0,0.8\n")
    (place / "tuning.csv").write_text("method,step_size\nmine,0.1\n")


def beside(page: Path) -> Path:
    """The folder of the files of a page."""
    (folder,) = page.parent.glob(f"{page.stem}-*")
    return folder


def made(folder: Path) -> Path:
    """The page of all this."""
    comparison(results(folder))
    for number, name in enumerate(LYING_THERE):
        picture(folder / "sweeps" / "figures" / f"{name}.png", width=12 + number)
        (folder / "sweeps" / "figures" / f"{name}.csv").write_text("rounds,value\n1,0.5\n")
        record(folder / "sweeps" / "figures" / RECORD, name, digest(folder / "sweeps", FIGURES[name]))
    table = folder / "sweeps" / "figures" / "pfl_table5.csv"  # with published numbers
    FIGURES["pfl_table5"].table(clients_runs(repetitions=1)).to_csv(table, index=False)
    table.with_suffix(".md").write_text("| a |\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(style.STYLE, "savefig.dpi", 40)
        return write_report(folder, None, None, repository=None)[0]
