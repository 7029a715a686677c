"""One style for all figures. A picture only shows numbers; they come from a figure's `table`.

A picture for print has the width of a journal's column. Its arrangement follows from the width here, for all figures:
columns of panels that do not fit are stacked, titles, labels and legends are broken into lines, and ticks whose labels
would overlap lose them.
"""

import itertools
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, overload

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis, XAxis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from matplotlib.ticker import FixedFormatter, FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator

from bench.analysis import metric_limits
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
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
}
# Looks of up to four curves, told apart in print in grey as well; red for what a figure is about.
GREY: Look = {"color": "#8c8c8c", "marker": "x"}
ORANGE: Look = {"color": "#e6a532", "marker": "^"}
RED: Look = {"color": "#c8443c", "marker": "s"}
NAVY: Look = {"color": "#12355b", "marker": "o"}
TITLE = 11  # points
PALE = 0.62  # share of white in the colour of a published curve
NARROWEST, WIDEST = 3.0, 50.0  # inches, of a picture for print
PANEL = 1.5, 1.0  # inches: least width and height of a panel in print, with its labels
HIGHEST = 8.5  # inches, of the panels of a picture in print, where they fit
RATIO = 0.7  # least height of a panel in print, without its labels, as a share of its width
_printed_width: ContextVar[float | None] = ContextVar("printed width", default=None)


def check_width(width: float) -> None:
    """Refuse the width of a picture for print, in inches, where it is out of range."""
    if not NARROWEST <= width <= WIDEST:
        raise InputError(
            f"width {width:g} is in inches: give one from {NARROWEST:g} to {WIDEST:g}, such as 3.25 for a column"
        )


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


class Sheet(Figure):
    """A figure with its panels and with what has to be known to read it.

    Attributes:
        panels: axes by row and column, as the figure's own code sees them.
        across: how many columns stand beside each other; further ones are below.
        notes: source, scale, repetitions, and notes on the numbers; the picture itself shows two lines of them.
    """

    panels: np.ndarray
    across: int
    notes: str = ""


@overload
def subplots(*, figsize: tuple[float, float]) -> tuple[Sheet, Axes]: ...


@overload
def subplots(rows: int, columns: int, *, figsize: tuple[float, float], **layout) -> tuple[Sheet, np.ndarray]: ...


def subplots(
    rows: int = 1, columns: int = 1, *, figsize: tuple[float, float], squeeze: bool = True, **layout
) -> tuple[Sheet, Any]:
    """Return a figure without a window, and its axes, as from `Figure.subplots`.

    In print, columns of panels that do not fit the width follow below the others.

    Args:
        rows, columns: of panels.
        figsize: width and height in inches; in print only their ratio counts.
        squeeze: whether dimensions of one panel are removed from the axes, as by `Figure.subplots`.
        layout: further arguments of `Figure.subplots`; of these, `width_ratios` cannot be combined with a stack.
    """
    width = _printed_width.get()
    across = columns if width is None else max(1, min(columns, int(width / PANEL[0])))
    stacked = -(-columns // across)
    if width is not None:  # text does not shrink, so panels need more height
        height = 1.15 * figsize[1] / figsize[0] * width * columns / across
        figsize = (width, max(min(stacked * height, HIGHEST), stacked * rows * PANEL[1]))
    figure = Sheet(figsize=figsize)
    FigureCanvasAgg(figure)
    if stacked == 1:
        figure.panels = figure.subplots(rows, columns, squeeze=False, **layout)
    else:
        figure.panels = _stacked(figure, (rows, columns), across, **layout)
    figure.across = across
    axes = figure.panels
    return figure, axes if not squeeze else axes.item() if axes.size == 1 else axes.squeeze()


def _stacked(
    figure: Figure, shape: tuple[int, int], across: int, *, sharex=False, sharey=False, height_ratios=None
) -> np.ndarray:
    """Add panels in blocks of some columns below each other, with axes that are shared as by `Figure.subplots`."""
    rows, columns = shape
    stacked = -(-columns // across)
    grid = figure.add_gridspec(stacked * rows, across, height_ratios=height_ratios and [*height_ratios] * stacked)
    axes = np.empty(shape, object)

    def panel_shared_with(sharing: bool | str, row: int, column: int) -> Axes | None:
        """Return the panel whose axis this one shares; None for the first."""
        place = {True: (0, 0), "all": (0, 0), "row": (row, 0), "col": (0, column)}.get(sharing)
        return None if place is None or place == (row, column) else axes[place]

    for row, column in np.ndindex(*shape):
        place = grid[column // across * rows + row, column % across]
        shared = {"sharex": panel_shared_with(sharex, row, column), "sharey": panel_shared_with(sharey, row, column)}
        ax = axes[row, column] = figure.add_subplot(place, **shared)
        ax.tick_params(
            labelbottom=row == rows - 1 or sharex in (False, "none", "row"),
            labelleft=column % across == 0 or sharey in (False, "none", "col"),
        )
    return axes


def pale(color: str) -> tuple[float, float, float]:
    """Return a colour mixed with white, for what is published, behind ours."""
    red, green, blue = (PALE + (1 - PALE) * channel for channel in to_rgb(color))
    return red, green, blue


def literal(text: str) -> str:
    """Escape a text from outside, such as the name of a file, so that a dollar sign begins no formula."""
    return text.replace("$", r"\$")


def head(figure: Sheet, title: str, *legends: Sequence[Any]) -> None:
    """Draw title and rows of legend above the panels, at a fixed distance for any height; no title in print.

    A row that is wider than the figure is broken into several, and so is a title, after its colon. In print, legends
    within panels stand above them. Intervals of shares are limited to 0 and 1.
    """
    _hold_shares(figure)
    printed = _printed_width.get() is not None
    title = "" if printed else _folded_title(figure, title)
    if printed:
        legends = (*legends, *_taken_out(figure))
        _fold_entries(figure, legends)
    rows = [row for handles in legends for row in _rows(figure, handles)]
    legend_rows = [_legend(figure, row) for row in rows]
    inches = (
        [legend.get_window_extent().height / figure.dpi for legend in legend_rows] if printed else [0.2] * len(rows)
    )
    further = sum(inches) if printed else 0.18 * title.count("\n")
    figure.set_figheight(figure.get_figheight() + further)
    above = 0.0 if printed else 0.26 + further
    room = above + (0.02 if printed else 0.07) + sum(inches)
    if printed:
        _fit(figure, room)
    inch = 1 / figure.get_figheight()
    if not printed:
        figure.tight_layout(w_pad=1.5, rect=(0, 0, 1, 1 - room * inch))
        figure.suptitle(title, y=1 - 0.05 * inch, va="top", fontsize=TITLE)
    for place, legend in enumerate(legend_rows):
        top = above + (sum(inches[:place]) if printed else 0.19 * place)
        legend.set_bbox_to_anchor((0.5, 1 - top * inch), transform=figure.transFigure)


def _folded_title(figure: Figure, title: str) -> str:
    """Break a title that is wider than the figure after its colon."""
    text = figure.text(0, 0, title, fontsize=TITLE)
    too_wide = text.get_window_extent().width > figure.bbox.width
    text.remove()
    return title.replace(": ", ":\n", 1) if too_wide else title


def _legend(figure: Figure, handles: Sequence[Any]):
    """Draw a row of legend, more closely spaced in print."""
    close: Look = {
        "columnspacing": 1.0,
        "handlelength": 1.6,
        "handletextpad": 0.4,
        "borderaxespad": 0.2,
        "borderpad": 0.15,
    }
    options = {} if _printed_width.get() is None else close
    return figure.legend(handles=handles, loc="upper center", ncol=len(handles), **options)


def _rows(figure: Figure, handles: Sequence[Any]) -> list[list[Any]]:
    """Divide a row of legend into rows that fit the figure's width."""
    rows: list[list[Any]] = []
    for handle in handles:
        if rows and _width(figure, [*rows[-1], handle]) <= figure.bbox.width:
            rows[-1].append(handle)
        else:
            rows.append([handle])
    return rows


def _width(figure: Figure, handles: Sequence[Any]) -> float:
    """Return the width in pixels that a row of legend has."""
    legend = _legend(figure, handles)
    width = legend.get_window_extent().width
    legend.remove()
    return width


def _fold_entries(figure: Figure, legends: Sequence[Sequence[Any]]) -> None:
    """Break entries of a legend that are wider than the figure into lines."""
    for handle in (handle for row in legends for handle in row):
        label = str(handle.get_label())
        for letters in range(len(label), 10, -4):
            handle.set_label(_wrapped(label, letters))
            if _width(figure, [handle]) <= figure.bbox.width:
                break


def _taken_out(figure: Sheet) -> list[list[Any]]:
    """Remove the legends within panels and return them, to be drawn above panels that are too narrow for them."""
    legends = []
    for ax in figure.axes:
        legend = ax.get_legend()
        if legend is None:
            continue
        for handle, text in zip(legend.legend_handles, legend.texts, strict=True):
            if handle is not None:
                handle.set_label(text.get_text())
        legend.remove()
        legends.append([handle for handle in legend.legend_handles if handle is not None])
    return legends


def _fit(figure: Sheet, room: float) -> None:
    """Make the text of a printed picture fit below `room` inches: labels of the axis at the left of every block, titles
    and labels in lines, higher panels where these leave too little, and no labels of ticks that overlap."""
    for first, *further in figure.panels.tolist():
        for ax in further[figure.across - 1 :: figure.across]:
            if ax.figure and not ax.get_ylabel():
                ax.set_ylabel(first.get_ylabel(), color=first.yaxis.label.get_color())
    down = max(place.rowspan.stop for ax in figure.axes if (place := ax.get_subplotspec()))
    for heights in (False, True, True):  # what was folded changes the room for the rest
        _lay_out(figure, room)
        for ax in figure.axes:
            box = ax.get_window_extent()
            for text in (ax.title, ax.xaxis.label, *ax.texts):
                _fold(text, box.width + 0.08 * figure.dpi)
            if heights:
                _fold(ax.yaxis.label, box.height)
        if not heights:
            _lay_out(figure, room)
            box = max((ax.get_window_extent() for ax in figure.axes), key=lambda box: box.height)
            figure.set_figheight(figure.get_figheight() + down * max(0.0, RATIO * box.width - box.height) / figure.dpi)
    _lay_out(figure, room)
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            _thin(axis)
    _lay_out(figure, room)


def _lay_out(figure: Figure, room: float) -> None:
    """Place the panels of a printed picture, so that all that belongs to them is below `room` inches."""
    rect = (0, 0, 1, 1 - room / figure.get_figheight())
    ConstrainedLayoutEngine(rect=rect, w_pad=0.03, h_pad=0.03, wspace=0, hspace=0).execute(figure)


def _fold(text: Text, room: float) -> None:
    """Break a title or label of an axis that is longer than its room, in pixels, into lines; formulas stay whole."""
    words = text.get_text()
    lines = [line.replace("\n", " ") for line in words.split("\n")]
    for letters in range(max(map(len, lines)), 7, -1):
        box = text.get_window_extent()
        if (box.height if text.get_rotation() else box.width) <= room:
            return
        text.set_text("\n".join(_wrapped(line, letters) for line in lines))


def _wrapped(words: str, letters: int) -> str:
    """Return words in lines of at most this many letters, broken only between words and outside of formulas."""
    unbreakable = re.sub(r"\$[^$]*\$", lambda formula: formula.group().replace(" ", "\xa0"), words)
    lines = textwrap.wrap(unbreakable, letters, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines).replace("\xa0", " ")


def _thin(axis: Axis) -> None:
    """Remove labels of ticks that overlap others; the first and the last stay."""
    low, high = sorted(axis.get_view_interval())
    slack = 1e-6 * (high - low)
    ticks = [tick for tick in axis.get_major_ticks() if low - slack <= tick.get_loc() <= high + slack]
    name = "label1"
    labelled = [tick for tick in ticks if getattr(tick, name).get_visible() and getattr(tick, name).get_text()]
    if len(labelled) < 2:
        return
    across = isinstance(axis, XAxis)
    boxes = [getattr(tick, name).get_window_extent() for tick in labelled]
    ends = [sorted((box.x0, box.x1) if across else (box.y0, box.y1)) for box in boxes]
    pad = 2.0 if across else 0.0
    places: list[int] = []
    for place in (0, len(ends) - 1, *range(1, len(ends) - 1)):
        if all(ends[place][0] > ends[k][1] + pad or ends[place][1] < ends[k][0] - pad for k in places):
            places.append(place)
    if len(places) < len(labelled):
        locations = [tick.get_loc() for tick in labelled]
        axis.set_major_locator(FixedLocator(locations))
        words = [getattr(tick, name).get_text() if k in places else "" for k, tick in enumerate(labelled)]
        axis.set_major_formatter(FixedFormatter(words))


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


def curves(ax: Axes, table: pd.DataFrame, by: str, looks: Mapping[Any, Look], x: str, y: str, **change) -> None:
    """Draw the `curve` of each value of the column `by` that has a look, with these changes of it."""
    for value, look in looks.items():
        changed: Look = look | change
        curve(ax, table[table[by] == value], x, y, **changed)


def stretch(ax: Axes, table: pd.DataFrame, x: str) -> None:
    """Stretch the axes to include the intervals, which `curve` does not do."""
    for end in ("low", "high"):
        ax.update_datalim(table.loc[np.isfinite(table[end]), [x, end]].to_numpy())
    ax.autoscale_view()


def handles(
    table: pd.DataFrame, by: str, looks: Mapping[Any, Look], words: Mapping[Any, str] | None = None, **change
) -> list[Line2D]:
    """Return legend entries of the values of the column `by` that have a look, in words where given."""
    changed = {value: looks[value] | change for value in present(table, by, looks)}
    return [Line2D([], [], label=(words or {}).get(value, value), **look) for value, look in changed.items()]


def panels(
    axes: np.ndarray, table: pd.DataFrame, **by: Sequence[Any]
) -> Iterator[tuple[Axes, pd.DataFrame, tuple[Any, ...]]]:
    """Yield each panel with its rows of the table and its value of every column.

    Args:
        axes: [rows, columns], or a row; panels after the last value are left as they are.
        table: with the numbers of all panels.
        by: column -> its values in the order of the panels; the last of these columns changes within a row.
    """
    for ax, values in zip(np.ravel(axes), itertools.product(*by.values()), strict=False):
        chosen = [table[name] == value for name, value in zip(by, values, strict=True)]
        yield ax, table[np.logical_and.reduce(chosen)], values


def label(axes: np.ndarray, x: str, *y: str) -> None:
    """Label the outer axes of a grid of panels.

    Args:
        axes: [rows, columns].
        x: written under the last row.
        y: written beside the first column: one for all rows, or one for each.
    """
    for ax in axes[-1]:
        ax.set_xlabel(x)
    for ax, words in zip(axes[:, 0], y if len(y) > 1 else y * len(axes), strict=True):
        ax.set_ylabel(words)


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


def ticks(ax: Axes, values: Sequence[float], **scale) -> None:
    """Make the horizontal axis logarithmic, with ticks at these values and no others, written as plain numbers."""
    ax.set_xscale("log", **scale)
    ax.set_xticks(values, [f"{value:g}" for value in values])
    ax.xaxis.set_minor_locator(NullLocator())


UNEQUAL = "(more of some numbers than of others)"


def footer(
    figure: Sheet, table: pd.DataFrame, *notes: str, differs: str = "", bands: str = "bands", unequal: str = UNEQUAL
) -> None:
    """Write under the figure, in at most two lines, its repetitions and what differs from the paper. Source, scale
    and further notes are kept in `figure.notes`.

    A table of geometric means declares them in a column "mean". The scale of a comparison is empty, since it has none.

    Args:
        differs: what differs from what the picture shows after, or else has to be known to read it.
        bands: the marks that show the intervals.
        unequal: why some numbers are based on fewer repetitions than others, in brackets. Counts alone do not tell
            whether runs are missing, so a figure that knows of missing runs says so in a note.
    """
    facts, counts = table.iloc[0], table["repetitions"].dropna().astype(int)
    fewest, most = counts.min(), counts.max()
    repetitions = f"{fewest} to {most} repetitions {unequal}" if fewest < most else f"{most} repetitions"
    mean = "geometric mean" if "mean" in table and set(table["mean"].dropna()) == {"geometric"} else "mean"
    shown = f"; shown is the {mean}, {bands} are its 95 % intervals." if mean != "mean" else ""
    shown = shown or f"; {bands} are 95 % intervals of the mean over them."
    intervals = f"{repetitions}{shown}" if most > 1 else "1 repetition, no intervals."
    named = all(name in str(facts["source"]) for name in str(facts["task"]).split(", "))
    task = "" if named else f" (task {facts['task']})"
    scale = f" Scale: {facts['scale']}." if facts["scale"] else ""
    below = " ".join(sentence for sentence in (intervals, differs) if sentence)
    figure.notes = " ".join(
        sentence for sentence in (f"Data: {facts['source']}{task}.{scale}", below, *notes) if sentence
    )
    if _printed_width.get() is not None:
        return  # the caption contains it
    lines = textwrap.wrap(below, int(figure.get_figwidth() * 18))
    figure.text(0.01, -0.01, "\n".join(lines), fontsize=7.5, color="#444444", va="top", linespacing=1.35)


def finish(
    figure: Sheet,
    table: pd.DataFrame,
    title: str,
    legends: Sequence[Sequence[Any]],
    *notes: str,
    differs: str = "",
    unequal: str = UNEQUAL,
) -> Sheet:
    """Draw `head`, with rows of legend, and `footer`, and return the figure."""
    head(figure, title, *legends)
    footer(figure, table, *notes, differs=differs, unequal=unequal)
    return figure
