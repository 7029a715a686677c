"""Noble et al. 2022, generated data by local steps: loss of DP-SCAFFOLD and DP-FedAvg, with and without noise.

Clients differ more in the right column. The noise is fixed, as in the paper, so more steps cost more privacy. Expected:
both have similar losses at one local step, and the advantage of DP-SCAFFOLD grows with the number of local steps.
"""

import pandas as pd
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from bench.analysis import select, style
from figures.shared.bands import without_draws
from figures.shared.figure import Figure
from figures.shared.runs import at_end

SWEEP = "scaffold_steps"
SCAFFOLD, FEDAVG = "DP-SCAFFOLD", "DP-FedAvg"
METRIC = "train_loss"
PANEL = ["task", "noise_multiplier"]
LOOKS: dict[str, style.Look] = {
    SCAFFOLD: {"color": "#c8443c", "marker": "s"},
    FEDAVG: {"color": "#12355b", "marker": "o"},
}


def tuned(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs with the step that has the lowest mean loss, for every method, task, noise and number of local
    steps."""
    by = ["algorithm", *PANEL, "num_steps"]
    runs = runs[runs["num_rounds"] == runs["num_rounds"].max()]  # of the paper's size, where both have been run
    return select.tune(at_end(runs), by=by, over="round_step_size", on=METRIC, best="min")


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """Loss by method, task, noise and number of local steps, with the step that was chosen and epsilon."""
    rows = without_draws(tuned(runs), value=METRIC, panel=PANEL, point=["algorithm", "num_steps"])
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
            ax.set_title(rf"$\alpha = \beta$ = {apart}, " + (rf"$\sigma$ = {noise:g}" if noise else "no noise"))
        across[0].set_ylabel("training loss, all clients")
    for ax in axes[-1]:
        ax.set_xlabel("local steps K")
    handles = [Line2D([], [], label=name, **LOOKS[name]) for name in style.present(table, "algorithm", LOOKS)]
    style.head(figure, "Local steps with and without control variates (after Noble et al. 2022)", handles)
    style.footer(
        figure,
        table,
        "Every point has the step size with the lowest mean loss. alpha and beta say how much the clients' models and "
        "inputs differ; sigma is the noise multiplier.",
        "Both methods share the draws of the clients. Bands exclude the effect of a draw on all losses of a panel "
        "(Morey 2008).",
        f"The noise costs epsilon {_costs(table)} at delta = {table['delta'].iloc[0]:g}: one record of one client "
        "replaced, against the server.",
        differs="Synthetic clients; alpha and beta say how much their models and inputs differ.",
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
