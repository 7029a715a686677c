"""Bietti et al. 2022, Figure 1c: test accuracy on digits by client against rounds, linear models, three noise levels.

The panels' noise levels are not in the paper: sigma 0, 1 and 5 are shown (epsilon infinite, about 9 and about 1).
To expect: local learning is poor; without noise global is better; with much noise small alpha > 0 is the best
of those that share.
"""

import pandas as pd

from figures.ppsgd import digits, rounds

SWEEP = "ppsgd_digits"
PANELS = (0.0, 1.0, 5.0)
CURVES = (0.0, 0.1, 1.0, 10.0, float("inf"))
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
        title="Personalised private SGD, digits by client, linear (Bietti et al. 2022, Fig. 1c)",
        ylabel="test accuracy, examples of all users",
    )
