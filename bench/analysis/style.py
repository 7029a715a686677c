"""One look for all figures. A picture shows numbers and makes none: they come from a figure's `table`."""

import math
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

plt.rcParams.update(
    {
        "figure.dpi": 100,
        "savefig.dpi": 160,
        "font.size": 9,
        "axes.titlesize": 9.5,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.alpha": 0.25,
        "grid.linewidth": 0.6,
        "lines.linewidth": 1.5,
        "lines.markersize": 4.5,
        "legend.frameon": False,
        "legend.fontsize": 8.5,
        "pdf.fonttype": 42,
    }
)

# Local learning grey, global dark blue, in between from light to dark; each with a marker of its own, for print in
# grey and for eyes that do not tell red from green.
PERSONALIZATION: dict[float, dict] = {
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
SECOND = {"linestyle": ":", "linewidth": 1.1, "marker": ""}  # of a second way of tuning, where two share a panel


def personalization_label(a: float) -> str:
    """The paper's legend: alpha Q."""
    if a == 0:
        return r"$\alpha Q = 0$ (local)"
    if math.isinf(a):
        return r"$\alpha Q = \infty$ (global)"
    return rf"$\alpha Q = {a:g}$"


def personalization_handles(curves: Iterable[float]) -> list[Line2D]:
    """Legend entries of the curves."""
    return [Line2D([], [], label=personalization_label(a), **PERSONALIZATION[a]) for a in curves]


def head(figure: Figure, title: str, *legends: Sequence[Line2D]) -> None:
    """Title and rows of legend above the panels, at the same distance whatever the figure's height."""
    inch = 1 / figure.get_figheight()
    figure.tight_layout(w_pad=1.5, rect=(0, 0, 1, 1 - (0.33 + 0.2 * len(legends)) * inch))
    figure.suptitle(title, y=1 - 0.05 * inch, va="top", fontsize=11)
    for place, handles in enumerate(legends):
        above = (0.5, 1 - (0.26 + 0.19 * place) * inch)
        figure.legend(handles=handles, loc="upper center", ncol=len(handles), bbox_to_anchor=above)


def present(table: pd.DataFrame, column: str, order: Iterable) -> list:
    """The values of `order` that occur in the column, in that order."""
    return [value for value in order if (table[column] == value).any()]


@contextmanager
def same_limits(ax: Axes) -> Iterator[None]:
    """What is drawn within does not stretch the axes."""
    limits = ax.dataLim.frozen()
    yield
    ax.dataLim.set(limits)


def curve(ax: Axes, table: pd.DataFrame, x: str, y: str, *, band: bool = True, **look) -> None:
    """A line with its interval as a band, which does not stretch the axes; nothing where there is no value."""
    table = table.sort_values(x)
    if not np.isfinite(table[y]).any():
        return
    ax.plot(table[x], table[y], **look)
    if band and np.isfinite(table["low"]).any():
        with same_limits(ax):
            ax.fill_between(table[x], table["low"], table["high"], color=look["color"], alpha=0.15, linewidth=0)


def curves(ax: Axes, table: pd.DataFrame, x: str, y: str, order: Sequence[float], tunings: Sequence[str]) -> None:
    """A line for each personalisation; the first way of tuning solid with markers and band, the second dotted."""
    for number, a in enumerate(order):
        look = PERSONALIZATION[a] | {"markevery": (0.02 * number, 0.15)}
        for place, tuning in enumerate(tunings):
            line = table[(table["personalization"] == a) & (table["tuned_on"] == tuning)]
            curve(ax, line, x, y, band=place == 0, **(look | SECOND if place else look))
    if not ax.lines:
        nothing(ax, table)


def tuning_handles(tunings: Sequence[str], titles: dict[str, str]) -> list[Line2D]:
    """Legend entries that tell ways of tuning apart, where two share a panel."""
    looks = [{}, SECOND]
    return [
        Line2D([], [], **({"color": "#444444"} | look), label=titles[t])
        for t, look in zip(tunings, looks, strict=False)
    ]


def nothing(ax: Axes, table: pd.DataFrame) -> None:
    """Say why a panel is empty: there are no rows for it, or all of them diverged."""
    ax.text(
        0.5,
        0.5,
        "no runs" if table.empty else "all runs diverged",
        transform=ax.transAxes,
        ha="center",
        va="center",
        color="#777777",
    )


def with_epsilon(rows: int, columns: int, height: float) -> tuple[Figure, np.ndarray]:
    """Rows of panels and, under them, a low row for epsilon; [rows + 1, columns] axes that share rounds."""
    figure, axes = plt.subplots(
        rows + 1,
        columns,
        figsize=(11.5, height * rows + 1.9),
        sharex=True,
        sharey="row",
        squeeze=False,
        height_ratios=[*[height] * rows, 1.1],
    )
    axes[0, 0].xaxis.set_major_locator(MaxNLocator(5))
    return figure, axes


def epsilon(ax: Axes, panel: pd.DataFrame) -> None:
    """epsilon so far: as the paper accounts (dashed), and where one user is replaced, unamplified (dotted)."""
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
    """The noise of a panel and the epsilon that it ends with."""
    spent = panel[panel["personalization"] > 0].sort_values("rounds")["epsilon"]
    final = "" if spent.empty else f", final $\\varepsilon$ = {float(f'{spent.iloc[-1]:.2g}'):g}"
    ax.set_title(rf"$\sigma$ = {sigma:g}{final}".replace("inf", r"$\infty$"))


def epsilon_handles() -> list[Line2D]:
    """Legend entries of the row of epsilon."""
    looks = (
        ("--", r"$\varepsilon$ as the paper accounts"),
        (":", r"$\varepsilon$, one user replaced, no amplification"),
    )
    return [Line2D([], [], color=EPSILON_COLOR, linestyle=style, label=label) for style, label in looks]


def percent(axis) -> None:
    """Ticks of a share, as percent, with as many decimals as they need."""
    axis.set_major_locator(MaxNLocator(10, steps=[1, 2, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{round(100 * value, 6):g}%"))


def plain_log_ticks(axis, subs: Sequence[int] = (1,)) -> None:
    """Ticks at these multiples of each power of ten, written as plain numbers."""
    axis.set_major_locator(LogLocator(subs=subs, numticks=12))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(NullLocator())


UNFINISHED = "(the runs are not complete)"


def footer(figure: Figure, table: pd.DataFrame, *notes: str, bands: str = "bands", unequal: str = UNFINISHED) -> None:
    """Source, scale, repetitions and how to read the figure, under it; a note each begins a line.

    Args:
        bands: what shows the intervals.
        unequal: why some numbers rest on fewer repetitions than others.
    """
    facts, counts = table.iloc[0], table["repetitions"].dropna().astype(int)
    few, many = counts.min(), counts.max()
    repetitions = f"{few} to {many} repetitions {unequal}" if few < many else f"{many} repetitions"
    intervals = (
        f"{repetitions}; {bands} are 95 % intervals of the mean over them" if many > 1 else "1 repetition, no intervals"
    )
    data = f"Data: {facts['source']} (task {facts['task']}). Scale: {facts['scale']}, {intervals}."
    width = int(figure.get_figwidth() * 18)
    lines = [line for note in (data, *notes) if note for line in textwrap.wrap(note, width)]
    figure.text(0.01, -0.01, "\n".join(lines), fontsize=7.5, color="#444444", va="top", linespacing=1.35)


def save(figure: Figure, table: pd.DataFrame, folder: Path, name: str) -> list[Path]:
    """PNG, PDF and the numbers behind them as CSV; nothing in them depends on the hour."""
    paths = [folder / f"{name}.{kind}" for kind in ("png", "pdf", "csv")]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        figure.savefig(paths[0], bbox_inches="tight", metadata={"Software": None})
        figure.savefig(paths[1], bbox_inches="tight", metadata=dict.fromkeys(("CreationDate", "Producer", "Creator")))
        table.to_csv(paths[2], index=False, float_format="%.6g")
    finally:
        plt.close(figure)
    return paths
