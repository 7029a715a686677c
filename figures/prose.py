"""Numbers in the prose of README.md and docs that are computed from the committed results.

A number stands between two comments, of which the first says how it is computed, by a function here and its arguments:

    2.93 becomes <!-- = overlap mean -->8.1<!-- . --> in the mean

`python -m figures docs` computes them again, and a test fails where one is out of date.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd

from bench.errors import InputError, unknown_name
from bench.store import part_files

NUMBER = re.compile(r"(<!-- = ([^>]+?) -->)(.*?)(<!-- \. -->)", re.DOTALL)
DRAWN = "MNIST"  # the data set whose draws are told


def _table(folder: Path, name: str) -> pd.DataFrame:
    """The numbers of a figure.

    Args:
        folder: of a scale.
        name: of the figure.

    Raises:
        InputError: where it was not drawn.
    """
    path = folder / "figures" / f"{name}.csv"
    if not path.is_file():
        raise InputError(f"{path} is missing: run `python -m figures {name}`")
    return pd.read_csv(path)


def _runs(folder: Path, sweep: str) -> pd.DataFrame:
    """The runs of a sweep, a row each, with the seconds that they took."""
    rows = part_files.read(folder / sweep, only=("rounds", "num_rounds", "wall_s"))
    return rows[rows["rounds"] == rows["num_rounds"]]


def hours(folder: Path, *sweeps: str) -> str:
    """The hours of one worker that the runs of sweeps took when they were made."""
    return f"{sum(_runs(folder, sweep)['wall_s'].sum() for sweep in sweeps) / 3600:.2g}"


def overlap(folder: Path, which: str) -> str:
    """Epsilon of an example at k = 10 on MNIST: that of the "average" one, or of the one that the most clients have in
    the "mean" over draws and in the "most" costly of them."""
    table = _table(folder, "pfl_overlap")
    table = table[(table["dataset"] == DRAWN) & (table["num_clients"] == 10)].set_index("accounted")
    cell = {
        "average": ("epsilon_average", "mean"),
        "mean": ("epsilon_worst", "mean"),
        "most": ("epsilon_worst", "largest"),
    }
    return f"{table.loc[cell[which]]:.1f}"


def spends(folder: Path, what: str, p: str) -> str:
    """What the published noise called epsilon 1.05 really spends with p features and inputs in [-10, 10]^p ("epsilon"),
    and how many times the published one that is ("times")."""
    table = _table(folder, "p2p_fig2c")
    found = table[(table["series"] == "epsilon 1.05") & (table["x"] == float(p)) & (table["origin"] == "here")]
    spent = float(found["epsilon_true"].iloc[0])
    rounded = float(f"{spent / {'epsilon': 1.0, 'times': 1.05}[what]:.3g}")
    return f"{rounded:,.0f}"


def near_published(folder: Path, epsilon: str, dataset: str = "") -> str:
    """How many cells of Tables 2 and 3 are within 2 points of the published accuracy.

    Args:
        folder: of a scale.
        epsilon: "none", "large" or "small".
        dataset: of one table; both where it is left out.
    """
    tables = pd.concat([_table(folder, name) for name in ("pfl_table2", "pfl_table3")])
    table = tables[tables["dataset"] == dataset] if dataset else tables
    small = table["target_epsilon"] == 1.2
    free = table["target_epsilon"] == float("inf")
    cells = table[{"none": free, "large": ~small & ~free, "small": small}[epsilon]]
    whole = (cells["difference"].abs().round(4) <= 0.02) & ~(cells["diverged"] > 0)
    return f"{int(whole.sum())}"


FUNCTIONS: Mapping[str, Callable[..., str]] = {
    "hours": hours,
    "overlap": overlap,
    "spends": spends,
    "near-published": near_published,
}


def number(folder: Path, words: str) -> str:
    """A number as its comment names it. `folder`: of the scale whose results are used.

    Raises:
        InputError: for an unknown name or wrong arguments.
    """
    name, *arguments = words.split()
    if name not in FUNCTIONS:
        raise unknown_name("number in the prose", name, FUNCTIONS)
    try:
        return FUNCTIONS[name](folder, *arguments)
    except (TypeError, LookupError, ValueError):
        raise InputError(f"a page has a number {words!r} that cannot be computed: correct its comment") from None


def written_anew(text: str, folder: Path) -> str:
    """A page with its numbers updated. `folder`: of the scale whose results are used."""
    return NUMBER.sub(lambda match: match[1] + number(folder, match[2]) + match[4], text)


def without_comments(text: str) -> str:
    """A text with its numbers and without the comments around them, as a reader sees it."""
    return NUMBER.sub(lambda match: match[3], text)
