"""Noble et al. 2022, generated data by local steps: loss of DP-SCAFFOLD and DP-FedAvg, with and without noise.

Clients differ more in the right column. The noise is fixed, as in the paper, so more steps cost more privacy. Expected:
both have similar losses at one local step, and the advantage of DP-SCAFFOLD grows with the number of local steps.
"""

import pandas as pd

from bench.analysis import select, style
from figures.shared.bands import without_draws
from figures.shared.figure import Figure
from figures.shared.runs import at_end

SWEEP = "scaffold_steps"
SCAFFOLD, FEDAVG = "DP-SCAFFOLD", "DP-FedAvg"
METRIC = "train_loss"
PANEL = ["task", "noise_multiplier"]
LOOKS = {SCAFFOLD: style.RED, FEDAVG: style.NAVY}


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
    out = select.interval(rows, by=by, value=METRIC, means=["epsilon", "test_accuracy"])
    return out.rename(columns={"task": "clients"}).assign(delta=rows["delta"].iloc[0], **select.where_from(runs))


def draw(table: pd.DataFrame):
    """A row for each noise, a column for each task."""
    noises = sorted(table["noise_multiplier"].unique())
    names = sorted(table["clients"].unique())
    shape = len(noises), len(names)
    figure, axes = style.subplots(*shape, figsize=(4.6 * shape[1], 3.0 * shape[0] + 0.6), sharex=True, squeeze=False)
    for ax, panel, (noise, name) in style.panels(axes, table, noise_multiplier=noises, clients=names):
        style.curves(ax, panel, "algorithm", LOOKS, "num_steps", METRIC)
        style.ticks(ax, sorted(table["num_steps"].unique()))
        apart = name.rsplit("_", 1)[1]
        ax.set_title(rf"$\alpha = \beta$ = {apart}, " + (rf"$\sigma$ = {noise:g}" if noise else "no noise"))
    style.label(axes, "local steps K", "training loss, all clients")
    return style.finish(
        figure,
        table,
        "Local steps with and without control variates (after Noble et al. 2022)",
        [style.handles(table, "algorithm", LOOKS)],
        "Every point has the step size with the lowest mean loss. alpha and beta say how much the clients' models and "
        "inputs differ; sigma is the noise multiplier.",
        "Both methods share the draws of the clients. Bands exclude the effect of a draw on all losses of a panel "
        "(Morey 2008).",
        f"The noise costs epsilon {_costs(table)} at delta = {table['delta'].iloc[0]:g}: one record of one client "
        "replaced, against the server.",
        differs="Synthetic clients; alpha and beta say how much their models and inputs differ.",
    )


def _costs(table: pd.DataFrame) -> str:
    noisy = table[table["noise_multiplier"] > 0].groupby("num_steps")["epsilon"].max()
    return ", ".join(f"{spent:.3g} (K = {steps:g})" for steps, spent in noisy.items()) or "nothing here"


FIGURE = Figure(
    __doc__, (SWEEP,), table, draw, apart=("task", "noise_multiplier", "num_steps"), tuned=("round_step_size",)
)
