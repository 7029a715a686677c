"""Numbers in the prose of README.md and docs that are computed from the committed results.

A number stands between two comments, of which the first says how it is computed, by a function here and its arguments:

    2.93 becomes <!-- = overlap mean -->8.1<!-- . --> in the mean
    a bound of <!-- = value median ppsgd_theory bound/excess_risk .0f -->16<!-- . --> times the risk

`python -m figures docs` computes them again, and a test fails where one is out of date.
"""

import json
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from bench.errors import InputError, unknown_name
from bench.store import part_files
from bench.sweeps.condition import condition
from figures import PAPERS
from figures.shared.runs import AS_CATEGORIES

NUMBER = re.compile(r"(<!-- = ((?:(?!-->).)+?) -->)(.*?)(<!-- \. -->)", re.DOTALL)
PERF = "perf.json"  # in the results folder
PERF_OF_ACCELERATORS = "perf-*.json"
DRAWN = "MNIST"  # the data set whose draws are told
OF_ROWS: Mapping[str, Callable[[pd.Series], float]] = {
    "the": lambda values: _only(values),
    "least": lambda values: values.min(),
    "most": lambda values: values.max(),
    "median": lambda values: values.median(),
    "number": lambda values: float(values.count()),
}


def _table(folder: Path, name: str) -> pd.DataFrame:
    """Return the numbers of a figure.

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


def _runs(folder: Path, sweep: str) -> tuple[int, float]:
    """Return the number of runs of a sweep, and the seconds that they took."""
    return _counted(folder / sweep, tuple(part_files.parts_in(folder / sweep)))


@cache  # pages name a sweep many times
def _counted(folder: Path, parts: tuple[Path, ...]) -> tuple[int, float]:
    """Return the same; the names of its parts, which contain a digest, tell results that have changed since."""
    rows = part_files.read(folder, only=("rounds", "num_rounds", "wall_s"), categories=AS_CATEGORIES)
    rows = rows[rows["rounds"] == rows["num_rounds"]]
    return len(rows), float(rows["wall_s"].sum())


def _sweeps(folder: Path, names: Iterable[str]) -> list[str]:
    """Return the sweeps of papers that have runs, and those that are named themselves."""
    found = []
    for name in names:
        claims = PAPERS[name].claims if name in PAPERS else ()
        figures = PAPERS[name].figures.values() if name in PAPERS else ()
        own = [sweep for item in (*claims, *figures) for sweep in item.sweeps] or [name]
        found += [sweep for sweep in own if part_files.parts_in(folder / sweep)]
    return list(dict.fromkeys(found))


def hours(folder: Path, *names: str) -> str:
    """Return the hours of one worker that the runs of papers or of sweeps took when they were made."""
    return f"{sum(_runs(folder, sweep)[1] for sweep in _sweeps(folder, names)) / 3600:.2g}"


def runs(folder: Path, *names: str) -> str:
    """Return the number of runs of papers or of sweeps."""
    return f"{sum(_runs(folder, sweep)[0] for sweep in _sweeps(folder, names)):,}"


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
    """Return what the published noise called epsilon 1.05 really spends with p features and inputs in [-10, 10]^p
    ("epsilon"), and how many times the published one that is ("times")."""
    table = _table(folder, "p2p_fig2c")
    found = table[(table["series"] == "epsilon 1.05") & (table["x"] == float(p)) & (table["origin"] == "here")]
    spent = float(found["epsilon_true"].iloc[0])
    rounded = float(f"{spent / {'epsilon': 1.0, 'times': 1.05}[what]:.3g}")
    return f"{rounded:,.0f}"


def near_published(folder: Path, epsilon: str, dataset: str = "") -> str:
    """Return how many cells of Tables 2 and 3 are within 2 points of the published accuracy.

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


def crossing(folder: Path, personalization: str) -> str:
    """Return the round of `ppsgd_longer` from which the risk of a personalisation stays below that of global
    learning."""
    table = _table(folder, "ppsgd_longer")
    wide = table[table["tuned_on"] == "risk"].pivot(index="rounds", columns="personalization", values="excess_risk")
    above = wide.index[~(wide[float(personalization)] < wide[float("inf")])]
    return f"{wide.index[wide.index > above.max()].min():,.0f}"


def _only(values: pd.Series) -> float:
    """Return the one value.

    Raises:
        LookupError: where there are several, or none.
    """
    if len(values) != 1:
        raise LookupError(f"{len(values)} rows")
    return float(values.iloc[0])


def _column(table: pd.DataFrame, name: str) -> pd.Series:
    """Return a column, or the ratio of two, "bound/excess_risk"."""
    above, _, below = name.partition("/")
    return table[above] / table[below] if below else table[above]


def _written(value: float, form: str) -> str:
    """Return a number in a format of Python's; percent without their sign."""
    return format(value, form).removesuffix("%")


def value(folder: Path, of_rows: str, figure: str, column: str, form: str, where: str = "") -> str:
    """Return a number of a figure's table.

    Args:
        folder: of a scale.
        of_rows: which of the rows' values, a name in `OF_ROWS`: "the" only one, the "least", ...
        figure: its name.
        column: of its numbers, or the ratio of two, "bound/excess_risk".
        form: as of `format`, ".3f"; ".1%" is a percentage, without its sign.
        where: a condition on the columns that chooses rows; all rows where it is left out.
    """
    table = _table(folder, figure)
    rows = table[condition(where, table)] if where else table
    return _written(OF_ROWS[of_rows](_column(rows, column).dropna()), form)


def apart(
    folder: Path, of_rows: str, figure: str, column: str, form: str, first: str, second: str, by: str = ""
) -> str:
    """Return how far two numbers of a figure's table are apart: those of the rows that meet the first condition minus
    those that meet the second.

    Args:
        folder, of_rows, figure, column, form: as of `value`; the form may begin with "x", for the ratio of the two in
            place of their difference.
        first, second: conditions on the columns.
        by: columns, joined by commas, in which two rows agree that are compared; none where both conditions choose one.
    """
    table, keys = _table(folder, figure), [name for name in by.split(",") if name]
    here, there = (
        _column(rows.set_index(keys) if keys else rows.reset_index(drop=True), column)
        for rows in (table[condition(words, table)] for words in (first, second))
    )
    if not keys and max(len(here), len(there)) > 1:
        raise LookupError("several rows")
    gaps = here / there if form.startswith("x") else here - there
    return _written(OF_ROWS[of_rows](gaps.dropna()), form.removeprefix("x"))


def measurements(folder: Path) -> dict[str, Any]:
    """Return the content of the file of `python -m bench perf --out`, by benchmark.

    Args:
        folder: of a scale, beside which the file is.

    Raises:
        InputError: where it is missing.
    """
    path = folder.parent / PERF
    if not path.is_file():
        raise InputError(f"{path} is missing: run `python -m bench perf --out {path}`")
    return json.loads(path.read_text())


def measured(folder: Path, what: str, form: str, factor: str = "1") -> str:
    """Return a number of `python -m bench perf --out results/perf.json`.

    Args:
        folder: of a scale, beside which the file is.
        what: the name of its line; or "share WORKLOAD, 1 core" for the share of the machine's limit that a workload
            reaches on one core; or "date BENCHMARK", "device BENCHMARK" and "processor BENCHMARK" of its measurement.
        form: as of `value`; empty for words.
        factor: by which the number is multiplied, for another unit.
    """
    found = measurements(folder)
    kind, _, name = what.partition(" ")
    if kind in ("date", "device", "processor") and name in found:
        return found[name][kind]
    if kind == "share":
        workload, _, place = name.rpartition(", ")
        values = [
            record["shares_of_limit"][workload][place]
            for record in found.values()
            if workload in record["shares_of_limit"]
        ]
    else:
        values = [line["value"] for record in found.values() for line in record["lines"] if line["what"] == what]
    return _written(float(factor) * _only(pd.Series(values)), form)


FUNCTIONS: Mapping[str, Callable[..., str]] = {
    "hours": hours,
    "runs": runs,
    "overlap": overlap,
    "spends": spends,
    "near-published": near_published,
    "crossing": crossing,
    "value": value,
    "apart": apart,
    "measured": measured,
}


def number(folder: Path, words: str) -> str:
    """Return a number as its comment names it. `folder`: of the scale whose results are used.

    Raises:
        InputError: for an unknown name or wrong arguments.
    """
    try:
        name, *arguments = shlex.split(words)
    except ValueError:
        raise InputError(f"a page has a number {words!r} whose quotes do not match: correct its comment") from None
    if name not in FUNCTIONS:
        raise unknown_name("number in the prose", name, FUNCTIONS)
    try:
        return FUNCTIONS[name](folder, *arguments)
    except InputError as error:
        raise InputError(f"a page has a number {words!r}: {error}") from None
    except (TypeError, LookupError, ValueError):
        raise InputError(f"a page has a number {words!r} that cannot be computed: correct its comment") from None


def written_anew(text: str, folder: Path) -> str:
    """Return a page with its numbers updated. `folder`: of the scale whose results are used."""
    return NUMBER.sub(lambda match: match[1] + number(folder, match[2]) + match[4], text)


def without_comments(text: str) -> str:
    """Return a text with its numbers and without the comments around them, as a reader sees it."""
    return NUMBER.sub(lambda match: match[3], text)
