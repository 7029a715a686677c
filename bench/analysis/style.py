"""One style for all figures. A picture only shows numbers; they come from a figure's `table`."""

import math
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, overload

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from bench.analysis import cut_off, metric_limits
from bench.errors import InputError

Look = dict[str, Any]  # the properties that distinguish a line or a patch, by name
STYLE: dict[Any, Any] = {  # changes of matplotlib's defaults
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
PRINTED: dict[Any, Any] = {  # changes of STYLE for a journal's column, where all text has the size of a caption
    "font.size": 8,
    "axes.titlesize": 8,
    "legend.fontsize": 8,
    "lines.linewidth": 1.1,
    "lines.markersize": 3.2,
    "axes.linewidth": 0.6,
}
TITLE = 11  # points
LEAST = 0.4  # least share of a picture's own width; below it panels are too narrow for this text
_printed_width: ContextVar[float | None] = ContextVar("printed width", default=None)


@contextmanager
def applied(width: float | None = None) -> Iterator[None]:
    """Draw and save in the suite's style, whatever the caller's; afterwards the caller's style is restored.

    Args:
        width: inches, of a picture for print: `subplots` gives it this width, text has 8 points, and title and footer
            are left out, since the caption contains them; None for the picture's own width.
    """
    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # does not change the backend
        matplotlib.rcParams.update(STYLE if width is None else STYLE | PRINTED)
        before = _printed_width.set(width)
        try:
            yield
        finally:
            _printed_width.reset(before)


class TooNarrow(InputError):
    """The width for print leaves the panels of a picture no room.

    Attributes:
        width: in inches, as asked for.
        least: in inches.
    """

    def __init__(self, width: float, least: float, name: str = "this picture"):
        super().__init__(f"a width of {width:g} inches is too narrow for {name}: give {least:g} or more")
        self.width, self.least = width, least

    def of(self, name: str) -> "TooNarrow":
        """Return the same error, with the name of the picture."""
        return TooNarrow(self.width, self.least, name)


@overload
def subplots(*, figsize: tuple[float, float]) -> tuple[Figure, Axes]: ...


@overload
def subplots(rows: int, columns: int, *, figsize: tuple[float, float], **layout) -> tuple[Figure, np.ndarray]: ...


def subplots(rows: int = 1, columns: int = 1, *, figsize: tuple[float, float], **layout) -> tuple[Figure, Any]:
    """Return a figure without a window, and its axes, as from `Figure.subplots`.

    Args:
        figsize: width and height in inches.
        layout: further arguments of `Figure.subplots`.

    Raises:
        TooNarrow: (an InputError) where the width for print is too small for the picture.
    """
    width = _printed_width.get()
    if width is not None:
        least = math.ceil(round(100 * LEAST * figsize[0], 6)) / 100
        if width < least:
            raise TooNarrow(width, least)
        figsize = (width, 1.15 * figsize[1] * width / figsize[0])  # text does not shrink, so panels need more height
    figure = Figure(figsize=figsize)
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, **layout)


def literal(text: str) -> str:
    """Escape a text from outside, such as the name of a file, so that a dollar sign begins no formula."""
    return text.replace("$", r"\$")


def head(figure: Figure, title: str, *legends: Sequence[Line2D]) -> None:
    """Draw title and rows of legend above the panels, at a fixed distance for any height; no title in print.

    A row that is wider than the figure is broken into several, and so is a title, after its colon. Intervals of shares
    are limited to 0 and 1.
    """
    _hold_shares(figure)
    printed = _printed_width.get() is not None
    title = "" if printed else _folded_title(figure, title)
    if printed and len(figure.axes) == 1:
        legends = (*legends, *_taken_out(figure.axes[0]))
    rows = [row for handles in legends for row in _rows(figure, handles)]
    if printed:
        figure.set_figheight(figure.get_figheight() + 0.17 * len(rows))
    further = 0.18 * title.count("\n")
    figure.set_figheight(figure.get_figheight() + further)
    above, inch = 0.0 if printed else 0.26 + further, 1 / figure.get_figheight()
    room = above + (0.02 if printed else 0.07) + 0.2 * len(rows)
    figure.tight_layout(w_pad=0.6 if printed else 1.5, rect=(0, 0, 1, 1 - room * inch))
    if printed:
        _fold_labels(figure)
        figure.tight_layout(w_pad=0.6, rect=(0, 0, 1, 1 - room * inch))
    else:
        figure.suptitle(title, y=1 - 0.05 * inch, va="top", fontsize=TITLE)
    for place, handles in enumerate(rows):
        _legend(figure, handles, 1 - (above + 0.19 * place) * inch)


def _folded_title(figure: Figure, title: str) -> str:
    """Break a title that is wider than the figure after its colon."""
    drawn = figure.text(0, 0, title, fontsize=TITLE)
    too_wide = drawn.get_window_extent().width > figure.bbox.width
    drawn.remove()
    return title.replace(": ", ":\n", 1) if too_wide else title


def _legend(figure: Figure, handles: Sequence[Line2D], top: float):
    """Draw a row of legend, more closely spaced in print."""
    close: Look = {"columnspacing": 1.0, "handlelength": 1.6, "handletextpad": 0.4, "borderaxespad": 0.2}
    look = {} if _printed_width.get() is None else close
    return figure.legend(handles=handles, loc="upper center", ncol=len(handles), bbox_to_anchor=(0.5, top), **look)


def _rows(figure: Figure, handles: Sequence[Line2D]) -> list[Sequence[Line2D]]:
    """Divide a row of legend into rows of about the same length that fit the figure's width."""
    for number in range(1, len(handles) + 1):
        size = -(-len(handles) // number)
        rows = [handles[at : at + size] for at in range(0, len(handles), size)]
        legends = [_legend(figure, row, 1.0) for row in rows]
        widths = [legend.get_window_extent().width for legend in legends]
        for legend in legends:
            legend.remove()
        if max(widths) <= figure.bbox.width:
            return rows
    return [[handle] for handle in handles]


def _taken_out(ax: Axes) -> list[list[Any]]:
    """Remove the legend within the axes and return it, to be drawn above a panel that is too narrow for it."""
    legend = ax.get_legend()
    if legend is None:
        return []
    for handle, text in zip(legend.legend_handles, legend.texts, strict=True):
        if handle is not None:
            handle.set_label(text.get_text())
    legend.remove()
    return [[handle for handle in legend.legend_handles if handle is not None]]


def _fold_labels(figure: Figure) -> None:
    """Break labels of vertical axes that are longer than their axis into several lines."""
    for ax in figure.axes:
        label, height = ax.yaxis.label, ax.get_window_extent().height
        longest = label.get_window_extent().height
        if label.get_text() and longest > height:
            lines = label.get_text().split("\n")
            letters = max(8, int(max(map(len, lines)) * height / longest))
            label.set_text("\n".join(part for line in lines for part in textwrap.wrap(line, letters)))


def _hold_shares(figure: Figure) -> None:
    """Limit axes of shares (`percent`), and the intervals on them, to 0 and 1."""
    for ax in figure.axes:
        formatter = ax.yaxis.get_major_formatter()
        if not (isinstance(formatter, FuncFormatter) and formatter.func is _as_percent):
            continue
        low, high = ax.get_ylim()
        ax.set_ylim(max(low, -SLACK), min(high, 1 + SLACK))
        low, high = max(low, 0), min(high, 1)
        for artist in [*ax.collections, *ax.patches]:
            artist.set_clip_path(Rectangle((0, low), 1, high - low, transform=ax.get_yaxis_transform()))


def present(table: pd.DataFrame, column: str, order: Iterable) -> list:
    """Return the values of `order` that occur in the column, in that order."""
    return [value for value in order if (table[column] == value).any()]


@contextmanager
def same_limits(ax: Axes) -> Iterator[None]:
    """Keep the limits of the axes whatever is drawn within."""
    limits = ax.dataLim.frozen()
    yield
    ax.dataLim.set(limits)


def curve(ax: Axes, table: pd.DataFrame, x: str, y: str, *, band: bool = True, **look) -> None:
    """Draw a line, where it has values, with its interval as a band that does not stretch the axes."""
    table = table.sort_values(x)
    if not np.isfinite(table[y]).any():
        return
    ax.plot(table[x], table[y], **look)
    if band and np.isfinite(table["low"]).any():
        table = metric_limits.within(table, y)
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


SLACK = 0.005  # extension of an axis of shares beyond 0 and 1, for markers there


def percent(axis) -> None:
    """Set ticks of a share as percent, with the decimals that they need."""
    axis.set_major_locator(MaxNLocator(10 if _printed_width.get() is None else 6, steps=[1, 2, 5, 10]))
    axis.set_major_formatter(FuncFormatter(_as_percent))


def _as_percent(value: float, _) -> str:
    return f"{round(100 * value, 6):g}%"


def plain_log_ticks(axis, subs: Sequence[float] = (1,)) -> None:
    """Set ticks at these multiples of each power of ten, written as plain numbers, or all with powers of ten where the
    axis goes below 0.001.
    """

    def label(value: float, _) -> str:
        if axis.get_view_interval()[0] >= 1e-3:
            return f"{value:g}"
        digits, power = f"{value:.1e}".split("e")
        times = "" if float(digits) == 1 else rf"{float(digits):g}\cdot"
        return f"${times}10^{{{int(power)}}}$"

    axis.set_major_locator(LogLocator(subs=subs, numticks=12))
    axis.set_major_formatter(FuncFormatter(label))
    axis.set_minor_locator(NullLocator())


CUT = "Curves or intervals that go beyond a panel are cut off there."
UNEQUAL = "(more of some numbers than of others)"


def footer(
    figure: Figure,
    table: pd.DataFrame,
    *notes: str,
    bands: str = "bands",
    unequal: str = UNEQUAL,
    running: bool = False,
) -> None:
    """Draw source, scale, repetitions and how to read the figure under it; each note begins a line. A last line says
    where panels cut something off.

    A table of geometric means declares them in a column "mean". The scale of a comparison is empty, since it has none.

    Args:
        bands: the marks that show the intervals.
        unequal: why some numbers are based on fewer repetitions than others, in brackets. Counts alone do not tell
            whether runs are missing, so a figure that knows of missing runs says so in a note.
        running: whether the notes follow each other in one paragraph, which takes less room.
    """
    if _printed_width.get() is not None:
        return  # the caption contains it
    facts, counts = table.iloc[0], table["repetitions"].dropna().astype(int)
    few, many = counts.min(), counts.max()
    repetitions = f"{few} to {many} repetitions {unequal}" if few < many else f"{many} repetitions"
    mean = "geometric mean" if "mean" in table and set(table["mean"].dropna()) == {"geometric"} else "mean"
    shown = f"; shown is the {mean}, {bands} are its 95 % intervals" if mean != "mean" else ""
    shown = shown or f"; {bands} are 95 % intervals of the mean over them"
    intervals = f"{repetitions}{shown}" if many > 1 else "1 repetition, no intervals"
    at = f"Scale: {facts['scale']}, {intervals}" if facts["scale"] else intervals
    named = all(name in str(facts["source"]) for name in str(facts["task"]).split(", "))
    task = "" if named else f" (task {facts['task']})"
    data = literal(f"Data: {facts['source']}{task}. {at}.")
    cut = CUT if any(cut_off.goes_beyond(ax) for ax in figure.axes) else ""
    width = int(figure.get_figwidth() * 18)
    parts = [note for note in (data, *notes, cut) if note]
    lines = [line for note in ([" ".join(parts)] if running else parts) for line in textwrap.wrap(note, width)]
    figure.text(0.01, -0.01, "\n".join(lines), fontsize=7.5, color="#444444", va="top", linespacing=1.35)
