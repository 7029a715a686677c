"""Tables 2 to 4 of Bhaskar et al. 2025 as curves: accuracy against E, the local epochs of a round, E R = 20.

Expected: flat for SN+Lin; for the other models falling with E, with privacy by tens of points.
"""

from functools import partial

import pandas as pd

from bench.analysis import style
from figures.pfl import common, curves, tables
from figures.shared.figure import Figure


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """Return one row per published cell of the three tables, with the accuracy here."""
    return tables.table(runs, *common.TABLES[:3])


def draw(table: pd.DataFrame, title: str, height: float = 2.9, differs: str = ""):
    """A row of panels for each data set and a column for each epsilon. height: of a row, in inches; differs: the gaps
    where empty."""
    names = style.present(table, "dataset", common.DATASETS)
    columns = table.groupby("dataset")["target_epsilon"].nunique().max()
    figure, axes = style.subplots(
        len(names), columns, figsize=(11.5, height * len(names) + 0.9), sharex=True, sharey="row", squeeze=False
    )
    for row, name in zip(axes, names, strict=True):
        rows = table[table["dataset"] == name]
        epsilons = sorted(rows["target_epsilon"].unique(), reverse=True)
        for ax in row[len(epsilons) :]:
            ax.remove()
        for ax, epsilon in zip(row, epsilons, strict=False):
            curves.panel(ax, rows[rows["target_epsilon"] == epsilon], "num_epochs")
            ax.set_title(f"{name}, {common.epsilon_symbol(epsilon)}")
        row[0].set_ylabel("test accuracy")
        style.percent(row[0].yaxis)
    for ax in axes[-1]:
        style.ticks(ax, sorted(table["num_epochs"].unique()))
        ax.set_xlabel("local epochs of a round $E$")
    notes = [curves.gaps(table)] if differs else []
    return curves.finish(figure, table, title, *notes, differs=differs or curves.gaps(table))


def own(_: pd.DataFrame) -> Figure:
    """Return the figure of the cells that were run, published or not."""
    return FIGURE._replace(table=lambda runs: tables.table(runs, *common.TABLES[:3], own=True))


TITLE = "Accuracy by split of 20 epochs (Bhaskar et al. 2025, Tables 2 to 4)"
APART = ("target_epsilon", "num_epochs")
FIGURE = Figure(__doc__, ("pfl_splits",), table, partial(draw, title=TITLE), apart=APART, own=own)
