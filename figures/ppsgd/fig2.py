"""Bietti et al. 2022, Figure 2: final test accuracy against epsilon on tags, on digits, and on digits with a network.

One line per alpha over the noise levels, local learning as a horizontal line, and in black the best that
personalisation reaches at an epsilon or less. Generated documents in the paper's numbers are beside the real ones,
which are fewer. The network has three of the paper's seven step sizes and further ones (column "steps" of the CSV). The
step size is chosen by test accuracy, as in the paper; the CSV also has the choice on held-out data. Expected: small
alpha > 0 is the best at small epsilon, and somewhere in between personalisation beats both local and global learning.
"""

import pandas as pd

from bench.analysis import select, style
from figures.ppsgd import common, drawing
from figures.ppsgd import fig2_digits as one
from figures.ppsgd.fig1d import GRID, NUM_SAMPLED, WIDER
from figures.shared.figure import Figure
from figures.shared.margins import need

NETWORK = "ppsgd_cnn"
SWEEPS = ("ppsgd_tags", "ppsgd_tags_made_up", "ppsgd_digits", NETWORK)
TITLES = ("tag prediction, linear", "generated documents, linear", "digits by writer, linear", "digits by writer, CNN")
CURVES = (0.0, 0.01, *one.CURVES[1:])


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
    """A panel for each data set; values without noise are at the left end."""
    tunings = style.present(table, "tuned_on", common.TUNINGS)
    need(tunings, "there is nothing to draw: run the whole sweep, without --where")
    whole, network = table, table["sweep"] == NETWORK
    drawn = (table["steps"] == WIDER) | ~network
    ratio = table["personalization"].where(~network, table["personalization"] / NUM_SAMPLED)
    table = table.assign(personalization=ratio)[drawn & (table["tuned_on"] == tunings[0])]
    figure, axes = style.subplots(1, len(SWEEPS), figsize=(13.8, 4.2))
    for sweep, title, ax in zip(SWEEPS, TITLES, axes, strict=True):
        rows = table[table["sweep"] == sweep]
        one.panel(ax, rows, CURVES)
        ax.set_title(title)
        if len(rows):
            _set_height(ax, rows)
    axes[0].set_ylabel("final test accuracy")
    counts = whole.groupby("sweep", sort=False)["repetitions"].max().map("{:g}".format)
    looks = one.looks(style.present(table, "personalization", CURVES))
    return style.finish(
        figure,
        table,
        f"Accuracy against privacy, {common.TUNING_TITLES[tunings[0]]} (Bietti et al. 2022, Fig. 2)",
        [drawing.alpha_handles(looks), one.further_handles(table)],
        common.EPSILON_NOTE,
        differs=f"{common.replaced(table)} {one.BLACK}".strip(),
        unequal=f"({', '.join(counts)} in the columns)",
    )


def _set_height(ax, rows: pd.DataFrame) -> None:
    """Set the vertical axis, from as far below local learning as the best is above it."""
    values = rows["test_accuracy"].dropna()
    local = rows.loc[rows["personalization"] == common.LOCAL, "test_accuracy"].min()
    top, bottom = values.max(), values.min()
    if local > bottom:
        bottom = max(bottom, 2 * local - top)
    margin = 0.06 * (top - bottom) + 1e-3
    ax.set_ylim(bottom - margin, top + margin)
    style.percent(ax.yaxis)


FIGURE = Figure(__doc__, SWEEPS, table, draw)
