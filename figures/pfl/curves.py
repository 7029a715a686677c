"""Code shared by the curves of Bhaskar et al. 2025: a look for each model, and published accuracies broad and pale."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from bench.analysis import style
from figures.pfl import common

# Networks on pixels warm, on scattering features blue.
LOOKS: dict[str, style.Look] = {
    "CNN+RL": {"color": "#c8443c", "marker": "o"},
    "CNN+TS": {"color": "#e6a532", "marker": "s"},
    "SN+Lin": {"color": "#12355b", "marker": "D"},
    "SN+CNN": {"color": "#3c78b4", "marker": "^"},
}
CROSS: style.Look = {"linestyle": "", "marker": "x", "markersize": 8, "markeredgewidth": 2.0}
BEHIND: style.Look = {"linewidth": 2.6, "zorder": 1.5}


def panel(ax: Axes, table: pd.DataFrame, x: str) -> None:
    """Accuracy of each model against x with its interval, and what is published behind it, broad and paler.

    A line is broken where something published was not run.
    """
    behind(ax, table, x)
    ours(ax, table, x)


def behind(ax: Axes, table: pd.DataFrame, x: str, **change) -> None:
    """Draw the published accuracies, broad and paler."""
    for name, look in LOOKS.items():
        line = table[table["algorithm"] == name].sort_values(x)
        paler: style.Look = look | BEHIND | {"color": style.pale(look["color"])} | change
        ax.plot(line[x], line["published"], **paler)


def ours(ax: Axes, table: pd.DataFrame, x: str) -> None:
    """Draw the accuracies here, with intervals within the axes, or write that there are none."""
    for name, look in LOOKS.items():
        line = table[table["algorithm"] == name]
        style.curve(ax, line, x, "test_accuracy", **look)
        if len(lost := diverged(line)):
            ax.plot(lost[x], lost["with_diverged"], color=look["color"], **CROSS)
    style.stretch(ax, table[table["algorithm"].isin(LOOKS)], x)
    if not table["test_accuracy"].notna().any():
        style.nothing(ax, table[table["repetitions"] > 0])


def diverged(table: pd.DataFrame) -> pd.DataFrame:
    """Return the cells in which a run diverged, with the mean accuracy that counts such runs as 0 % in
    "with_diverged"."""
    lost = table[table["diverged"] > 0] if "diverged" in table else table[:0].assign(accuracy_of_finite=0.0, diverged=0)
    share = 1 - lost["diverged"] / lost["repetitions"]
    return lost.assign(with_diverged=lost["accuracy_of_finite"].fillna(0.0) * share)


def gaps(table: pd.DataFrame) -> str:
    """Return a sentence on interrupted lines: at how many cells, and why; empty where there are none."""
    empty = table[table["test_accuracy"].isna()]
    absent = empty["repetitions"].isna()
    counts = {"not run": absent.sum(), "with a run that diverged": (~absent).sum()}
    reasons = ", ".join(f"{count} {why}" for why, count in counts.items() if count)
    return f"Lines are interrupted at {len(empty)} of {len(table)} cells ({reasons})." if reasons else ""


def finish(
    figure: style.Sheet, table: pd.DataFrame, title: str, *notes: str, differs: str = "", further: Sequence[Line2D] = ()
) -> style.Sheet:
    """Keep axes within 0 and 100 %, and add the legend, with further entries, and the footer."""
    for ax in figure.axes:
        low, high = ax.get_ylim()
        ax.set_ylim(max(low, 0), min(high, 1.005))
    handles = style.handles(table, "algorithm", LOOKS)
    published: style.Look = BEHIND | {"color": style.pale("#444444"), "marker": "o"}
    handles.append(Line2D([], [], label="published (paler)", **published))
    if len(diverged(table)):
        handles.append(Line2D([], [], label="mean with diverged runs as 0 %", color="#444444", **CROSS))
    notes = common.privacy_note(table), common.training_note(table), *notes
    seeds = table["repetitions"].dropna()
    single = f"({(seeds == 1).sum()} of {len(seeds)} points are single runs)"
    return style.finish(figure, table, title, [[*handles, *further]], *notes, differs=differs, unequal=single)
