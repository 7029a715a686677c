"""Bellet et al. 2018, Figure 2a: private coordinate descent from a constant start, epsilon 0.5 in 1 to 8 updates.

To expect: few updates add little noise and stay far from the minimum, many the reverse; at T/n = 8 the objective
rises. The value of the constant is not in the paper.
"""

import pandas as pd

from figures.p2p import private

SWEEP = "p2p_private"


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """See `p2p_private.table`."""
    return private.table(runs, "p2p_fig2a", "constant")


def draw(table: pd.DataFrame):
    """Objective, and accuracy."""
    return private.draw(table, "Private coordinate descent from a constant (Bellet et al. 2018, Fig. 2a)")
