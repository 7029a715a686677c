"""Bietti et al. 2022, Figure 1b: top-1 accuracy of tag prediction against rounds, three noise levels.

The panels' noise levels are not in the paper: sigma 0, 0.5 and 2 are shown. To expect: without noise an intermediate
alpha is the best; with noise large alpha degrades, and small alpha is the best of those that share.
"""

import pandas as pd

from figures.ppsgd import digits, rounds

SWEEP = "ppsgd_tags"
PANELS = (0.0, 0.5, 2.0)
CURVES = (0.0, 0.1, 1.0, 10.0, 100.0, float("inf"))
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
        title="Personalised private SGD, tag prediction, linear (Bietti et al. 2022, Fig. 1b)",
        ylabel="top-1 accuracy, test documents of all users",
    )
