"""Bietti et al. 2022, Figure 1b, on generated documents of the paper's numbers of users, documents, words and tags.

Shows what the paper's sizes do to the curves of `ppsgd_fig1b`, which has real but fewer documents.
"""

import pandas as pd

from figures.ppsgd import digits, rounds

SWEEP = "ppsgd_tags_made_up"
PANELS = (0.0, 0.2, 1.0)
CURVES = (0.0, 1.0, 10.0, float("inf"))
TUNINGS = digits.TUNINGS


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """Test accuracy by noise, personalisation, round and way of tuning; local learning stands in every panel."""
    return rounds.table(runs, PANELS, CURVES)


def draw(table: pd.DataFrame):
    """Columns are the noise levels, under them epsilon; solid as the paper tuned, dotted on held-out data."""
    return rounds.draw(
        table,
        PANELS,
        CURVES,
        title="Personalised private SGD, generated documents (after Bietti et al. 2022, Fig. 1b)",
        ylabel="top-1 accuracy, test documents of all users",
    )
