"""Why one client misses its column of Table 5 of Bhaskar et al. 2025: accuracy by batch size and by settings.

The other cells of the table agree with batches of 64 (at the left end). One client has ten times the examples of the
others, and so takes ten times the steps an epoch, each with the same noise relative to a single example. The upper
panels have the settings of the other cells, the lower panels those of the authors' program for a single node, whose
noise moves the model less.
"""

import pandas as pd

from bench.analysis import style
from figures.pfl import common, curves
from figures.shared.figure import Figure
from figures.shared.runs import ended

RECIPE = ["clip_norm", "step_size", "momentum"]


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """Accuracy by data set, model, settings and batch size, and the published accuracy of the cell."""
    rows = ended(runs)
    cells = common.published_tables("pfl_table5")
    out = common.averaged(rows, "batch_size", *RECIPE).merge(cells, on=common.CELL, how="left")
    return out.assign(**common.facts(rows))


def draw(table: pd.DataFrame):
    """A row of panels for the settings of each program, the larger clipping norm first; a column for each data set."""
    table = table[table.groupby("dataset")["batch_size"].transform("nunique") > 1]  # others are in Table 5
    names = style.present(table, "dataset", common.DATASETS)
    table = table.sort_values(RECIPE, ascending=False, kind="stable")
    words = "$C$ = {:g}, step {:g}, momentum {:g}"
    table = table.assign(settings=[words.format(*recipe) for recipe in table[RECIPE].to_numpy()])
    recipes, sizes = list(table["settings"].unique()), sorted(table["batch_size"].unique())
    size = (4.6 * len(names) + 0.9, 3.4 * len(recipes) + 1.0)
    figure, axes = style.subplots(len(recipes), len(names), figsize=size, squeeze=False, sharey="col")
    for ax, rows, (settings, name) in style.panels(axes, table, settings=recipes, dataset=names):
        curves.behind(ax, rows[rows["batch_size"] == sizes[0]], "batch_size", linestyle="", markersize=9)
        curves.ours(ax, rows, "batch_size")
        style.ticks(ax, sizes)
        ax.set_xlabel("expected batch size $L$")
        if len(rows):
            ax.set_title(f"{name}, {common.epsilon_symbol(rows['target_epsilon'].iloc[0])}\n{settings}")
        ax.set_xlim(sizes[0] / 1.2, sizes[-1] * 1.2)
        style.percent(ax.yaxis)
    for row in axes:
        row[0].set_ylabel("test accuracy")
    return curves.finish(
        figure,
        table,
        "One client with all data, by batch size and settings (Bhaskar et al. 2025, Table 5, $k$ = 1)",
        differs=f"The paper does not say how one client was trained: its cells stand at the batches of {sizes[0]:g} of "
        "the others.",
    )


FIGURE = Figure(__doc__, ("pfl_one_client",), table, draw)
