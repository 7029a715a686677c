"""Networks on the pixels of MNIST brought to [-1, 1], against Table 2 of Bhaskar et al. 2025.

The authors' program normalises MNIST by its own mean and deviation, and so does `pfl_splits_curves`; pixels in [-1, 1],
as the program has them for Fashion-MNIST, explain the published accuracies if these curves match the pale ones.
"""

import pandas as pd

from bench.analysis import style
from figures.pfl import common, curves, tables
from figures.shared.figure import Figure


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """Return one row per cell of Table 2 whose model is a network on pixels, with the accuracy here."""
    cells = tables.table(runs, "pfl_table2")
    return cells[cells["algorithm"].isin(runs["algorithm"])].reset_index(drop=True)


def draw(table: pd.DataFrame):
    """A panel for each epsilon."""
    epsilons = sorted(table["target_epsilon"].unique(), reverse=True)
    figure, axes = style.subplots(1, len(epsilons), figsize=(11.5, 4.2), sharey=True, squeeze=False)
    for ax, panel, (epsilon,) in style.panels(axes, table, target_epsilon=epsilons):
        curves.panel(ax, panel, "num_epochs")
        style.ticks(ax, sorted(table["num_epochs"].unique()))
        ax.set_title(f"{table['dataset'].iloc[0]}, {common.epsilon_symbol(epsilon)}")
        style.percent(ax.yaxis)
    style.label(axes, "local epochs of a round $E$", "test accuracy")
    return curves.finish(
        figure,
        table,
        "Accuracy with pixels in [-1, 1] (Bhaskar et al. 2025, Table 2)",
        curves.gaps(table),
        differs="Elsewhere pixels have mean 0 and deviation 1 over the data set, as in the authors' program.",
    )


FIGURE = Figure(__doc__, ("pfl_normalisation",), table, draw)
