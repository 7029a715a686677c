"""Bietti et al. 2022, Figure 2: final test accuracy against epsilon on tags, on digits, and on digits with a network.

One line per alpha over the noise levels, local learning as a horizontal line, and in black the best that
personalisation reaches at an epsilon or less. Generated documents in the paper's numbers are beside the real ones,
which are fewer. The network has three of the paper's seven step sizes and further ones (column "steps" of the CSV). The
step size is chosen by test accuracy, as in the paper; the CSV also has the choice on held-out data. Expected: small
alpha > 0 is the best at small epsilon, and somewhere in between personalisation beats both local and global learning.
"""

import pandas as pd

from bench.analysis import select, style
from bench.errors import InputError
from figures.ppsgd import common
from figures.ppsgd import digits as digits
from figures.ppsgd import fig2_digits as one
from figures.ppsgd.fig1d import GRID, WIDER
from figures.shared.figure import Figure

NETWORK = "ppsgd_cnn"
SWEEPS = ("ppsgd_tags", "ppsgd_tags_made_up", "ppsgd_digits", NETWORK)
TITLES = (
    "tag prediction, linear",
    "generated documents, linear",
    "digits by client, linear",
    "digits by client, CNN\n($\\alpha Q$ is a tenth of the legend's)",
)


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the numbers of `ppsgd_fig2_digits` for each sweep that is there; those of the network also with step sizes
    beyond the published grid ("steps")."""
    tables = []
    for sweep in SWEEPS:
        mine = runs[runs["sweep"] == sweep]
        for steps in (GRID, WIDER) if sweep == NETWORK else (GRID,):
            if len(mine):
                numbers = one.table(mine, further=steps == WIDER)
                tables.append(numbers.assign(sweep=sweep, steps=steps, num_epochs=mine["num_epochs"].max()))
    return pd.concat(tables, ignore_index=True).assign(**select.where_from(runs))


def draw(table: pd.DataFrame):
    """Columns are the data; the strip at a panel's left has the values without noise."""
    tunings = style.present(table, "tuned_on", digits.TUNINGS)
    if not tunings:
        raise InputError("there is nothing to draw: run the whole sweep, without --where")
    whole = table
    drawn = (table["steps"] == WIDER) | (table["sweep"] != NETWORK)
    table = table[drawn & (table["tuned_on"] == tunings[0])]
    figure, axes = style.subplots(
        1,
        3 * len(SWEEPS) - 1,
        figsize=(13.8, 4.2),
        width_ratios=[1, 12, 2.6] * (len(SWEEPS) - 1) + [1, 12],  # a gap before the next strip, for its ticks
    )
    for ax in axes[2::3]:
        ax.remove()
    for sweep, title, silent, ax in zip(SWEEPS, TITLES, axes[::3], axes[1::3], strict=True):
        rows = table[table["sweep"] == sweep]
        one.panel(silent, ax, rows)
        ax.set_title(title, fontsize=10)
        ax.set_xlabel(r"$\varepsilon$ (more private to the right)")
        silent.set_xlabel("")
        if len(rows):
            _same_heights(silent, ax, rows)
    axes[0].set_ylabel("final test accuracy")
    style.head(
        figure,
        f"Accuracy against privacy, {digits.TUNING_TITLES[tunings[0]]} (Bietti et al. 2022, Fig. 2)",
        one.handles(style.present(table, "personalization", one.CURVES)),
        one.further_handles(table),
    )
    figure.subplots_adjust(wspace=0.2)
    counts = whole.groupby("sweep", sort=False)["repetitions"].max().map("{:g}".format)
    style.footer(
        figure,
        table,
        common.replaced(table),
        one.BLACK,
        unequal=f"({', '.join(counts)} in the columns)",
        running=True,
    )
    return figure


def _same_heights(silent, ax, rows: pd.DataFrame) -> None:
    """One vertical axis for strip and panel, from as far below local learning as the best is above it."""
    values = rows["test_accuracy"].dropna()
    local = rows.loc[rows["personalization"] == common.LOCAL, "test_accuracy"].min()
    top, bottom = values.max(), values.min()
    if local > bottom:
        bottom = max(bottom, 2 * local - top)
    margin = 0.06 * (top - bottom) + 1e-3
    for axis in (silent, ax):
        axis.set_ylim(bottom - margin, top + margin)
        style.percent(axis.yaxis)
    ax.tick_params(labelleft=False)


FIGURE = Figure(about=__doc__, sweeps=SWEEPS, table=table, draw=draw, tunings=digits.TUNINGS)
