"""Bhaskar et al. 2025, Table 3: accuracy on Fashion-MNIST by how 20 epochs are split into rounds of E local ones.

To expect: as on MNIST, some 10 points lower.
"""

import pandas as pd

from figures.pfl import tables

SWEEP = "pfl_splits"
NOTE = (
    "In the text of the paper SN+CNN falls from 84.26, which is 81.26 in its table, and SN+Lin from 86.01, which is at "
    "epsilon 2.7, to 82.79, which is at 1.2."
)


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """One row per published cell, with the accuracy here."""
    return tables.table(runs, "pfl_table3")


def printed(table: pd.DataFrame) -> pd.DataFrame:
    """The table's cells, as text."""
    return tables.printed(table)


def draw(table: pd.DataFrame):
    """The table as a picture."""
    return tables.draw(table, "Fashion-MNIST, 10 clients, E R = 20 epochs (Bhaskar et al. 2025, Table 3)", NOTE)
