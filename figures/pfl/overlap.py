"""The privacy cost of overlapping client data, drawn independently (not in Bhaskar et al. 2025).

Each of k clients spends the nominal epsilon on every example that it has. If clients were disjoint, this would be the
total for an example; for an example that several clients drew, the total is larger. Expected: no additional cost
at k = 1; at 10 or more clients several times the nominal epsilon for the example that the most clients have.
"""

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from bench.analysis import select, style
from figures.pfl import common
from figures.shared.figure import Figure
from figures.shared.runs import WHOLE, not_empty

SWEEP = "pfl_clients"
LOOKS: dict[str, style.Look] = {
    "epsilon": {"color": "#8c8c8c", "marker": "o", "label": "as published, as if clients were disjoint"},
    "epsilon_average": {"color": "#3c78b4", "marker": "s", "label": "an example of an average number of clients"},
    "epsilon_worst": {"color": "#c8443c", "marker": "^", "label": "the example that the most clients have"},
}
KEYS = ["dataset", "target_epsilon", "num_clients"]


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """Epsilons by data set, target and number of clients: mean over draws with its interval, and the largest.

    Raises:
        InputError: where no private run has reached its last round.
    """
    rows = common.final(runs)
    missing = f"no private run of {SWEEP} has reached its last round: {WHOLE}"
    rows = not_empty(rows[np.isfinite(rows["target_epsilon"])], missing)
    draws = rows.drop_duplicates([*KEYS, "trial"])  # the draws are the same for all models
    frames = []
    for name in LOOKS:
        means = select.interval(draws, by=KEYS, value=name).rename(columns={name: "mean"})
        largest = draws.groupby(KEYS)[name].max().rename("largest").reset_index()
        frames.append(means.merge(largest, on=KEYS).assign(accounted=name))
    return pd.concat(frames, ignore_index=True).assign(**common.facts(rows))


def draw(table: pd.DataFrame):
    """A panel for each data set."""
    names = style.present(table, "dataset", common.DATASETS)
    figure, axes = style.subplots(1, len(names), figsize=(3.6 * len(names) + 0.7, 4.0), squeeze=False)
    for ax, rows, (name,) in style.panels(axes, table, dataset=names):
        style.curves(ax, rows, "accounted", LOOKS, "num_clients", "mean")
        style.stretch(ax, rows, "num_clients")
        style.ticks(ax, sorted(rows["num_clients"].unique()))
        ax.set_yscale("log")
        ax.set_ylim(top=1.25 * rows["mean"].max())  # with a tick above the highest curve
        style.plain_log_ticks(ax.yaxis, subs=(1, 2, 3, 5, 7))
        targets = " and ".join(f"{target:g}" for target in sorted(rows["target_epsilon"].unique()))
        ax.set_title(rf"{name}, nominal $\varepsilon$ = {targets}")
    style.label(axes, "clients $k$", r"$\varepsilon$ of one example")
    return style.finish(
        figure,
        table,
        "What independent draws of the clients' data cost (Bhaskar et al. 2025, setting of Table 5)",
        [[Line2D([], [], **look) for look in LOOKS.values()]],
        common.privacy_note(table, overlap=False),
        "The releases of all clients that have an example are composed; examples that no client drew have no loss and "
        "are left out of the average.",
        differs="Repetitions are draws of the clients' data. The paper has the grey line.",
    )


FIGURE = Figure(__doc__, (SWEEP,), table, draw)
