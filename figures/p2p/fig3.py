"""Bellet et al. 2018, Figure 3: test accuracy by how much data an agent has, 100 features, by privacy budget.

Settings are those of the solid lines of Figure 2c, with the paper's mu, 0.04. Expected: every agent gains by taking
part, whatever the size of its data, and the agents with the least data gain most. (In the paper's own figure the agents
with the most data do not gain at epsilon 0.15.)
"""

import pandas as pd

from bench.analysis import style
from figures.p2p import common, drawing, fig2c
from figures.p2p.common import LOCAL, NON_PRIVATE
from figures.shared.derived import derived
from figures.shared.figure import Figure

NUM_FEATURES = 100
METRIC = "test_accuracy_m"  # followed by the lower edge of the group


def by_size(rows: pd.DataFrame) -> pd.DataFrame:
    """Accuracies by group of agents as one row per group, with its lower edge as "num_examples"."""
    metrics = [name for name in rows.columns if name.startswith(METRIC)]
    rows = rows.drop(columns="test_accuracy")
    others = [name for name in rows if name not in metrics]
    long = rows.melt(others, metrics, var_name="group", value_name="test_accuracy")
    return long.assign(num_examples=long["group"].str.removeprefix(METRIC).astype(float)).drop(columns="group")


@derived
def rows_of(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `common.as_published` by group of agents, at 100 features, or at the most if 100 is
    missing."""
    rows = common.as_published(runs)
    shown = NUM_FEATURES if (rows["num_features"] == NUM_FEATURES).any() else rows["num_features"].max()
    return by_size(rows[rows["num_features"] == shown])


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """Final accuracy by group of agents, at 100 features, or at the most if 100 is missing."""
    rows = rows_of(runs)
    accuracy = common.curves(
        rows, by=[*fig2c.KEYS, "num_features"], x="num_examples", y="test_accuracy", carry=fig2c.CARRY
    )
    accuracy = common.labelled(accuracy, rows, "p2p_fig3")
    return accuracy if (rows["num_features"] == NUM_FEATURES).all() else common.here(accuracy)


def draw(table: pd.DataFrame):
    """One panel, whose axis has a tick for each group of agents."""
    figure, ax = style.subplots(figsize=(8.5, 5.2))
    measured = common.here(table)
    edges = sorted(measured["x"].unique())
    look = drawing.looks([NON_PRIVATE, *drawing.budgets(table)[::-1], LOCAL])
    drawing.draw(ax, table, look, fig2c.VARIANTS)
    ends = [f"to {after - 1:g}" for after in edges[1:]] + ["or more"]
    ax.set_xticks(edges, [f"{edge:g}\n{end}" for edge, end in zip(edges, ends, strict=True)])
    ax.set(xlabel=drawing.NAMES["num_examples"], ylabel="test accuracy, mean of the group")
    style.percent(ax.yaxis)
    others = [*drawing.local_handles(), *drawing.published_handles(table)]
    size = measured["num_features"].iloc[0]
    return style.finish(
        figure,
        table,
        f"Accuracy by size of the local data set, {size:g} features (Bellet et al. 2018, Fig. 3)",
        [drawing.handles({name: line for name, line in look.items() if name != LOCAL}), others],
        common.privacy_note(table),
        f"Settings are those of Figure 2c at mu = {measured['mu'].dropna().iloc[0]:g}.",
        differs=common.true_note(table),
    )


FIGURE = Figure(__doc__, ("p2p_dimensions",), table, draw)
