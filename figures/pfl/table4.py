"""Bhaskar et al. 2025, Table 4: accuracy on CIFAR-10 by how 20 epochs are split into rounds of E local ones.

To expect: SN+Lin stays within 3 points whatever the split, the others fall towards 10 %, which is chance.
"""

import pandas as pd

from figures.pfl import tables

SWEEP = "pfl_splits"
NOTE = "The text of the paper says epsilon 7.52 where its tables say 7.53."


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """One row per published cell, with the accuracy here."""
    return tables.table(runs, "pfl_table4")


def printed(table: pd.DataFrame) -> pd.DataFrame:
    """The table's cells, as text."""
    return tables.printed(table)


def draw(table: pd.DataFrame):
    """The table as a picture."""
    return tables.draw(table, "CIFAR-10, 10 clients, E R = 20 epochs (Bhaskar et al. 2025, Table 4)", NOTE)
