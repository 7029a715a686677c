"""Bietti et al. 2022, Theorem 4.5 and Lemma 4.6: measured excess risk under its bound, and the best alpha.

200 users that are alike, inputs of norm 1, noise for one budget over the whole run, the step of the theorem, the
average iterate. Expected: the bound above every point, its second term smallest at alpha = 0 from the threshold (10) on
and at large alpha before it.
"""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from bench.analysis import select, style
from figures.ppsgd import common, drawing
from figures.shared.figure import Figure
from figures.shared.runs import ended

CURVES = (0.0, 0.3, 1.0, 10.0, float("inf"))
BOUND: style.Look = {"linestyle": "--", "linewidth": 1.0, "marker": ""}
BEST: dict[str, style.Look] = {
    "measured": {"color": "#333333", "marker": "o", "label": r"$\alpha N$ of the lowest measured risk"},
    "promised": {"color": "#c8443c", "marker": "s", "linestyle": "--", "label": r"$\alpha N$ of the lowest bound"},
}
THRESHOLD: style.Look = {"color": "#2a8a4a", "linestyle": ":", "linewidth": 1.4}


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """Final excess risk with its interval, and the bound, by budget, number of samples and alpha N."""
    by = ["target_epsilon", "samples", "personalization"]
    # Local learning has no noise: the runs of one budget stand for all.
    kept = ["bound", "clipped", "local_is_better", *common.EPSILONS]
    return select.interval(ended(runs), by=by, value="excess_risk", means=kept).assign(**select.where_from(runs))


def best(table: pd.DataFrame) -> pd.DataFrame:
    """Return the alpha N of the lowest measured risk and of the lowest bound, by budget and number of samples."""
    groups = table.groupby(["target_epsilon", "samples"])
    sides = groups["local_is_better"].first().reset_index()
    for name, column in (("measured", "excess_risk"), ("promised", "bound")):
        sides[name] = table.loc[groups[column].idxmin(), "personalization"].to_numpy()
    return sides


def draw(table: pd.DataFrame):
    """A column for each budget: above, risk solid and bound dashed; below, the best alpha by either."""
    targets = sorted(table["target_epsilon"].unique())
    figure, axes = style.subplots(
        2, len(targets), figsize=(11.5, 6.4), sharex=True, sharey="row", squeeze=False, height_ratios=[3, 1.4]
    )
    order = sorted(table["personalization"].unique())
    choices = best(table)
    for target, ax, low in zip(targets, *axes, strict=True):
        rows, chosen = table[table["target_epsilon"] == target], choices[choices["target_epsilon"] == target]
        risk_and_bound(ax, rows, "excess_risk")
        for name, look in BEST.items():
            low.plot(chosen["samples"], [order.index(a) for a in chosen[name]], **look)
        for axes_of in (ax, low):
            _threshold(axes_of, chosen)
        ax.set_title(budget_name(target))
        low.set_yticks(range(len(order)), [f"{a:g}".replace("inf", r"$\infty$") for a in order])
        low.yaxis.set_minor_locator(NullLocator())
    style.label(axes, "samples of a user and rounds, n", "excess risk of the average iterate", r"best $\alpha N$")
    threshold: style.Look = THRESHOLD | {"label": "threshold of equation (10)"}
    return style.finish(
        figure,
        table,
        "Personalised private SGD: risk under its bound (Bietti et al. 2022, Theorem 4.5, Lemma 4.6)",
        [handles("N"), [Line2D([], [], **look) for look in (*BEST.values(), threshold)]],
        f"Step size of the theorem; {clipped_share(table)}. Epsilon at delta = 1e-4 is for the whole run, whatever its "
        "length: all users take part in every round; one user added or removed (RDP), against all others together, who "
        "see w (joint DP). The threshold is between the numbers of samples at which the exact condition of Lemma 4.6, "
        "with the calibrated noise, is and is not met. The lower panels show the best of all alpha N, also of those "
        "without a curve above (they are in the CSV).",
        differs="The paper states the bound and has no experiment: users that are alike, inputs of norm 1.",
    )


def risk_and_bound(ax: Axes, rows: pd.DataFrame, risk: str) -> None:
    """Draw the column `risk` of each alpha solid, with its interval, and its bound dashed, both axes logarithmic."""
    for a in style.present(rows, "personalization", CURVES):
        line = rows[rows["personalization"] == a]
        style.curve(ax, line, "samples", risk, **drawing.PERSONALIZATION[a])
        style.curve(ax, line, "samples", "bound", band=False, **(drawing.PERSONALIZATION[a] | BOUND))
    ax.set(xscale="log", yscale="log")


def budget_name(epsilon: float) -> str:
    """Return a budget for titles of panels."""
    return r"no noise, $\varepsilon = \infty$" if np.isinf(epsilon) else rf"$\varepsilon$ = {epsilon:g}"


def handles(divisor: str) -> list[Line2D]:
    """Legend entries of the curves, whose ratios are alpha times this divisor, and of the bound."""
    curves = drawing.alpha_handles(drawing.looks(CURVES))
    for handle in curves:
        handle.set_label(str(handle.get_label()).replace("Q", divisor))
    return [*curves, Line2D([], [], color="#444444", **BOUND, label="bound")]


def clipped_share(table: pd.DataFrame) -> str:
    """Return a sentence on how many gradients were clipped."""
    share = table["clipped"].max()
    return "no gradient was clipped" if share == 0 else f"up to {share:.2g} of the gradients were clipped"


def _threshold(ax, chosen: pd.DataFrame) -> None:
    """Draw a line half way, on the logarithmic axis, between the last n before the threshold and the first after it."""
    before = chosen.loc[chosen["local_is_better"] == 0, "samples"]
    after = chosen.loc[chosen["local_is_better"] == 1, "samples"]
    if len(before) and len(after):
        ax.axvline(np.sqrt(before.max() * after.min()), **THRESHOLD)


FIGURE = Figure(__doc__, ("ppsgd_theory",), table, draw)
