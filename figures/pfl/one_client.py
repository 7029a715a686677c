"""Why one client misses its column of Table 5 of Bhaskar et al. 2025: accuracy against the batch size.

The other cells of the table agree with batches of 64 (at the left end). One client has ten times the examples of the
others, and so takes ten times the steps an epoch, each with the same noise relative to a single example. Expected: a
maximum at larger batches, and the published accuracy, in grey, between.
"""

import pandas as pd

from bench.analysis import style
from figures.pfl import common, curves
from figures.shared.figure import Figure


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """Accuracy by data set and batch size, and the published accuracy of the cell."""
    rows = runs[runs["rounds"] == runs["num_rounds"]]
    cells = common.published_tables("pfl_table5")
    out = common.averaged(rows, "batch_size").merge(cells, on=common.CELL, how="left")
    return out.assign(**common.facts(rows))


def draw(table: pd.DataFrame):
    """A panel for each data set."""
    names = style.present(table, "dataset", common.DATASETS)
    figure, axes = style.subplots(1, len(names), figsize=(4.6 * len(names) + 0.9, 4.2), squeeze=False)
    for ax, name in zip(axes[0], names, strict=True):
        rows = table[table["dataset"] == name]
        curves.panel(ax, rows, "batch_size")
        curves.ticks(ax, sorted(rows["batch_size"].unique()), "expected batch size $L$")
        ax.set_title(f"{name}, {common.epsilon_symbol(rows['target_epsilon'].iloc[0])}")
        style.percent(ax.yaxis)
    axes[0, 0].set_ylabel("test accuracy")
    return curves.finish(
        figure,
        table,
        "One client with all data, by batch size (Bhaskar et al. 2025, Table 5, $k$ = 1)",
        "Horizontal line: the published cell, said to use the same settings as the others, with batches of 64.",
    )


FIGURE = Figure(about=__doc__, sweeps=("pfl_one_client",), table=table, draw=draw)
