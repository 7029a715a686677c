"""A colour, a line and a marker for each of several methods, and a legend in rows."""

from collections.abc import Iterable, Sequence

from matplotlib.lines import Line2D

from bench.analysis import style

COLORS = ["#12355b", "#c8443c", "#2a8a4a", "#e07b39", "#7a3b9a", "#3c78b4", "#e6a532", "#a02c6b", "#5a4fb0", "#5b5b5b"]
MARKERS = "osD^v<>PX*"
LINES = ["-", ":", "-."]  # dashed lines are for methods that release nothing
A_ROW = 4  # names of the legend


def looks(names: Iterable[str]) -> dict[str, style.Look]:
    """Return the colour, line and marker of each method, in the order of the legend.

    Methods beyond the number of colours get another line, and another marker than the first with their colour.
    """
    return {
        name: {
            "color": COLORS[place % len(COLORS)],
            "linestyle": LINES[place // len(COLORS) % len(LINES)],
            "marker": MARKERS[(place + place // len(COLORS)) % len(MARKERS)],
        }
        for place, name in enumerate(sorted(set(names)))
    }


def in_rows(handles: Sequence[Line2D]) -> list[list[Line2D]]:
    """Return the handles of a legend, at most A_ROW to a row."""
    return [list(handles[start : start + A_ROW]) for start in range(0, len(handles), A_ROW)]
