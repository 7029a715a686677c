"""Joins the edges of settings that were tuned one after another."""

import pandas as pd


def joined(rows: pd.DataFrame, first: str) -> pd.DataFrame:
    """The rows with the texts of column `first` put before those of "edge"; the column `first` is dropped."""
    edges = [", ".join(filter(None, both)) for both in zip(rows[first], rows["edge"], strict=True)]
    return rows.drop(columns=first).assign(edge=edges)
