"""Gao et al. 2024, Table 2: risk, rounds, gradients for losses that need not be smooth, at the sizes of section 4.

Constants and logarithms are left out and L = D = beta = 1, as in the paper, so only orders of magnitude mean something.
The text that was at hand has lost the formulas; they are rebuilt (`bench.theory.isrl`), "?" where they could not be.
"""

import pandas as pd

from bench.theory import isrl as theory
from figures.isrl import tables

SWEEP = None  # needs no runs


def table(runs: pd.DataFrame | None = None) -> pd.DataFrame:
    """One row per algorithm and epsilon."""
    return tables.evaluate(theory.table_2)


def printed(table: pd.DataFrame) -> pd.DataFrame:
    """The table's cells, as text."""
    return tables.printed(table)


def draw(table: pd.DataFrame):
    """The table as a picture."""
    return tables.draw(table, "Losses that need not be smooth (Gao et al. 2024, Table 2)")
