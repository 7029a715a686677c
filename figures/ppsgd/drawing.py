"""The look of the figures of Bietti et al. 2022: a colour and a marker for each personalisation, epsilon in green."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from bench.analysis import style
from bench.analysis.looks import own_or_next

# Local learning is grey, global learning dark blue, and values in between go from light to dark. Each has its own
# marker, for print in grey and for readers who cannot distinguish red from green.
PERSONALIZATION: dict[float, style.Look] = {
    0.0: {"color": "#8c8c8c", "marker": "x"},
    0.1: {"color": "#e6a532", "marker": "o"},
    0.3: {"color": "#e07b39", "marker": "s"},
    1.0: {"color": "#c8443c", "marker": "^"},
    3.0: {"color": "#a02c6b", "marker": "D"},
    10.0: {"color": "#7a3b9a", "marker": "v"},
    30.0: {"color": "#5a4fb0", "marker": "P"},
    100.0: {"color": "#3c78b4", "marker": "<"},
    math.inf: {"color": "#12355b", "marker": ">"},
}
EPSILON_COLOR = "#2a8a4a"
NEUTRAL: style.Look = {"color": "#444444"}  # of legend entries for several curves
# Of the second way of tuning, where two share a panel.
SECOND: style.Look = {"linestyle": ":", "linewidth": 1.1, "marker": ""}


# Of values that the paper does not have.
OTHER_COLORS = ("#2b9a8b", "#8f6b32", "#b0518f", "#6c8f2b", "#444f8f", "#9a4a2b")
OTHER_MARKERS = "*hXpd8"


def looks(curves: Iterable[float]) -> dict[float, style.Look]:
    """Return a look for each personalisation: its own, or the next of the looks for values that the paper does not
    have."""
    return own_or_next(curves, PERSONALIZATION, OTHER_COLORS, OTHER_MARKERS)


def personalization_label(a: float) -> str:
    """Return a personalisation as in the paper's legend: alpha Q."""
    if a == 0:
        return r"$\alpha Q = 0$ (local)"
    if math.isinf(a):
        return r"$\alpha Q = \infty$ (global)"
    return rf"$\alpha Q = {a:g}$"


def alpha_handles(of: Mapping[float, style.Look], ratio: float = 1.0) -> list[Line2D]:
    """Legend entries of personalisations with their looks, which are `ratio` times alpha Q."""
    return [Line2D([], [], label=personalization_label(a / ratio), **look) for a, look in of.items()]


def curves(ax: Axes, table: pd.DataFrame, x: str, y: str, order: Sequence[float], tunings: Sequence[str]) -> None:
    """A line for each personalisation; the first way of tuning solid with markers and band, the second dotted."""
    for number, (a, own) in enumerate(looks(order).items()):
        look = own | {"markevery": (0.02 * number, 0.15)}
        for place, tuning in enumerate(tunings):
            line = table[(table["personalization"] == a) & (table["tuned_on"] == tuning)]
            style.curve(ax, line, x, y, band=place == 0, **(look | SECOND if place else look))
    if not ax.lines:
        style.nothing(ax, table)


def tuning_handles(tunings: Sequence[str], titles: dict[str, str]) -> list[Line2D]:
    """Legend entries that tell ways of tuning apart, where two share a panel."""
    looks: list[style.Look] = [{}, SECOND]
    return [Line2D([], [], **(NEUTRAL | look), label=titles[t]) for t, look in zip(tunings, looks, strict=False)]


def with_epsilon(
    table: pd.DataFrame, panels: Sequence[float], rows: int, height: float
) -> tuple[style.Sheet, np.ndarray]:
    """Rows of panels, a column for each noise level, and under them epsilon; [rows + 1, columns] axes that share
    rounds."""
    columns = len(panels)
    figure, axes = style.subplots(
        rows + 1,
        columns,
        figsize=(max(11.5, 2.9 * columns), height * rows + 1.6),
        sharex=True,
        sharey="row",
        squeeze=False,
        height_ratios=[*[height] * rows, 0.8],
    )
    axes[0, 0].xaxis.set_major_locator(MaxNLocator(5))
    for ax, low, sigma in zip(axes[0], axes[-1], panels, strict=True):
        panel = table[table["noise_multiplier"] == sigma]
        noise_title(ax, panel, sigma)
        epsilon(low, panel)
    axes[-1, 0].set_ylabel(r"$\varepsilon$", color=EPSILON_COLOR)
    style.plain_log_ticks(axes[-1, 0].yaxis)
    return figure, axes


def epsilon(ax: Axes, panel: pd.DataFrame) -> None:
    """Draw epsilon so far: as the paper accounts (dashed), and for one user replaced, unamplified (dotted)."""
    spent = panel[panel["personalization"] > 0].drop_duplicates("rounds").sort_values("rounds")
    words = "no runs" if spent.empty else r"$\varepsilon = \infty$"
    spent = spent[np.isfinite(spent["epsilon"]) & (spent["epsilon"] > 0)]
    ax.set_xlabel("communication rounds")
    ax.set_yscale("log")
    ax.tick_params(axis="y", colors=EPSILON_COLOR)
    if spent.empty:
        ax.text(0.5, 0.5, words, transform=ax.transAxes, ha="center", color=EPSILON_COLOR)
        return
    ax.plot(spent["rounds"], spent["epsilon"], "--", color=EPSILON_COLOR)
    ax.plot(spent["rounds"], spent["epsilon_worst_case"], ":", color=EPSILON_COLOR)


def noise_title(ax: Axes, panel: pd.DataFrame, sigma: float) -> None:
    """Set the title of a panel: its noise and its final epsilon."""
    spent = panel[panel["personalization"] > 0].sort_values("rounds")["epsilon"]
    final = "" if spent.empty else f", final {epsilon_label(spent.iloc[-1])}"
    ax.set_title(rf"$\sigma$ = {sigma:g}{final}")


def epsilon_label(epsilon: float) -> str:
    """Return an epsilon with two digits for legends and titles."""
    return rf"$\varepsilon$ = {float(f'{epsilon:.2g}'):g}".replace("inf", r"$\infty$")


def epsilon_handles() -> list[Line2D]:
    """Legend entries of the row of epsilon."""
    words: dict[Any, str] = {
        "--": r"$\varepsilon$ as the paper accounts",
        ":": r"$\varepsilon$, one user replaced, no amplification",
    }
    return [Line2D([], [], color=EPSILON_COLOR, linestyle=line, label=label) for line, label in words.items()]
