"""FedProx by local steps on clients that differ (after Li et al. 2020), without noise.

The upper panels have one step size for all, the lower panels the best step size of each; mu = 0 is FedAvg. Expected:
at a fixed step size FedAvg gets worse with the number of local steps, and mu > 0 does not.
"""

import pandas as pd

from bench.analysis import select, style
from figures.shared.bands import without_draws
from figures.shared.derived import derived
from figures.shared.figure import Figure
from figures.shared.runs import at_end

SWEEP, METRIC = "proximal_steps", "train_loss"
FIXED_STEP = 0.1
AT_FIXED, AT_BEST = f"step {FIXED_STEP:g}", "best step of each"
CELL = ["task", "num_steps", "proximal"]
LOOKS = {0.0: style.GREY, 0.1: style.ORANGE, 1.0: style.NAVY}  # by mu


@derived
def rows_of(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs after their last round, once at the fixed step and once at the best one; column "step" says
    which."""
    last = at_end(runs)
    fixed = last[last["step_size"] == FIXED_STEP].assign(step=AT_FIXED, edge="")
    best = select.tune(last, by=CELL, over="step_size", on=METRIC, best="min").assign(step=AT_BEST)
    return pd.concat([fixed, best], ignore_index=True)


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """Loss by task, local steps, mu and how the step was chosen."""
    rows = without_draws(rows_of(runs), value=METRIC, panel=["step", "task"], point=["num_steps", "proximal"])
    out = select.interval(rows, by=["step", *CELL, "step_size", "edge"], value=METRIC)
    return out.rename(columns={"task": "clients"}).assign(**select.where_from(runs))


def draw(table: pd.DataFrame):
    """A row for each way of choosing the step, a column for each kind of clients."""
    ways, names = style.present(table, "step", (AT_FIXED, AT_BEST)), sorted(table["clients"].unique())
    shape = len(ways), len(names)
    figure, axes = style.subplots(*shape, figsize=(4.4 * shape[1], 2.7 * shape[0] + 0.8), sharex=True, squeeze=False)
    for ax, panel, (way, name) in style.panels(axes, table, step=ways, clients=names):
        style.curves(ax, panel, "proximal", LOOKS, "num_steps", METRIC)
        style.ticks(ax, sorted(table["num_steps"].unique()))
        ax.set_title(rf"$\alpha = \beta$ = {name.rsplit('_', 1)[1]}, {way}")
    style.label(axes, "local steps K", "training loss, all clients")
    return style.finish(
        figure,
        table,
        "Proximal local steps (after Li et al. 2020)",
        [style.handles(table, "proximal", LOOKS, {mu: rf"$\mu$ = {mu:g}" for mu in LOOKS})],
        "Softmax regression on 20 clients with 40 records each, whose models and inputs differ by alpha and beta. Each "
        "of 60 rounds has 5 clients, and each local step uses all records. There is no noise and no privacy.",
        "Bands exclude the effect of a draw of the clients on all losses of a panel (Morey 2008).",
        differs="20 clients of 40 records; alpha and beta say how much they differ.",
    )


FIGURE = Figure(__doc__, (SWEEP,), table, draw, apart=("task", "num_steps", "proximal"), tuned=("step_size",))
