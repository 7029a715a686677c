"""Colour, marker and legend of the methods of a comparison."""

from collections.abc import Iterable, Sequence

import pandas as pd
from matplotlib.lines import Line2D

from bench.analysis import style
from bench.comparison.table import titles

COLORS = ["#12355b", "#c8443c", "#2a8a4a", "#e07b39", "#7a3b9a", "#3c78b4", "#e6a532", "#a02c6b", "#5a4fb0", "#5b5b5b"]
MARKERS = "osD^v<>PX*"
FLAT: style.Look = {"linestyle": "--", "marker": ""}  # for methods that release nothing
A_ROW = 4  # names of the legend


def looks(names: Iterable[str]) -> dict[str, style.Look]:
    """The colour and marker of each method, in the order of the legend.

    Methods beyond the number of colours get other pairs of colour and marker.
    """
    return {
        name: {
            "color": COLORS[place % len(COLORS)],
            "marker": MARKERS[(place + place // len(COLORS)) % len(MARKERS)],
        }
        for place, name in enumerate(sorted(set(names)))
    }


def legend(table: pd.DataFrame, *, level_lines: bool = False) -> list[list[Line2D]]:
    """The handles of all methods, in rows.

    Args:
        table: of `bench.comparison.table.table`.
        level_lines: whether methods that release nothing are drawn as horizontal lines.
    """
    title_of = titles(table)
    level = set(table.loc[table["reveals_nothing"], "algorithm"]) if level_lines else set()
    handles = [
        Line2D([], [], label=style.literal(title_of[name]), **(look | FLAT if name in level else look))
        for name, look in looks(table["algorithm"]).items()
    ]
    return in_rows(handles)


def in_rows(handles: Sequence[Line2D]) -> list[list[Line2D]]:
    """The handles of a legend, at most A_ROW to a row."""
    return [list(handles[at : at + A_ROW]) for at in range(0, len(handles), A_ROW)]
