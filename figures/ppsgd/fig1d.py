"""Bietti et al. 2022, Figure 1d: test accuracy on digits by client against rounds, convolutional network.

The panels' noise levels are not in the paper, nor whether its legend is the program's a or the true ratio a / Q: both
stand in the legend here. Expected: local learning, whose representation stays random, far below all; large alpha best
where privacy is weak, small alpha where it is strong.
"""

import pandas as pd
from matplotlib.lines import Line2D

from figures.ppsgd import common, digits, drawing, rounds

PANELS = (0.0, 1.0, 3.0)
CURVES = (0.0, 0.1, 1.0, 10.0, float("inf"))
NUM_SAMPLED = 10


def table(runs: pd.DataFrame, panels=PANELS, curves=CURVES, clip_norm: float | None = None) -> pd.DataFrame:
    """Test accuracy by noise, the program's a, round and way of tuning; local learning stands in every panel."""
    return rounds.table(runs, panels, curves, clip_norm).assign(num_epochs=runs["num_epochs"].max())


def label(a: float) -> str:
    """The ratio of the steps, and in brackets what the program calls a."""
    if a in (common.LOCAL, common.GLOBAL):
        return drawing.personalization_label(a)
    return rf"$\alpha Q = {a / NUM_SAMPLED:g}$ ($a = {a:g}$)"


def handles(curves) -> list[Line2D]:
    """Legend entries in both readings."""
    return [Line2D([], [], label=label(a), **look) for a, look in drawing.looks(curves).items()]


def draw(table: pd.DataFrame, panels=PANELS, curves=CURVES):
    """Columns are the noise levels, under them epsilon; solid as the paper tuned, dotted on held-out data."""
    return rounds.draw(
        table,
        panels,
        curves,
        handles=handles(curves),
        title="Personalised private SGD, digits by client, CNN (Bietti et al. 2022, Fig. 1d)",
        ylabel="test accuracy, examples of all users",
        notes=[
            f"Passes over the data: {table['num_epochs'].iloc[0]:g}; the paper's: 20.",
            "alpha Q is the ratio of the step sizes. The authors' program multiplies the local step by Q = 10 and "
            "calls a = 10 alpha Q (in brackets) the ratio. The paper's legend may mean either.",
        ],
    )


FIGURE = common.figure_of(__doc__, sweep="ppsgd_cnn", table=table, draw=draw, tunings=digits.TUNINGS)
