"""The legend of the methods of a comparison."""

import pandas as pd
from matplotlib.lines import Line2D

from bench.analysis import style
from bench.analysis.looks import in_rows, looks
from bench.comparison.table import titles

FLAT: style.Look = {"linestyle": "--", "marker": ""}  # for methods that release nothing


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
