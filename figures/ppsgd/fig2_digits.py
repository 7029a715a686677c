"""Bietti et al. 2022, Figure 2 (EMNIST, linear): final test accuracy against epsilon on digits by writer.

One line per alpha over the noise levels, local learning as a horizontal line, and in black the best accuracy of
personalisation at each epsilon or a smaller one. Dashed, and not in the paper: users who learn alone for more steps
than the rounds that draw them. Expected: small alpha > 0 is the best at small epsilon, and somewhere in between
personalisation beats both local and global learning.
"""

from collections.abc import Iterable

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from bench.analysis import select, style
from figures.ppsgd import common, drawing
from figures.shared.figure import Figure
from figures.shared.runs import ended

CURVES = (0.0, 0.1, 1.0, 10.0, 100.0, float("inf"))
# The paper's colours: local learning red, global blue, values in between green, here from light to dark.
BETWEEN = ("#c7e59b", "#8fcf63", "#4fae5b", "#1a8747", "#00441b")
AXIS = (1e3, 1e-1)  # inverted, as in the paper
SILENT = 4e3  # the place of values without noise, left of the axis
ALONE: style.Look = {"color": "#5b5b5b", "linestyle": (0, (4, 2)), "linewidth": 1.6}
BEST: style.Look = {"color": "black", "linewidth": 1.8, "marker": "."}
BLACK = "Black is chosen by test accuracy, so it is optimistic."
SAME_EPSILON = 0.01  # closer values are one point of the black curve, as in the authors' plot


def looks(curves: Iterable[float]) -> dict[float, style.Look]:
    """Return a look for each personalisation: the paper's colours, and the markers of the other figures."""
    own = drawing.looks(curves)
    between = [a for a in own if a not in (common.LOCAL, common.GLOBAL)]
    colors = {a: BETWEEN[place % len(BETWEEN)] for place, a in enumerate(between, len(between) < len(BETWEEN))}
    colors |= {common.LOCAL: "#d7301f", common.GLOBAL: "#2b5fb4"}
    return {a: {**look, "color": colors[a]} for a, look in own.items()}


def table(runs: pd.DataFrame, clip_norm: float | None = None, *, further: bool = False) -> pd.DataFrame:
    """Final accuracy by personalisation, noise and way of tuning, and the black curve with personalization NaN.

    The black curve is over all alpha of the runs; the picture shows some of them.

    Args:
        runs: of one sweep.
        clip_norm: default that of the paper's figures.
        further: whether step sizes beyond the published grid count as well.
    """
    shown = common.ppsgd_runs(runs, clip_norm, legend=True, further=further)
    lines = select.tuned_curves(
        ended(shown),
        by=["personalization", "noise_multiplier"],
        value="test_accuracy",
        best="max",
        tunings=common.TUNINGS,
        carry=common.EPSILONS,
    ).assign(curve="alpha")
    parts = [lines, *(best_so_far(lines[lines["tuned_on"] == label]) for label in common.TUNINGS)]
    if len(alone := common.alone(runs)):
        of = {"by": ["num_rounds"], "value": "test_accuracy", "best": "max", "tunings": common.TUNINGS}
        parts.append(select.tuned_curves(alone, **of).assign(curve="alone"))
    return pd.concat(parts, ignore_index=True).assign(held_out=common.BY_SIZE, **select.where_from(runs))


def best_so_far(lines: pd.DataFrame) -> pd.DataFrame:
    """Return the running maximum of accuracy as epsilon grows, over all alpha > 0 and sigma > 0, from local learning
    on.

    Local learning has epsilon 0, so on the logarithmic axis it starts at the end of the axis, or where runs start.
    """
    shared = lines[(lines["personalization"] > 0) & np.isfinite(lines["epsilon"])].sort_values("epsilon")
    local = lines[lines["personalization"] == common.LOCAL]
    start = local.assign(epsilon=min(AXIS[1], shared["epsilon"].min()))
    points = pd.concat([start, shared], ignore_index=True)[["epsilon", "test_accuracy", "repetitions", "tuned_on"]]
    points["test_accuracy"] = points["test_accuracy"].cummax().ffill()  # a run that diverged does not raise the curve
    last = ~(points["epsilon"].diff().shift(-1) < SAME_EPSILON)
    return points[last].assign(curve="best so far", personalization=np.nan)


def draw(table: pd.DataFrame, curves=CURVES):
    """One panel, with the paper's way of tuning where the table has it."""
    label = style.present(table, "tuned_on", common.TUNINGS)[0]
    table = table[table["tuned_on"] == label]
    figure, ax = style.subplots(figsize=(7.6, 4.8))
    panel(ax, table, curves)
    ax.set_ylabel("final test accuracy")
    style.percent(ax.yaxis)
    return style.finish(
        figure,
        table,
        f"Digits by writer, linear: {common.TUNING_TITLES[label]} (Bietti et al. 2022, Fig. 2)",
        [drawing.alpha_handles(looks(style.present(table, "personalization", curves))), further_handles(table)],
        alone_note(table),
        common.EPSILON_NOTE,
        differs=f"{common.replaced(table)} {BLACK}".strip(),
    )


def further_handles(table: pd.DataFrame) -> list[Line2D]:
    """Legend entries other than those of the curves by alpha."""
    best = Line2D([], [], **BEST, label=r"best of all $\alpha$ at $\varepsilon$ or less")
    alone = Line2D([], [], label="learning alone for longer (not in the paper)", **ALONE)
    return [best, alone] if (table["curve"] == "alone").any() else [best]


def alone_note(table: pd.DataFrame) -> str:
    """Return a sentence with the number of steps of users who learn alone; empty without such runs."""
    rows = table[table["curve"] == "alone"]
    if rows.empty:
        return ""
    counts = rows["num_rounds"].drop_duplicates().map("{:,.0f}".format)
    order = ", in the order of the columns" if len(counts) > 1 else ""
    return (
        f"Dashed: {' or '.join(counts)} steps of every user on its own data{order}; local learning takes one in each "
        "round that draws the user."
    )


def _draw_levels(ax, rows: pd.DataFrame, **look) -> None:
    """Draw a horizontal line for each row that did not diverge, with its interval as a band that keeps the axis'
    limits."""
    for row in rows.dropna(subset="test_accuracy").itertuples():
        ax.axhline(row.test_accuracy, **look)
        with style.same_limits(ax):
            ax.axhspan(row.low, row.high, color=look["color"], alpha=0.15, linewidth=0)


def panel(ax, panel: pd.DataFrame, curves=CURVES) -> None:
    """Accuracy against epsilon; values without noise are at the left end."""
    within = panel[np.isinf(panel["epsilon"]) | (panel["epsilon"] <= AXIS[0]) | panel["epsilon"].isna()]
    best = within[within["curve"] == "best so far"].sort_values("epsilon")
    ax.plot(best["epsilon"], best["test_accuracy"], **BEST, zorder=2.6)
    for a, look in looks(style.present(panel, "personalization", curves)).items():
        line = within[within["personalization"] == a]
        if a == common.LOCAL:
            _draw_levels(ax, line, color=look["color"])
            continue
        style.curve(ax, line[np.isfinite(line["epsilon"])], "epsilon", "test_accuracy", **look)
        silent = line[np.isinf(line["epsilon"])]
        ax.plot([SILENT] * len(silent), silent["test_accuracy"], **(look | {"linestyle": ""}))
    _draw_levels(ax, panel[panel["curve"] == "alone"], **ALONE)
    if not np.isfinite(panel["test_accuracy"]).any():
        style.nothing(ax, panel)
    ax.set_xscale("log")
    ax.set_xlim(2 * SILENT, AXIS[1])
    ax.axvline(AXIS[0] ** 0.5 * SILENT**0.5, color="#999999", linewidth=0.6)
    places = [10.0**power for power in range(3, -2, -1)]
    ax.set_xticks([SILENT, *places], [r"$\infty$", *(f"{place:g}" for place in places)])
    ax.xaxis.set_minor_locator(style.NullLocator())
    ax.set_xlabel(r"$\varepsilon$ (more private to the right)")


def own(runs: pd.DataFrame) -> Figure:
    """Return the figure with the curves that are there."""
    clip_norm, _, curves = common.own_values(runs)
    return FIGURE._replace(table=lambda runs: table(runs, clip_norm), draw=lambda numbers: draw(numbers, curves))


FIGURE = Figure(__doc__, ("ppsgd_digits",), table, draw, apart=common.APART, tuned=common.TUNED, own=own)
