"""Table 5 of Bhaskar et al. 2025 as curves: accuracy against the number of clients k, at E = 1.

Expected: accuracy grows with k from 10 on, and one client, which has all data, is above.
"""

import pandas as pd

from bench.analysis import style
from figures.pfl import common, curves, tables
from figures.shared.figure import Figure


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """Return one row per published cell of the table, with the accuracy here."""
    return tables.table(runs, *common.TABLES[3:])


def draw(table: pd.DataFrame):
    """A panel for each data set."""
    names = style.present(table, "dataset", common.DATASETS)
    figure, axes = style.subplots(1, len(names), figsize=(11.5, 4.2))
    for ax, name in zip(axes, names, strict=True):
        rows = table[table["dataset"] == name]
        curves.panel(ax, rows, "num_clients")
        curves.ticks(ax, sorted(rows["num_clients"].unique()), "clients $k$")
        ax.set_title(f"{name}, {common.epsilon_symbol(rows['target_epsilon'].iloc[0])}")
        style.percent(ax.yaxis)
    axes[0].set_ylabel("test accuracy")
    return curves.finish(
        figure,
        table,
        "Accuracy by number of clients, $E$ = 1 (Bhaskar et al. 2025, Table 5)",
        "One client has all data; k clients have max(N / k, N / 10) of the N examples each.",
        curves.gaps(table),
    )


FIGURE = Figure(about=__doc__, sweeps=("pfl_clients",), table=table, draw=draw)
