"""Why FedAvg fails at (E, R) = (20, 1) in Table 2 of Bhaskar et al. 2025: because of averaging, not of training.

Shown are the clients' own models and their average after every local epoch, for averaging after every epoch and once at
the end. Between two averagings the average is only evaluated.
"""

import pandas as pd
from matplotlib.lines import Line2D

from bench.analysis import select, style
from figures.pfl import common
from figures.shared.figure import Figure
from figures.shared.runs import WHOLE, not_empty

SWEEP = "pfl_averaging"
LINES = {
    "train_accuracy": "training accuracy of the clients, on their own batches",
    "test_accuracy": "test accuracy of their average",
}
LOOKS: dict[str, style.Look] = {"test_accuracy": {"linestyle": "-"}, "train_accuracy": {"linestyle": "--"}}
COLORS = {1: "#3c78b4", 20: "#c8443c"}
WORDS = {1: "epoch", 20: "20 epochs (at the end)"}


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """Return one row per model, E, epoch and line, with "accuracy" and its interval; epoch 0 has no batches yet.

    Raises:
        InputError: where no run without privacy is there.
    """
    rows = runs[(runs["sampler"] == "in_order") & runs["algorithm"].isin(common.MODELS) & (runs["rounds"] > 0)]
    not_empty(rows, f"no run of {SWEEP} without privacy: {WHOLE}")
    by = ["dataset", "algorithm", "num_epochs", "rounds"]
    parts = [
        select.interval(rows, by=by, value=line).rename(columns={line: "accuracy"}).assign(line=line) for line in LINES
    ]
    shares = rows.groupby(by)["data_share"].mean().reset_index()
    return pd.concat(parts, ignore_index=True).merge(shares, on=by).assign(**common.facts(rows))


def draw(table: pd.DataFrame):
    """A panel for each model."""
    names = style.present(table, "algorithm", common.MODELS)
    figure, axes = style.subplots(1, len(names), figsize=(2.9 * len(names) + 0.7, 3.6), squeeze=False, sharey=True)
    for ax, panel, (name,) in style.panels(axes, table, algorithm=names):
        for epochs, color in COLORS.items():
            rows = panel[panel["num_epochs"] == epochs]
            style.curves(ax, rows, "line", LOOKS, "rounds", "accuracy", color=color)
        ax.set(title=name, ylim=(0, 1.005))
        style.percent(ax.yaxis)
    style.label(axes, "local epochs done", "accuracy")
    splits = [Line2D([], [], color=color, label=f"averaged every {WORDS[e]}") for e, color in COLORS.items()]
    kinds = [Line2D([], [], color="#555555", label=label, **LOOKS[line]) for line, label in LINES.items()]
    part = common.share_note(table)
    return style.finish(
        figure,
        table,
        f"FedAvg without privacy, {table['dataset'].iloc[0]}: clients and their average (Bhaskar et al. 2025)",
        [splits, kinds],
        common.privacy_note(table),
        "Between two averagings, the average of the clients' current models is only evaluated.",
        differs=f"Not in the paper; ten clients and settings as published.{part}",
        unequal="(lines without a band have one)",
    )


FIGURE = Figure(__doc__, (SWEEP,), table, draw)
