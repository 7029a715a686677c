"""Bietti et al. 2022, Figure 2: final test accuracy against epsilon on tags, on digits, and on digits with a network.

One line per alpha over the noise levels, local learning as a horizontal line, and in black the best that
personalisation reaches at an epsilon or less. Expected in all three: small alpha > 0 is the best at small epsilon,
and somewhere in between personalisation beats both local and global learning.
"""

import pandas as pd

from bench.analysis import select, style
from bench.errors import InputError
from figures.ppsgd import common, drawing
from figures.ppsgd import digits as digits
from figures.ppsgd import fig2_digits as one
from figures.shared import edges
from figures.shared.figure import Figure

SWEEPS = ("ppsgd_tags", "ppsgd_digits", "ppsgd_cnn")
TITLES = (
    "tag prediction, linear",
    "digits by client, linear",
    "digits by client, CNN\n($\\alpha Q$ is a tenth of the legend's)",
)
ROWS = {"test": "step size by test accuracy", "validation": "step size by held-out accuracy"}


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """The numbers of `ppsgd_fig2_digits` for each sweep that is there."""
    tables = []
    for sweep in SWEEPS:
        mine = runs[runs["sweep"] == sweep]
        if len(mine):
            tables.append(one.table(mine).assign(sweep=sweep, num_epochs=mine["num_epochs"].max()))
    return pd.concat(tables, ignore_index=True).assign(**select.where_from(runs))


def draw(table: pd.DataFrame):
    """Columns are the data, rows the ways of tuning; the strip at a panel's left has the values without noise."""
    tunings = style.present(table, "tuned_on", digits.TUNINGS)
    if not tunings:
        raise InputError("there is nothing to draw: run the whole sweep, without --where")
    figure, axes = style.subplots(
        len(tunings),
        8,
        figsize=(10.8, 2.9 * len(tunings) + 1.4),
        squeeze=False,
        width_ratios=[1, 12, 2.4, 1, 12, 2.4, 1, 12],  # a gap before the next strip, for its ticks
    )
    for row, tuning in zip(axes, tunings, strict=True):
        for ax in row[2::3]:
            ax.remove()
        for sweep, title, silent, ax in zip(SWEEPS, TITLES, row[::3], row[1::3], strict=True):
            rows = table[(table["sweep"] == sweep) & (table["tuned_on"] == tuning)]
            one.panel(silent, ax, rows)
            ax.set_title(title)
            ax.set_xlabel(r"$\varepsilon$ (more private to the right)")
            silent.set_xlabel("")
            if len(rows):
                _same_heights(silent, ax, rows)
        row[0].set_ylabel(f"final test accuracy\n{ROWS[tuning]}")
    handles = drawing.personalization_handles(style.present(table, "personalization", one.CURVES))
    style.head(figure, "Accuracy against privacy (Bietti et al. 2022, Fig. 2)", handles, one.further_handles(table))
    figure.subplots_adjust(wspace=0.2)
    tasks = [common.stand_in(table.assign(task=task)) for task in table["task"].iloc[0].split(", ")]
    counts = table.groupby("sweep", sort=False)["repetitions"].max().map("{:g}".format)
    passes = table.groupby("sweep", sort=False)["num_epochs"].max().map("{:g}".format)
    style.footer(
        figure,
        table,
        *dict.fromkeys(tasks),
        "The strips at ∞ are without noise.",
        f"Passes over the data in the columns with runs: {', '.join(passes)}; the paper's: 1, 20, 20.",
        one.alone_note(table),
        digits.EPSILON_NOTE,
        "The black curve is the best test accuracy over alpha and sigma of noisy runs, so it is optimistic in all "
        f"panels. Values far below local learning are cut off. {digits.held_out_note(table)} "
        f"{edges.note(table, 'step sizes')}".strip(),
        unequal=f"({', '.join(counts)} in the columns)",
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
