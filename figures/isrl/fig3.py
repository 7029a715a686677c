"""Gao et al. 2024, Figure 3: test error against epsilon on MNIST odd/even, 18 random silos of 25 answer in a round.

Localized MB-SGD against one-pass MB-SGD, and multi-pass MB-SGD, which is not in the paper, to tell the gain of phases
from the gain of several passes. To expect: localized below one-pass from epsilon 1.5 on, multi-pass below both.
"""

import pandas as pd

from figures.isrl import errors

SWEEP = "isrl_odd_even"
ANSWERING = 18


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """Test error by curve, calibration and target epsilon, with what was chosen."""
    return errors.table(runs, ANSWERING)


def draw(table: pd.DataFrame):
    """Left as published, right at equal exact epsilon."""
    return errors.draw(table, "MNIST odd/even in 25 silos, 18 of 25 silos answer (Gao et al. 2024, Fig. 3)")
