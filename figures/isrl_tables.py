"""Tables 1 and 2 of Gao et al. 2024: formulas evaluated at the sizes of their experiment."""

import pandas as pd

from bench.theory.isrl import EXPERIMENT, Setting
from figures import tables

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
    """Cells: a line per algorithm, risk and rounds as formulas, and numbers at both ends of the range of epsilon."""
    wide = table.set_index(["algorithm", "data", "risk_formula", "rounds_formula", "epsilon"])
    wide = wide[["risk", "rounds", "gradients"]].unstack("epsilon", sort=False)
    cells = wide.map(lambda value: tables.number(value, ".2g" if value < 10 else ",.0f", "?"))
    cells.columns = [f"{name}, ε = {epsilon:g}" for name, epsilon in cells.columns]
    names = {"algorithm": "algorithm", "data": "silos", "risk_formula": "excess risk", "rounds_formula": "rounds"}
    return cells.reset_index().rename(columns=names)


def draw(table: pd.DataFrame, title: str):
    """The cells as a picture."""
    return tables.draw(printed(table), title)
