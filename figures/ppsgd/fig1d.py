"""Bietti et al. 2022, Figure 1d: test accuracy on digits by writer against rounds, convolutional network.

Of the paper's seven step sizes three have been run, 0.1, 0.5 and 2, and beside them 0.005, 0.02 and 10, which it does
not have: on the three alone most curves with noise would take the smallest, and the smallest alpha would seem far
ahead (column "steps" of the CSV). The panels' noise levels are not in the paper. What the authors' program calls a is
ten times alpha Q; the paper does not say which of the two its legend has. Expected: local learning, whose
representation stays random, far below all; large alpha best where privacy is weak, small alpha where it is strong.
"""

from collections.abc import Sequence

import pandas as pd

from figures.ppsgd import common, drawing, rounds

PANELS = (0.0, 1.0, 3.0)
CURVES = (0.0, 0.1, 1.0, 10.0, float("inf"))
NUM_SAMPLED = 10
STEPS = 7  # published step sizes
GRID, WIDER = "published grid", "with further steps"  # column "steps"


def table(
    runs: pd.DataFrame, panels: Sequence[float], curves: Sequence[float], clip_norm: float | None = None
) -> pd.DataFrame:
    """Test accuracy by noise, the program's a, round, way of tuning, and whether step sizes beyond the published grid
    count ("steps"); local learning stands in every panel."""
    tables = [
        rounds.table(runs, panels, curves, clip_norm, further=further).assign(steps=steps)
        for steps, further in ((GRID, False), (WIDER, True))
    ]
    tried = runs.loc[runs["algorithm"] == common.PUBLISHED]
    number = tried.loc[tried["personalization"] == common.GLOBAL, "step_size"].nunique()
    return pd.concat(tables, ignore_index=True).assign(num_epochs=runs["num_epochs"].max(), steps_run=number)


def draw(table: pd.DataFrame, panels: Sequence[float], curves: Sequence[float]):
    """A column for each noise level, with epsilon below; solid as the paper tuned, dotted on held-out data."""
    return rounds.draw(
        table[table["steps"] == WIDER],
        panels,
        curves,
        handles=drawing.alpha_handles(drawing.looks(curves), ratio=NUM_SAMPLED),
        title="Personalised private SGD, digits by writer, CNN (Bietti et al. 2022, Fig. 1d)",
        notes=[
            f"{table['num_epochs'].iloc[0]:g} passes over the data (paper: 20).",
            "The authors' program has ten times our alpha Q, and the paper may mean that.",
        ],
        grid=f"{table['steps_run'].iloc[0]:g} of {STEPS} published ones that were run, and further ones",
    )


FIGURE = common.figure_of(__doc__, "ppsgd_cnn", PANELS, CURVES, table, draw)
