"""Tables 1 and 2 of Gao et al. 2024: formulas evaluated at the sizes of their experiment."""

from collections.abc import Callable

import pandas as pd

from bench.analysis import tables
from bench.papers.isrl import theory
from bench.papers.isrl.theory import EXPERIMENT, Setting
from figures.shared.figure import Figure

EPSILONS = (0.75, 18.0)  # the ends of the range in the experiment
LETTERS = {"N": "silos", "n": "records", "d": "features"}
REBUILT = "rebuilt here from the sentences of the paper, not its printed formulas"


def evaluate(rows_of: Callable[[Setting], list]) -> pd.DataFrame:
    """Return one row per algorithm and epsilon, from a function of `bench.papers.isrl.theory`."""
    rows = [
        {"epsilon": epsilon} | row._asdict()
        for epsilon in EPSILONS
        for row in rows_of(Setting(epsilon=epsilon, **EXPERIMENT))
    ]
    sizes = {name: EXPERIMENT[name] for name in LETTERS.values()}
    return pd.DataFrame(rows).assign(formulas=REBUILT, **sizes)


def printed(table: pd.DataFrame) -> pd.DataFrame:
    """Cells: one row per algorithm, with risk and rounds as formulas, and numbers at both ends of the range of epsilon.

    The algorithm is followed by the condition on the silos' data where there is one.
    """
    keys = ["algorithm", "data", "risk_formula", "rounds_formula"]
    at = ", ".join(f"{letter} = {EXPERIMENT[name]:g}" for letter, name in LETTERS.items())
    value = f"value at {at}, epsilon = {' and '.join(f'{epsilon:g}' for epsilon in EPSILONS)} (? = not rebuilt)"
    rows = []
    for (algorithm, data, risk, rounds), group in table.groupby(keys, sort=False):
        row = {"algorithm": f"{algorithm} ({data})" if data != "any" else algorithm, "excess risk (rebuilt)": risk}
        numbers = {name: _numbers_at_both(group[name]) for name in ("risk", "rounds", "gradients")}
        row |= {value: numbers["risk"], "rounds (rebuilt)": rounds, "number": numbers["rounds"]}
        rows.append(row | {"gradients (rebuilt)": numbers["gradients"]})
    return pd.DataFrame(rows)


def _numbers_at_both(values: pd.Series) -> str:
    """Return the numbers at both epsilons in words, one number where they are equal."""
    texts = [
        tables.number(value if value < 1000 else float(f"{value:.2g}"), ".2g" if value < 10 else ",.0f", "?")
        for value in values
    ]
    return "; ".join(dict.fromkeys(texts))


def draw(table: pd.DataFrame, title: str):
    """The cells as a picture."""
    both = " and ".join(f"{epsilon:g}" for epsilon in EPSILONS)
    sizes = f"$N$ = {EXPERIMENT['silos']:g}, $n$ = {EXPERIMENT['records']:g}, $d$ = {EXPERIMENT['features']:g}"
    at = f"at $\\varepsilon$ = {both}"
    names = {"value": f"risk {at}", "number": f"rounds {at}"}  # the line below the table says at which sizes
    cells = printed(table).rename(columns=lambda name: names.get(name.split(" at ")[0], name))
    figure = tables.draw(cells, title)
    figure.notes = (
        f"Orders only, $\\ell^2 = d \\log 1/\\delta$; numbers at {sizes}, one where both are equal. "
        f"Formulas: {REBUILT}; ?: could not be rebuilt."
    )
    figure.text(0.01, -0.01, figure.notes, fontsize=7.5, color="#444444", va="top")
    return figure


def figure_of(about: str, rows_of: Callable[[Setting], list], title: str) -> Figure:
    """Return the table of formulas from a function of `bench.papers.isrl.theory`, which needs no runs."""
    return Figure(about, (), lambda runs: evaluate(rows_of), lambda numbers: draw(numbers, title), printed=printed)


ABOUT = """\
Gao et al. 2024, Table {}: risk, rounds, gradients for {}, at the sizes of section 4.

Constants and logarithms are left out and L = D = beta = 1, as in the paper, so only orders of magnitude are meaningful.
The formulas are lost in the available text of the paper. They were reconstructed (`bench.papers.isrl.theory`); "?"
marks those that could not be.
"""
TABLE_1 = figure_of(ABOUT.format(1, "smooth losses"), theory.table_1, "Smooth losses (Gao et al. 2024, Table 1)")
TABLE_2 = figure_of(
    ABOUT.format(2, "losses that need not be smooth"),
    theory.table_2,
    "Losses that need not be smooth (Gao et al. 2024, Table 2)",
)
