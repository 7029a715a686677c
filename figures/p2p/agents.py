"""Bellet et al. 2018, section 2.3 (not in its figures): does the algorithm scale with the number of agents?

What is left of the gap in objective against updates per agent, without privacy, for networks of several sizes: the
objective minus that of the last round, over the same at the start. Expected: the curves lie close together, since the
paper expects the algorithm to scale gracefully where the number of updates per agent stays the same.
"""

import pandas as pd

from bench.analysis import select, style
from figures.p2p import common, drawing
from figures.shared.figure import Figure

UPDATES = 8  # per agent, after which the claim compares what is left
SHOWN = 32  # updates per agent; later the objective is as close to its last value as to the smallest


def rest_of_gap(runs: pd.DataFrame) -> pd.Series:
    """Return for each row the gap to the objective of the last round, as a share of the gap at first."""
    gap, keys = runs["objective"].astype(float), [runs[key] for key in (*select.REPETITION, "num_agents")]
    first, last = (
        gap.where(runs["rounds"] == rounds).groupby(keys, observed=True).transform("max")
        for rounds in (0, runs["num_rounds"])
    )
    return (gap - last) / (first - last)


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """The remaining share of the gap by number of agents and updates per agent, averaged as logarithms."""
    runs = common.runs_with(runs, sweep="p2p_agents")
    rows = runs.assign(rest=rest_of_gap(runs))[runs["rounds"] <= SHOWN]
    series = rows["num_agents"].map("{:g} agents".format)
    rows = rows.assign(series=series, variant="", updates_per_agent=rows["rounds"])
    by, carry = ["series", "variant"], ["num_agents", *common.EPSILONS]
    rest = common.curves(rows, by=by, x="updates_per_agent", y="rest", carry=carry, log=True)
    return common.from_here(rest, runs).sort_values(["num_agents", "x"], ignore_index=True)


def draw(table: pd.DataFrame):
    """One panel with a curve for each number of agents."""
    figure, ax = style.subplots(figsize=(7.6, 4.6))
    look = drawing.looks(table["series"].unique())
    drawing.draw(ax, table, look, {"": {}})
    ax.axvline(UPDATES, color="#5b5b5b", linewidth=0.8, linestyle=":")
    ax.set(yscale="log", xlabel="updates per agent, $T/n$", ylabel="share of the gap in objective that is left")
    return style.finish(
        figure,
        table,
        "Descent by the number of agents (after Bellet et al. 2018, section 2.3)",
        [drawing.handles(look)],
        "No privacy. The gap is to the objective of the last round.",
        differs=f"Not in the paper. Dotted: {UPDATES} updates, where we compare.",
    )


FIGURE = Figure(__doc__, ("p2p_agents",), table, draw)
