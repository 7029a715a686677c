"""Tables 1 and 2 of Gao et al. 2024: formulas evaluated at the sizes of their experiment."""

import pandas as pd

from bench.analysis import tables
from bench.theory.isrl import EXPERIMENT, Setting

EPSILONS = (0.75, 18.0)  # the ends of the experiment's range


def evaluate(rows_of) -> pd.DataFrame:
    """One row per algorithm and epsilon, from a function of `bench.theory.isrl`."""
    rows = [
        {"epsilon": epsilon} | row._asdict()
        for epsilon in EPSILONS
        for row in rows_of(Setting(epsilon=epsilon, **EXPERIMENT))
    ]
    return pd.DataFrame(rows).assign(**{name: EXPERIMENT[name] for name in ("silos", "records", "features")})


def printed(table: pd.DataFrame) -> pd.DataFrame:
    """Cells: a line per algorithm, risk and rounds as formulas, and numbers at both ends of the range of epsilon.

    Silos stand beside the algorithm where they must be alike.
    """
    keys = ["algorithm", "data", "risk_formula", "rounds_formula"]
    rows = []
    for (algorithm, data, risk, rounds), group in table.groupby(keys, sort=False):
        row = {"algorithm": algorithm + (f" ({data})" if data != "any" else ""), "excess risk": risk}
        numbers = {name: _at_both(group[name]) for name in ("risk", "rounds", "gradients")}
        row |= {"value": numbers["risk"], "rounds": rounds, "number": numbers["rounds"]}
        rows.append(row | {"gradients": numbers["gradients"]})
    return pd.DataFrame(rows)


def _at_both(values: pd.Series) -> str:
    """The numbers at both epsilons, once where they are the same."""
    said = [tables.number(value, ".2g" if value < 10 else ",.0f", "?") for value in values]
    return "; ".join(dict.fromkeys(said))


def draw(table: pd.DataFrame, title: str):
    """The cells as a picture."""
    both = " and ".join(f"{epsilon:g}" for epsilon in EPSILONS)
    said = rf"orders only, $\ell^2 = d \log 1/\delta$; numbers at $\varepsilon$ = {both}; ? = lost"
    return tables.draw(printed(table), f"{title}: {said}")
