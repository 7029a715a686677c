"""Why the columns at epsilon 1.2 of Bhaskar et al. 2025 are above ours: accuracy by split, less noise, larger batches.

SN+CNN at the noise of epsilon 1.2, 1.5 and 2, and at 1.2 with batches of 128. A setting explains the difference if its
curve matches the published one, in grey, at every split.
"""

import pandas as pd
from matplotlib.lines import Line2D

from bench.analysis import style
from figures.pfl import common, curves
from figures.shared.figure import Figure

AS_PUBLISHED = 1.2
LOOKS: dict[tuple[float, int], style.Look] = {
    (1.2, 64): {"color": "#12355b", "marker": "o"},
    (1.5, 64): {"color": "#3c78b4", "marker": "^"},
    (2.0, 64): {"color": "#8fb8de", "marker": "s"},
    (1.2, 128): {"color": "#c8443c", "marker": "D"},
}


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """Accuracy by data set, epsilon, batch size and split, beside the published one at epsilon 1.2."""
    rows = common.finished(runs)
    cells = common.published_tables("pfl_table2", "pfl_table3")
    cells = cells[cells["target_epsilon"] == AS_PUBLISHED].drop(columns="target_epsilon")
    keys = [name for name in common.CELL if name != "target_epsilon"]
    out = common.averaged(rows, "batch_size").merge(cells[[*keys, "published"]], on=keys, how="left")
    return out.assign(**common.facts(rows))


def draw(table: pd.DataFrame):
    """A panel for each data set."""
    names = style.present(table, "dataset", common.DATASETS)
    figure, axes = style.subplots(1, len(names), figsize=(4.6 * len(names) + 0.9, 4.2), squeeze=False, sharey=True)
    for ax, name in zip(axes[0], names, strict=True):
        rows = table[table["dataset"] == name]
        known = rows.drop_duplicates("num_epochs").sort_values("num_epochs")
        ax.plot(known["num_epochs"], known["published"], marker="^", **curves.GREY)
        for (epsilon, size), look in LOOKS.items():
            line = rows[(rows["target_epsilon"] == epsilon) & (rows["batch_size"] == size)]
            style.curve(ax, line.sort_values("num_epochs"), "num_epochs", "test_accuracy", **look)
        curves.ticks(ax, sorted(rows["num_epochs"].unique()), "local epochs of a round $E$")
        ax.set_title(f"{name}, {rows['algorithm'].iloc[0]}")
        style.percent(ax.yaxis)
    axes[0, 0].set_ylabel("test accuracy")
    handles = [
        Line2D([], [], label=rf"$\varepsilon$ = {epsilon:g}, $L$ = {size}", **look)
        for (epsilon, size), look in LOOKS.items()
    ]
    grey = Line2D([], [], label=rf"published, $\varepsilon$ = {AS_PUBLISHED:g}", marker="^", **curves.GREY)
    style.head(
        figure, r"What $\varepsilon$ = 1.2 would need to be as published (Bhaskar et al. 2025)", [*handles, grey]
    )
    style.footer(figure, table, common.privacy_note(table), common.training_note(table))
    return figure


FIGURE = Figure(about=__doc__, sweeps=("pfl_small_epsilon",), table=table, draw=draw)
