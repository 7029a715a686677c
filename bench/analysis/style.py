"""One look for all figures. A picture shows numbers and makes none: they come from a figure's `table`."""

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, overload

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from bench.analysis.files import written_whole

Look = dict[str, Any]  # what distinguishes a line or a patch: its properties, by name
STYLE: dict[Any, Any] = {  # beyond matplotlib's defaults
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


@contextmanager
def applied() -> Iterator[None]:
    """What is drawn and saved within has the suite's style, whatever the caller's; afterwards the caller's is back."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # leaves the backend alone
        matplotlib.rcParams.update(STYLE)
        yield


@overload
def subplots(*, figsize: tuple[float, float]) -> tuple[Figure, Axes]: ...


@overload
def subplots(rows: int, columns: int, *, figsize: tuple[float, float], **layout) -> tuple[Figure, np.ndarray]: ...


def subplots(rows: int = 1, columns: int = 1, *, figsize: tuple[float, float], **layout) -> tuple[Figure, Any]:
    """A figure that no window knows of, and its axes, as `Figure.subplots` gives them.

    Args:
        figsize: width and height in inches.
        layout: further arguments of `Figure.subplots`.
    """
    figure = Figure(figsize=figsize)
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, **layout)


def literal(text: str) -> str:
    """A text of somebody's, such as the name of a file, in which a dollar sign begins no formula."""
    return text.replace("$", r"\$")


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


def percent(axis) -> None:
    """Ticks of a share, as percent, with as many decimals as they need."""
    axis.set_major_locator(MaxNLocator(10, steps=[1, 2, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{round(100 * value, 6):g}%"))


def plain_log_ticks(axis, subs: Sequence[float] = (1,)) -> None:
    """Ticks at these multiples of each power of ten, written as plain numbers."""
    axis.set_major_locator(LogLocator(subs=subs, numticks=12))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(NullLocator())


UNFINISHED = "(the runs are not complete)"


def footer(figure: Figure, table: pd.DataFrame, *notes: str, bands: str = "bands", unequal: str = UNFINISHED) -> None:
    """Source, scale, repetitions and how to read the figure, under it; a note each begins a line.

    A table of geometric means says so in a column "mean".

    Args:
        bands: what shows the intervals.
        unequal: why some numbers rest on fewer repetitions than others.
    """
    facts, counts = table.iloc[0], table["repetitions"].dropna().astype(int)
    few, many = counts.min(), counts.max()
    repetitions = f"{few} to {many} repetitions {unequal}" if few < many else f"{many} repetitions"
    mean = "geometric mean" if "mean" in table and set(table["mean"].dropna()) == {"geometric"} else "mean"
    shown = f"; shown is the {mean}, {bands} are its 95 % intervals" if mean != "mean" else ""
    shown = shown or f"; {bands} are 95 % intervals of the mean over them"
    intervals = f"{repetitions}{shown}" if many > 1 else "1 repetition, no intervals"
    data = literal(f"Data: {facts['source']} (task {facts['task']}). Scale: {facts['scale']}, {intervals}.")
    width = int(figure.get_figwidth() * 18)
    lines = [line for note in (data, *notes) if note for line in textwrap.wrap(note, width)]
    figure.text(0.01, -0.01, "\n".join(lines), fontsize=7.5, color="#444444", va="top", linespacing=1.35)


def save(figure: Figure, table: pd.DataFrame, folder: Path, name: str) -> list[Path]:
    """PNG, PDF and the numbers behind them as CSV; nothing in them depends on the hour."""
    paths = [folder / f"{name}.{kind}" for kind in ("png", "pdf", "csv")]
    with applied(), written_whole(paths) as (png, pdf, csv):
        figure.savefig(png, bbox_inches="tight", metadata={"Software": None})
        figure.savefig(pdf, bbox_inches="tight", metadata=dict.fromkeys(("CreationDate", "Producer", "Creator")))
        table.to_csv(csv, index=False, float_format="%.6g")
    return paths
