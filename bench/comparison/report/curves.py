"""The figure of a comparison's test scores against the cost so far."""

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


def draw_convergence(curves: pd.DataFrame, table: pd.DataFrame):
    """Draw the test score against communication, gradients and examples so far, one row of panels per epsilon.

    Args:
        curves: from `bench.comparison.report.convergence.curves`.
        table: of the same methods.
    """
    metric, look_of = table["metric"].iloc[0], method_looks(table)
    epsilons = _spread(_epsilons(curves))
    size = (3.6 * len(COSTS), 2.9 * len(epsilons) + 1.0)
    figure, axes = style.subplots(len(epsilons), len(COSTS), figsize=size, squeeze=False, sharex="col", sharey=True)
    for row, epsilon in zip(axes, epsilons, strict=True):
        for ax, cost in zip(row, COSTS, strict=True):
            # Methods that release nothing, at epsilon 0, are in every panel.
            for name, line in curves[curves["target_epsilon"].isin([0.0, epsilon])].groupby("algorithm"):
                line, look = line.sort_values("share"), look_of[str(name)]
                if line[cost].isna().any():
                    continue  # the method does not declare its cost
                if line[cost].iloc[-1] == 0:
                    ax.axhline(line[metric].iloc[-1], color=look["color"], linewidth=1.0, linestyle="--", zorder=1)
                else:
                    bare: style.Look = look | {"marker": ""}
                    style.curve(ax, line, cost, metric, **bare)
                    ax.plot(line[cost].iloc[-1:], line[metric].iloc[-1:], **(look | {"linestyle": ""}))
            if ax.dataLim.x1 > 0 and (curves[cost] > 0).any():
                ax.set_xscale("log")
                _few_ticks(ax.xaxis)
            ax.set_title(at_epsilon(epsilon))
    for ax, cost in zip(axes[-1], COSTS, strict=True):
        ax.set_xlabel(AXES[cost])
    _fit_scores(axes[0, 0], curves, metric)
    for ax in axes[:, 0]:
        ax.set_ylabel(style.literal(f"test {named(metric)}"))
    if metric_limits.are_shares(curves[metric]):
        style.percent(axes[0, 0].yaxis)
    style.head(figure, f"Score against cost on {style.literal(table['title'].iloc[0])}", *legend(table))
    left_out = len(_epsilons(curves)) - len(epsilons)
    style.footer(
        figure,
        curves.assign(**table[["task", "source"]].iloc[0], scale=""),
        "Test runs of the chosen settings; nothing was chosen by these scores. Costs are summed over all clients, "
        "up to that point of the run. Marks: end of the run. Dashed: a method that costs nothing on that axis. Runs "
        "with fewer than four evaluations are shown by their end alone."
        + (f" {left_out} further values of epsilon are in the CSV file." if left_out else ""),
        differs=style.literal(privacy(table)),
    )
    return figure


def _epsilons(curves: pd.DataFrame) -> list[float]:
    """Return the epsilons that have panels; [0] where no method releases anything."""
    return [float(epsilon) for epsilon in sorted(curves["target_epsilon"].unique()) if epsilon > 0] or [0.0]


def _spread(epsilons: list[float]) -> list[float]:
    """At most SHOWN of them: the smallest, the largest, and others as evenly between them as there are."""
    places = np.linspace(0, len(epsilons) - 1, min(SHOWN, len(epsilons))).round().astype(int)
    return [epsilons[place] for place in places]


def _fit_scores(ax, curves: pd.DataFrame, metric: str) -> None:
    """Make the axis of scores logarithmic where their means are geometric and span more than a power of ten.

    The axis ends somewhat above the largest score at the end of a curve, since some begin far above all others.
    """
    if set(curves["mean"]) != {"geometric"}:
        return
    finite = curves.assign(score=curves[metric].astype(float).replace([np.inf, -np.inf], np.nan))
    scores = finite["score"].dropna()
    if not len(scores) or scores.max() < DECADE * scores.min():
        return
    ax.set_yscale("log")
    ends = finite.loc[finite.groupby(["algorithm", "target_epsilon"])["share"].idxmax(), "score"]
    top = min(scores.max(), ABOVE * ends.max())
    ax.set_ylim(scores.min() / 1.5, top * 1.5)


def _few_ticks(axis) -> None:
    """Ticks at 1 and 3 times powers of ten, short enough to stand beside each other."""
    axis.set_major_locator(LogLocator(subs=(1, 3), numticks=7))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0e}".replace("e+0", "e").replace("e+", "e")))
    axis.set_minor_formatter(NullFormatter())
