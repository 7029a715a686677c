"""Two figures about the fairness of a comparison: the score against the settings tried, and against the cost so far."""

import numpy as np
import pandas as pd

from bench.analysis import style
from bench.comparison.looks import legend, looks
from bench.comparison.price import COSTS
from bench.comparison.result import at_epsilon

AXES = {"floats_up": "numbers sent to the server", "gradients": "per-example gradients", "examples": "examples used"}
SHOWN = 3  # epsilons of the picture of convergence; the table has all


def draw_budget(curves: pd.DataFrame, whole: pd.DataFrame, metric: str):
    """Draw the expected score against the tuning budget, one panel per epsilon.

    Args:
        curves: from `bench.comparison.budget.curves`.
        whole: the `table` of the same methods.
        metric: the column by which settings are chosen.
    """
    look_of = looks(whole)
    epsilons = [epsilon for epsilon in sorted(curves["target_epsilon"].unique()) if epsilon > 0] or [0.0]
    across = min(len(epsilons), 3)
    down = -(-len(epsilons) // across)
    size = (max(3.4 * across, 7.0), 3.0 * down + 1.0)
    figure, axes = style.subplots(down, across, figsize=size, squeeze=False, sharey=True)
    for ax in axes.flat[len(epsilons) :]:
        ax.set_visible(False)
    for ax, epsilon in zip(axes.flat, epsilons, strict=False):
        for name, line in curves[curves["target_epsilon"].isin([0.0, epsilon])].groupby("algorithm"):
            line, look = line.sort_values("num_settings"), look_of[str(name)]
            if len(line) == 1:
                ax.axhline(line[metric].iloc[0], color=look["color"], linewidth=1.0, linestyle="--", zorder=1)
                continue
            bare: style.Look = look | {"marker": ""}
            style.curve(ax, line, "num_settings", metric, **bare)
            closer = line[line["looks"] > 0]
            ax.plot(closer["num_settings"], closer[metric], linestyle="", **look)
        ax.set_xscale("log")
        ax.set_title(at_epsilon(epsilon))
        style.plain_log_ticks(ax.xaxis)
        ax.set_xlabel("settings tried")
    for ax in axes[:, 0]:
        ax.set_ylabel(f"held-out {metric.replace('validation_', '').replace('_', ' ')}")
    if metric.endswith(("accuracy", "error")):
        style.percent(axes[0, 0].yaxis)
    style.head(figure, f"Score against tuning budget on {style.literal(whole['task'].iloc[0])}", *legend(whole))
    style.footer(
        figure,
        curves.assign(**whole[["task", "source", "scale"]].iloc[0]),
        "Lines: expected score of the best of that many settings from the whole space. Marks: score after further "
        "settings near the best one. Dashed: a method without anything to tune.",
    )
    return figure


def draw_convergence(curves: pd.DataFrame, whole: pd.DataFrame):
    """Draw the test score against communication, gradients and examples so far, one row of panels per epsilon.

    Args:
        curves: from `bench.comparison.convergence.curves`.
        whole: the `table` of the same methods.
    """
    metric, look_of = whole["metric"].iloc[0], looks(whole)
    epsilons = _spread([epsilon for epsilon in sorted(curves["target_epsilon"].unique()) if epsilon > 0] or [0.0])
    size = (3.6 * len(COSTS), 2.9 * len(epsilons) + 1.0)
    figure, axes = style.subplots(len(epsilons), len(COSTS), figsize=size, squeeze=False, sharex="col", sharey=True)
    for row, epsilon in zip(axes, epsilons, strict=True):
        here = curves[curves["target_epsilon"].isin([0.0, epsilon])]
        for ax, cost in zip(row, COSTS, strict=True):
            for name, line in here.groupby("algorithm"):
                _grown(ax, line.sort_values("share"), cost, metric, look_of[str(name)])
            ax.set_xscale("log")
            ax.set_title(at_epsilon(epsilon))
        row[0].set_ylabel(style.literal(metric.replace("_", " ")))
    for ax, cost in zip(axes[-1], COSTS, strict=True):
        ax.set_xlabel(AXES[cost])
    if metric.endswith(("accuracy", "error")):
        style.percent(axes[0, 0].yaxis)
    style.head(figure, f"Score against cost on {style.literal(whole['task'].iloc[0])}", *legend(whole))
    style.footer(
        figure,
        curves.assign(**whole[["task", "source", "scale"]].iloc[0]),
        "Test runs of the chosen settings; nothing was chosen by these scores. Costs are summed over all clients, up "
        "to that point of the run. Marks: end of the run. Dashed: a method that costs nothing on that axis. Runs with "
        "fewer than four evaluations are shown by their end alone.",
    )
    return figure


def _spread(epsilons: list[float]) -> list[float]:
    """At most SHOWN of them: the smallest, the largest, and others as evenly between them as there are."""
    places = np.linspace(0, len(epsilons) - 1, min(SHOWN, len(epsilons))).round().astype(int)
    return [epsilons[place] for place in places]


def _grown(ax, line: pd.DataFrame, cost: str, metric: str, look: style.Look) -> None:
    """Draw the score of one method against its cost so far, with a mark at the end of the run."""
    end = line.iloc[-1]
    if end[cost] == 0:
        ax.axhline(end[metric], color=look["color"], linewidth=1.0, linestyle="--", zorder=1)
        return
    bare: style.Look = look | {"marker": ""}
    style.curve(ax, line, cost, metric, **bare)
    ax.plot([end[cost]], [end[metric]], linestyle="", **look)
