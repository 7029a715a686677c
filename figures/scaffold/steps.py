"""Noble et al. 2022, generated data by local steps: loss of DP-SCAFFOLD and DP-FedAvg, with and without noise.

Clients differ more in the right column. The noise is fixed, as in the paper: more steps cost more privacy. Expected:
alike at one local step, and DP-SCAFFOLD lower the more there are.
"""

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from bench.analysis import select, style
from figures.shared.ended import at_end
from figures.shared.figure import Figure

SWEEP = "scaffold_steps"
SCAFFOLD, FEDAVG = "DP-SCAFFOLD", "DP-FedAvg"
METRIC = "train_loss"
PANEL = ["task", "noise_multiplier"]
LOOKS: dict[str, style.Look] = {
    SCAFFOLD: {"color": "#c8443c", "marker": "s"},
    FEDAVG: {"color": "#12355b", "marker": "o"},
}


def tuned(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs with the step that has the lowest mean loss, for every method, task, noise and number of local steps."""
    by = ["algorithm", *PANEL, "num_steps"]
    return select.tune(at_end(runs), by=by, over="round_step_size", on=METRIC, best="min")


def within_draws(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows without what their draw of the clients adds to all losses of a panel, whose means stay (Morey 2008).

    What is left varies less than by chance, as the draws' own means are fitted; the deviations are stretched by
    sqrt(k / (k - 1)), with k points in a panel, to make up for that. Where some draw lacks a point nothing is changed.
    """
    point = ["algorithm", *PANEL, "num_steps"]
    if rows.groupby(point)["trial"].nunique().nunique() != 1:
        return rows
    of_draw = rows.groupby([*PANEL, "trial"])[METRIC].transform("mean")
    loss = rows[METRIC] - of_draw + rows.groupby(PANEL)[METRIC].transform("mean")
    mean = loss.groupby([rows[name] for name in point]).transform("mean")
    points = rows.groupby(PANEL)["num_steps"].transform("size") / rows.groupby(PANEL)["trial"].transform("nunique")
    return rows.assign(**{METRIC: mean + (loss - mean) * np.sqrt(points / (points - 1))})


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """Loss by method, task, noise and number of local steps, with the step that was chosen and what privacy costs."""
    rows = within_draws(tuned(runs))
    by = ["algorithm", *PANEL, "num_steps", "round_step_size", "edge"]
    out = select.interval(rows, by=by, value=METRIC)
    more = rows.groupby(by, observed=True)[["epsilon", "test_accuracy"]].mean().reset_index()
    out = out.merge(more, on=by).rename(columns={"task": "clients"})
    return out.assign(delta=rows["delta"].iloc[0], **select.where_from(runs))


def draw(table: pd.DataFrame):
    """A row for each noise, a column for each task."""
    noises = sorted(table["noise_multiplier"].unique())
    names = sorted(table["clients"].unique()) if len(table) else []
    shape = len(noises), len(names)
    figure, axes = style.subplots(*shape, figsize=(4.6 * shape[1], 3.0 * shape[0] + 0.6), sharex=True, squeeze=False)
    for across, noise in zip(axes, noises, strict=True):
        for ax, name in zip(across, names, strict=True):
            panel = table[(table["noise_multiplier"] == noise) & (table["clients"] == name)]
            for method, look in LOOKS.items():
                style.curve(ax, panel[panel["algorithm"] == method], "num_steps", METRIC, **look)
            ax.set_xscale("log")
            ticks = sorted(table["num_steps"].unique())
            ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
            ax.xaxis.set_minor_locator(NullLocator())
            apart = name.rsplit("_", 1)[1]
            ax.set_title(rf"$\alpha = \beta$ = {apart}, " + (f"noise {noise:g}" if noise else "no noise"))
        across[0].set_ylabel("training loss, all clients")
    for ax in axes[-1]:
        ax.set_xlabel("local steps K")
    handles = [Line2D([], [], label=name, **LOOKS[name]) for name in style.present(table, "algorithm", LOOKS)]
    style.head(figure, "Local steps with and without control variates", handles)
    style.footer(
        figure,
        table,
        "Every point has the step size with the lowest mean loss. Both methods share the draws of the clients; bands "
        "exclude the effect of a draw on all losses of a panel (Morey 2008). Sizes and rounds are in "
        "docs/papers/scaffold.md.",
        f"The noise costs epsilon {_costs(table)} at delta = {table['delta'].iloc[0]:g}: one record of one client "
        "replaced, against the server.",
    )
    return figure


def _costs(table: pd.DataFrame) -> str:
    noisy = table[table["noise_multiplier"] > 0].groupby("num_steps")["epsilon"].max()
    return ", ".join(f"{spent:.3g} (K = {steps:g})" for steps, spent in noisy.items()) or "nothing here"


FIGURE = Figure(
    about=__doc__,
    sweeps=(SWEEP,),
    table=table,
    draw=draw,
    apart={"task": "clients", "noise_multiplier": "noise_multiplier", "num_steps": "num_steps"},
    tuned=("round_step_size",),
)
