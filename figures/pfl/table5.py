"""Bhaskar et al. 2025, Table 5: accuracy by number of clients k, E = 1, at the larger epsilon of each data set.

Each client has max(N / k, N / 10) of the N examples. To expect: accuracy grows with k from 10 on and stays below that
of one client, which has all data.
"""

import pandas as pd

from figures.pfl import tables

SWEEP = "pfl_clients"


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """One row per published cell, with the accuracy here."""
    return tables.table(runs, "pfl_table5")


def printed(table: pd.DataFrame) -> pd.DataFrame:
    """The table's cells, as text."""
    return tables.printed(table)


def draw(table: pd.DataFrame):
    """The table as a picture."""
    return tables.draw(table, "Accuracy by number of clients k, 20 rounds of E = 1 (Bhaskar et al. 2025, Table 5)")
