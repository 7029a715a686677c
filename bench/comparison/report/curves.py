"""Two figures about the fairness of a comparison: the score against the settings tried, and against the cost so far."""

import numpy as np
import pandas as pd
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from bench.analysis import metric_limits, style
from bench.comparison.columns import COSTS
from bench.comparison.report.looks import legend, method_looks, named
from bench.comparison.report.table import privacy
from bench.comparison.result import at_epsilon

AXES = {"floats_up": "numbers sent to the server", "gradients": "per-example gradients", "examples": "examples used"}
SHOWN = 3  # epsilons in the figure of convergence; the table has all
DECADE = 10.0
ABOVE = 30.0  # on a logarithmic axis, the largest score that is shown over the largest at the end of a curve


def draw_budget(curves: pd.DataFrame, whole: pd.DataFrame, metric: str):
    """Draw the expected score against the tuning budget, one panel per epsilon.

    Args:
        curves: from `bench.comparison.report.budget.curves`.
        whole: the `table` of the same methods.
        metric: the column by which settings are chosen.
    """
    look_of, epsilons = method_looks(whole), _epsilons(curves)
    across = min(len(epsilons), 3)
    down = -(-len(epsilons) // across)
    size = (max(3.4 * across, 7.0), 3.0 * down + 1.0)
    figure, axes = style.subplots(down, across, figsize=size, squeeze=False, sharey=True)
    for ax in axes.flat[len(epsilons) :]:
        ax.set_visible(False)
    for ax, epsilon in zip(axes.flat, epsilons, strict=False):
        for name, line in _at(curves, epsilon).groupby("algorithm"):
            line, look = line.sort_values("num_settings"), look_of[str(name)]
            if len(line) == 1:
                _level(ax, line[metric].iloc[0], look)
            else:
                _line(ax, line, "num_settings", metric, look, marked=line["looks"] > 0)
        ax.set_xscale("log")
        ax.set_title(at_epsilon(epsilon))
        style.plain_log_ticks(ax.xaxis, (1, 2, 5))
        ax.set_xlabel("settings tried")
    _fit_scores(axes[0, 0], curves, "num_settings", metric)
    _dress(
        figure,
        axes,
        curves,
        whole,
        metric=metric,
        label=f"held-out {named(metric)}",
        title="Score against tuning budget",
        note="Lines: expected score of the best of that many settings from the whole space. Marks: score after further "
        "settings near the best one. Dashed: a method without anything to tune.",
    )
    return figure


def draw_convergence(curves: pd.DataFrame, whole: pd.DataFrame):
    """Draw the test score against communication, gradients and examples so far, one row of panels per epsilon.

    Args:
        curves: from `bench.comparison.report.convergence.curves`.
        whole: the `table` of the same methods.
    """
    metric, look_of = whole["metric"].iloc[0], method_looks(whole)
    epsilons = _spread(_epsilons(curves))
    size = (3.6 * len(COSTS), 2.9 * len(epsilons) + 1.0)
    figure, axes = style.subplots(len(epsilons), len(COSTS), figsize=size, squeeze=False, sharex="col", sharey=True)
    for row, epsilon in zip(axes, epsilons, strict=True):
        for ax, cost in zip(row, COSTS, strict=True):
            for name, line in _at(curves, epsilon).groupby("algorithm"):
                line, look = line.sort_values("share"), look_of[str(name)]
                if line[cost].isna().any():
                    continue  # the method does not declare its cost
                if line[cost].iloc[-1] == 0:
                    _level(ax, line[metric].iloc[-1], look)
                else:
                    _line(ax, line, cost, metric, look, marked=line["share"] == line["share"].max())
            if ax.dataLim.x1 > 0 and (curves[cost] > 0).any():
                ax.set_xscale("log")
                _few_ticks(ax.xaxis)
            ax.set_title(at_epsilon(epsilon))
    for ax, cost in zip(axes[-1], COSTS, strict=True):
        ax.set_xlabel(AXES[cost])
    _fit_scores(axes[0, 0], curves, "share", metric)
    left_out = len(_epsilons(curves)) - len(epsilons)
    _dress(
        figure,
        axes,
        curves,
        whole,
        metric=metric,
        label=f"test {named(metric)}",
        title="Score against cost",
        note="Test runs of the chosen settings; nothing was chosen by these scores. Costs are summed over all clients, "
        "up to that point of the run. Marks: end of the run. Dashed: a method that costs nothing on that axis. Runs "
        "with fewer than four evaluations are shown by their end alone."
        + (f" {left_out} further values of epsilon are in the CSV file." if left_out else ""),
    )
    return figure


def _epsilons(curves: pd.DataFrame) -> list[float]:
    """Return the epsilons that have panels; [0] where no method releases anything."""
    return [float(epsilon) for epsilon in sorted(curves["target_epsilon"].unique()) if epsilon > 0] or [0.0]


def _spread(epsilons: list[float]) -> list[float]:
    """At most SHOWN of them: the smallest, the largest, and others as evenly between them as there are."""
    places = np.linspace(0, len(epsilons) - 1, min(SHOWN, len(epsilons))).round().astype(int)
    return [epsilons[place] for place in places]


def _at(curves: pd.DataFrame, epsilon: float) -> pd.DataFrame:
    """Return the curves of a panel; methods that release nothing are in every panel."""
    return curves[curves["target_epsilon"].isin([0.0, epsilon])]


def _level(ax, score: float, look: style.Look) -> None:
    ax.axhline(score, color=look["color"], linewidth=1.0, linestyle="--", zorder=1)


def _line(ax, line: pd.DataFrame, x: str, y: str, look: style.Look, *, marked: pd.Series) -> None:
    """Draw the curve of one method, with marks at some of its points only."""
    bare: style.Look = look | {"marker": ""}
    style.curve(ax, line, x, y, **bare)
    ax.plot(line.loc[marked, x], line.loc[marked, y], **(look | {"linestyle": ""}))


def _fit_scores(ax, curves: pd.DataFrame, x: str, y: str) -> None:
    """Make the axis of scores logarithmic where their means are geometric and span more than a power of ten.

    Settings that diverge can give an expected score many powers of ten above all others, so the axis ends somewhat
    above the largest score at the end of a curve.
    """
    if set(curves["mean"]) != {"geometric"}:
        return
    finite = curves.assign(score=curves[y].astype(float).replace([np.inf, -np.inf], np.nan))
    scores = finite["score"].dropna()
    if not len(scores) or scores.max() < DECADE * scores.min():
        return
    ax.set_yscale("log")
    ends = finite.loc[finite.groupby(["algorithm", "target_epsilon"])[x].idxmax(), "score"]
    top = min(scores.max(), ABOVE * ends.max())
    ax.set_ylim(scores.min() / 1.5, top * 1.5)


def _few_ticks(axis) -> None:
    """Ticks at 1 and 3 times powers of ten, short enough to stand beside each other."""
    axis.set_major_locator(LogLocator(subs=(1, 3), numticks=7))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0e}".replace("e+0", "e").replace("e+", "e")))
    axis.set_minor_formatter(NullFormatter())


def _dress(figure, axes, curves, whole, *, metric: str, label: str, title: str, note: str) -> None:
    """Label the score axes, and add the title with the legend and the footer."""
    for ax in axes[:, 0]:
        ax.set_ylabel(style.literal(label))
    if metric_limits.are_shares(curves[metric]):
        style.percent(axes[0, 0].yaxis)
    style.head(figure, f"{title} on {style.literal(whole['title'].iloc[0])}", *legend(whole))
    shown = curves.assign(**whole[["task", "source"]].iloc[0], scale="")
    style.footer(figure, shown, note, differs=style.literal(privacy(whole)))
