"""The look of the figures of Bellet et al. 2018: a colour and a marker for each series, published curves paler."""

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from bench.analysis import style
from bench.analysis.looks import own_or_next
from figures.p2p.common import DESCENT, EXACT, LOCAL, NON_PRIVATE, budget_of, here, matching
from figures.shared.published import PUBLISHED

MARKERS = "osD^vP"
LOOKS: dict[str, style.Look] = {
    LOCAL: {"color": "#555555", "marker": "x"},
    NON_PRIVATE: {"color": "#12355b", "marker": ">"},
    "CD": {"color": "#12355b", "marker": "o"},
    "ADMM": {"color": "#e07b39", "marker": "s"},
    "ADMM at its best penalty": {"color": "#a8501a", "marker": "", "linewidth": 1.0},
}
SCALE = ["#e6a532", "#e07b39", "#c8443c", "#a02c6b", "#7a3b9a", "#3c78b4"]  # of ordered series, from light to dark
GREY: style.Look = {"color": "#b4b4b4", "linestyle": "-", "linewidth": 3.2, "alpha": 0.75, "zorder": 1.5, "marker": ""}
NEUTRAL: style.Look = {"color": "#444444"}  # of a legend entry that is about several series
SECOND: style.Look = {"linestyle": (0, (4, 2))}
NAMES = {
    "iterations": "iterations",
    "vectors_sent": "vectors sent",
    "num_features": "features $p$",
    "num_examples": "training examples of the agent",
    "objective": "objective $Q(\\Theta)$",
    "test_accuracy": "test accuracy, mean over agents",
}


def looks(series: Iterable[str]) -> dict[str, style.Look]:
    """Return a look for each series: its own, or the next of the ordered colours."""
    return own_or_next(series, LOOKS, SCALE, MARKERS)


def budgets(table: pd.DataFrame) -> list[str]:
    """Return the series of private runs, the smallest epsilon first."""
    names = here(table)["series"].unique()
    return sorted((name for name in names if name.startswith("epsilon ")), key=budget_of)


def within(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table without published points beyond our range of x, as a sweep may have some numbers of features
    only."""
    measured = here(table)["x"]
    return table[table["x"].between(measured.min(), measured.max())]


def behind(ax: Axes, table: pd.DataFrame, look: Mapping[str, style.Look], **values) -> None:
    """Draw the published curves with these values, broad and in paler colours than ours of the same series."""
    for series, line in table[matching(table, origin=PUBLISHED, **values)].groupby("series"):
        ax.plot(line["x"], line["y"], **broad(look, str(series)))


def broad(look: Mapping[str, style.Look], series: str) -> style.Look:
    """Return the look of the published curve of a series: broad, and in a paler colour than ours if ours has one."""
    return GREY | ({"color": style.pale(look[series]["color"]), "alpha": 1.0} if series in look else {})


def draw(
    ax: Axes, table: pd.DataFrame, look: Mapping[str, style.Look], variants: Mapping[str, style.Look], **values
) -> None:
    """Draw the published curves, and ours with intervals before them: one look per series, one line style per variant.

    Args:
        table: in the long form, with a column "variant" for our runs.
        look: series -> look.
        variants: variant -> properties of its lines that replace those of the look.
        values: column -> value, for the rows of this panel.
    """
    behind(ax, table, look, **values)
    rows = here(table, **values)
    for name, style_of in look.items():
        for variant, change in variants.items():
            line = rows[(rows["series"] == name) & (rows["variant"] == variant)]
            every: style.Look = {"markevery": 0.12} if len(line) > 12 else {}
            style.curve(ax, line, "x", "y", **(style_of | every | change))
    if rows.empty or not np.isfinite(rows["y"]).any():
        style.nothing(ax, rows)


def handles(look: Mapping[str, style.Look], names: Mapping[str, str] | None = None) -> list[Line2D]:
    """Legend entries of the series, by other names where given."""
    return [Line2D([], [], label=(names or {}).get(name, symbol(name)), **style_of) for name, style_of in look.items()]


def symbol(name: str) -> str:
    """Return the name of a series in the legend."""
    return name.replace("epsilon ", r"$\varepsilon$ = ").replace("T/n", "$T/n$").replace("mu ", r"$\mu$ ")


def variant_handles(variants: Mapping[str, style.Look]) -> list[Line2D]:
    """Legend entries that tell variants apart."""
    return [Line2D([], [], label=symbol(name), **(NEUTRAL | change)) for name, change in variants.items() if name]


def published_handles(table: pd.DataFrame, look: Mapping[str, style.Look] | None = None) -> list[Line2D]:
    """Return the legend entries of published curves, where there are any: one for all, or each of `look` its own."""
    points = table[table["origin"] == PUBLISHED]
    if look is None:
        return [Line2D([], [], label="published (paler)", **GREY)] if len(points) else []
    names = style.present(points, "series", look)
    return [Line2D([], [], label=f"published, {symbol(name)}", **broad(look, name)) for name in names]


def local_handles() -> list[Line2D]:
    """Legend entries of the two kinds of local models, the second dashed."""
    looks = {EXACT: LOOKS[LOCAL], DESCENT: LOOKS[LOCAL] | SECOND}
    return handles(looks, {name: f"local: {name}" for name in looks})


def feature_axis(ax: Axes, table: pd.DataFrame) -> None:
    """Use a logarithmic axis with a tick for each number of features."""
    style.ticks(ax, sorted(here(table)["x"].unique()))
    ax.set_xlabel(NAMES["num_features"])


def accuracy_by_features(
    table: pd.DataFrame,
    look: Mapping[str, style.Look],
    variants: Mapping[str, style.Look],
    size: tuple[float, float] = (8.5, 5.2),
) -> style.Sheet:
    """Return a figure of one panel, the accuracy against the number of features, `size` in inches; see `draw`."""
    figure, ax = style.subplots(figsize=size)
    draw(ax, table, look, variants)
    feature_axis(ax, table)
    ax.set_ylabel(NAMES["test_accuracy"])
    style.percent(ax.yaxis)
    return figure
