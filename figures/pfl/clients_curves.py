"""Table 5 of Bhaskar et al. 2025 as curves: accuracy against the number of clients k, at E = 1.

One client, which has all data, is shown twice, as in the table: with the settings of the other cells, and (open
markers, dashed) with those of the authors' program for a single node, since the paper does not give its settings.
Expected: accuracy grows with k from 10 on, and one client is above.
"""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from bench.analysis import style
from figures.pfl import common, curves, tables
from figures.shared.figure import Figure

SINGLE: style.Look = {"linestyle": (0, (4, 2)), "linewidth": 1.2, "markerfacecolor": "white"}


def single_node(ax: Axes, single: pd.DataFrame, others: pd.DataFrame) -> None:
    """One client with the settings of the single-node program, with its interval, and a line to ten clients."""
    ten = others[others["num_clients"] == 10]
    for name in style.present(single, "algorithm", curves.LOOKS):
        look, alone = curves.LOOKS[name], single[single["algorithm"] == name]
        line = pd.concat([alone, ten[ten["algorithm"] == name]])
        ax.plot(line["num_clients"], line["test_accuracy"], markevery=[0], **(look | SINGLE))
        ax.vlines(alone["num_clients"], alone["low"], alone["high"], color=look["color"], alpha=0.5, zorder=1.8)


def single_note(single: pd.DataFrame) -> str:
    """Return with which settings one client was trained that has open markers."""
    row = single.iloc[0]
    return (
        f"Open markers: one client with clipping norm {row['clip_norm']:g}, step size {row['step_size']:g}, momentum "
        f"{row['momentum']:g}."
    )


def draw(table: pd.DataFrame):
    """A panel for each data set."""
    by_program = table["program"] == tables.BY_PROGRAM
    single, others = table[by_program & (table["repetitions"] > 0)], table[~by_program]
    names = style.present(table, "dataset", common.DATASETS)
    figure, axes = style.subplots(1, len(names), figsize=(11.5, 4.2))
    for ax, name in zip(axes, names, strict=True):
        rows = others[others["dataset"] == name]
        curves.panel(ax, rows, "num_clients")
        single_node(ax, single[single["dataset"] == name], rows)
        curves.ticks(ax, sorted(rows["num_clients"].unique()), "clients $k$")
        ax.set_title(f"{name}, {common.epsilon_symbol(rows['target_epsilon'].iloc[0])}")
        style.percent(ax.yaxis)
    axes[0].set_ylabel("test accuracy")
    open_markers = Line2D([], [], label="one client, single-node program", marker="o", color="#444444", **SINGLE)
    return curves.finish(
        figure,
        others,
        "Accuracy by number of clients, $E$ = 1 (Bhaskar et al. 2025, Table 5)",
        "One client has all data; k clients have max(N / k, N / 10) of the N examples each.",
        single_note(single) if len(single) else "",
        curves.gaps(others),
        further=[open_markers] if len(single) else [],
    )


FIGURE = Figure(about=__doc__, sweeps=tables.TABLE_5.sweeps, table=tables.table_by_clients, draw=draw)
