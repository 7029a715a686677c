"""A colour, a line and a marker for each of several methods or curves, and a legend in rows."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

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
        name: _paired(place, COLORS, MARKERS) | {"linestyle": LINES[place // len(COLORS) % len(LINES)]}
        for place, name in enumerate(sorted(set(names)))
    }


def own_or_next(
    names: Iterable[Any], own: Mapping[Any, style.Look], colors: Sequence[str], markers: Sequence[str]
) -> dict[Any, style.Look]:
    """Return a look for each name: its own, or the next of these colours and markers."""
    names = list(names)
    others = enumerate(name for name in names if name not in own)
    further = {name: _paired(place, colors, markers) for place, name in others}
    return {name: own.get(name) or further[name] for name in names}


def _paired(place: int, colors: Sequence[str], markers: Sequence[str]) -> style.Look:
    """Return the colour and the marker at a place; every time round, a colour has another marker."""
    return {"color": colors[place % len(colors)], "marker": markers[(place + place // len(colors)) % len(markers)]}


def in_rows(handles: Sequence[Line2D]) -> list[list[Line2D]]:
    """Return the handles of a legend, at most A_ROW to a row."""
    return [list(handles[start : start + A_ROW]) for start in range(0, len(handles), A_ROW)]
