"""Bhaskar et al. 2025, Table 2: accuracy on MNIST by how 20 epochs are split into rounds of E local ones.

To expect: (1, 20) is the best split or close to it; with privacy all models but SN+Lin lose tens of points towards
(20, 1); and without, CNN+RL collapses there.
"""

import pandas as pd

from figures.pfl import tables

SWEEP = "pfl_splits"


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """One row per published cell, with the accuracy here."""
    return tables.table(runs, "pfl_table2")


def printed(table: pd.DataFrame) -> pd.DataFrame:
    """The table's cells, as text."""
    return tables.printed(table)


def draw(table: pd.DataFrame):
    """The table as a picture."""
    return tables.draw(table, "MNIST, 10 clients, E R = 20 epochs (Bhaskar et al. 2025, Table 2)")
