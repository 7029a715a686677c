"""Table 5 of Bhaskar et al. 2025 as curves: accuracy against the number of clients k, at E = 1.

One client, which has all data, stands apart and is shown twice, as in the table: with the settings of the other cells,
and (open markers) with those of the authors' program for a single node, since the paper does not give its settings.
Expected: accuracy grows with k from 10 on, and one client is above.
"""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from bench.analysis import style
from figures.pfl import common, curves, tables
from figures.shared.figure import Figure

SINGLE: style.Look = {"linestyle": "", "markerfacecolor": "white"}


def one_client(ax: Axes, alone: pd.DataFrame, **change) -> None:
    """One client, with its interval: it has all data and other settings, so no line leads to the others."""
    for name in style.present(alone, "algorithm", curves.LOOKS):
        look, rows = curves.LOOKS[name], alone[alone["algorithm"] == name]
        unjoined: style.Look = look | {"linestyle": ""} | change
        ax.plot(rows["num_clients"], rows["test_accuracy"], **unjoined)
        ax.vlines(rows["num_clients"], rows["low"], rows["high"], color=look["color"], alpha=0.5, zorder=1.8)


def single_note(single: pd.DataFrame) -> str:
    """Return a sentence on the settings of the one client that has open markers."""
    row = single.iloc[0]
    return (
        f"The settings of one client are ours; open markers: clipping norm {row['clip_norm']:g}, step size "
        f"{row['step_size']:g}, momentum {row['momentum']:g}, as in the authors' program for a single node."
    )


def draw(table: pd.DataFrame):
    """A panel for each data set."""
    by_program = table["program"] == tables.BY_PROGRAM
    single, others = table[by_program & (table["repetitions"] > 0)], table[~by_program]
    names = style.present(table, "dataset", common.DATASETS)
    figure, axes = style.subplots(1, len(names), figsize=(11.5, 4.2), squeeze=False)
    for ax, rows, (name,) in style.panels(axes, others, dataset=names):
        alone = rows[rows["num_clients"] == 1]
        curves.panel(ax, rows[rows["num_clients"] > 1], "num_clients")
        curves.behind(ax, alone, "num_clients", linestyle="")
        one_client(ax, alone)
        one_client(ax, single[single["dataset"] == name], **SINGLE)
        style.ticks(ax, sorted(rows["num_clients"].unique()))
        ax.set_title(f"{name}, {common.epsilon_symbol(rows['target_epsilon'].iloc[0])}")
        style.percent(ax.yaxis)
    style.label(axes, "clients $k$", "test accuracy")
    open_markers = Line2D([], [], label="one client, single-node program", marker="o", color="#444444", **SINGLE)
    return curves.finish(
        figure,
        others,
        "Accuracy by number of clients, $E$ = 1 (Bhaskar et al. 2025, Table 5)",
        "One client has all data; k clients have max(N / k, N / 10) of the N examples each.",
        curves.gaps(others),
        differs=single_note(single) if len(single) else "",
        further=[open_markers] if len(single) else [],
    )


FIGURE = Figure(__doc__, tables.TABLE_5.sweeps, tables.table_by_clients, draw)
