"""Accuracy against epsilon in the setting of Bhaskar et al. 2025 (not in the paper): ten clients, E = 1.

Pale points are the paper's accuracies at this split. Horizontal lines are the accuracy of a client that trains alone,
without noise, since it releases nothing: below them, clients gain nothing from federation. Expected: rising curves,
SN+Lin above the others, by most where epsilon is small.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from bench.analysis import style
from figures.pfl import common, curves
from figures.shared.figure import Figure
from figures.shared.runs import matching, runs_with

SWEEPS = ("pfl_epsilon", "pfl_alone")
SHOWN = {"num_epochs": 1, "num_clients": 10}
ALONE: style.Look = {"linestyle": (0, (4, 2)), "linewidth": 1.1}

GAP = 0.4  # share of a panel's range; lower accuracies that are this far from the others are off its axis
MARK = "▼"

ALONE_NOTE = (
    "Horizontal lines: one client with a tenth of the data trains alone, which releases nothing and needs no noise, "
    "with the same settings, untuned. A model at 10 % has learned nothing."
)


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """Accuracy by data set, epsilon and model; the published cells, also at epsilons that were not run; and the
    accuracy of one client with a tenth of the data, where "alone" is true.

    Raises:
        InputError: where there is no run with one local epoch and ten clients.
    """
    rows = runs_with(common.final(runs_with(runs, sweep=SWEEPS[0])), **SHOWN)
    datasets = list(rows["dataset"].unique())
    cells = common.published_tables(*common.TABLES[:3])
    cells = cells[matching(cells, dataset=datasets, **SHOWN)]
    parts = [common.averaged(rows).merge(cells, on=common.CELL, how="outer").assign(alone=False)]
    own = common.finished(runs[matching(runs, sweep=SWEEPS[1], dataset=datasets)])
    parts += [common.averaged(own).assign(alone=True)] if len(own) else []
    return pd.concat(parts, ignore_index=True).assign(**common.facts(pd.concat([rows, own])))


def draw(table: pd.DataFrame):
    """A panel for each data set; without privacy at the right end."""
    names, own = style.present(table, "dataset", common.DATASETS), table[table["alone"]]
    table = table[~table["alone"]]
    figure, axes = style.subplots(1, len(names), figsize=(3.6 * len(names) + 0.7, 4.2), squeeze=False)
    budgets = sorted(table.loc[table["repetitions"] > 0, "target_epsilon"].unique())
    finite = [epsilon for epsilon in budgets if np.isfinite(epsilon)]
    off = 0
    end = 2 * table["target_epsilon"].replace(np.inf, np.nan).max()
    for ax, rows, (name,) in style.panels(axes, table, dataset=names):
        rows = rows.assign(x=rows["target_epsilon"].replace(np.inf, end))
        curves.behind(ax, rows, "x", linestyle="")
        run = rows[rows["repetitions"] > 0]
        for _, line in run.groupby(np.isinf(run["target_epsilon"])):
            curves.ours(ax, line, "x")
        shown = own["algorithm"].isin(run["algorithm"])  # a line beside no curve would compare nothing
        alone = own[(own["dataset"] == name) & np.isfinite(own["test_accuracy"]) & shown]
        for row in alone.itertuples():
            ax.axhline(row.test_accuracy, color=curves.LOOKS[row.algorithm]["color"], **ALONE)
        off += _leave_out(ax, run, alone)
        style.ticks(ax, finite)
        ax.set_xticks([*finite, end], [*(f"{epsilon:g}" for epsilon in finite), "FedAvg"])
        ax.set_title(name)
        style.percent(ax.yaxis)
    style.label(axes, r"$\varepsilon$", "test accuracy")
    alone = [Line2D([], [], label="one client alone, no noise", color="#5b5b5b", **ALONE)] if len(own) else []
    return curves.finish(
        figure,
        table,
        "Accuracy by epsilon, 10 clients, 20 rounds of $E$ = 1 (setting of Bhaskar et al. 2025)",
        ALONE_NOTE if len(own) else "",
        f"{MARK} Accuracies below the end of the axis." if off else "",
        _not_run(table, names),
        differs="The paper has no such curves; its accuracies at this split (Tables 2 to 4) are pale points.",
        further=alone,
    )


def _leave_out(ax: Axes, run: pd.DataFrame, alone: pd.DataFrame) -> int:
    """Start the axis above accuracies that lie far below all others, and write them at its foot. Return their
    number."""
    both = pd.concat([run, alone])
    values = np.sort(np.r_[both["test_accuracy"].dropna(), run["published"].dropna()].astype(float))
    gaps = np.diff(values)
    if not len(gaps) or gaps.max() <= GAP * (values[-1] - values[0]):
        return 0
    lowest = values[gaps.argmax() + 1]
    ax.set_ylim(bottom=lowest - 0.3 * (values[-1] - lowest))
    off = both[both["test_accuracy"] < lowest].sort_values("alone")
    of = ["alone" if row.alone else common.epsilon_symbol(row.target_epsilon) for row in off.itertuples()]
    words = [
        f"{MARK} {row.algorithm} {which}: {100 * row.test_accuracy:.0f} %"
        for row, which in zip(off.itertuples(), of, strict=True)
    ]
    ax.text(0.98, 0.02, "\n".join(words), transform=ax.transAxes, ha="right", va="bottom", fontsize=7)
    return len(off)


def _not_run(table: pd.DataFrame, names: Sequence[str]) -> str:
    """Return the models without curves on a data set."""
    lacking = []
    for name in names:
        run = set(table.loc[(table["dataset"] == name) & (table["repetitions"] > 0), "algorithm"])
        if missing := [model for model in common.MODELS if model not in run]:
            lacking.append(f"{', '.join(missing)} on {name}")
    return f"Not run over epsilon: {'; '.join(lacking)}; Tables 2 to 4 have two." if lacking else ""


FIGURE = Figure(__doc__, SWEEPS, table, draw, apart=("target_epsilon", "num_epochs"))
