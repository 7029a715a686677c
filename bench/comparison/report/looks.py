"""The looks and the legend of the methods of a comparison."""

import matplotlib
import pandas as pd
from matplotlib.lines import Line2D

from bench.analysis import style
from bench.analysis.looks import in_rows, looks
from bench.analysis.measured import titles

FLAT: style.Look = {"linestyle": "--", "marker": ""}  # for methods that release nothing


def method_looks(table: pd.DataFrame) -> dict[str, style.Look]:
    """Return the look of each method, thick for those that are compared with baselines, and black for a single one."""
    baselines = set(table.loc[table["is_baseline"], "algorithm"])
    look_of, usual = looks(table["algorithm"]), matplotlib.rcParams
    thick: style.Look = {"linewidth": 2 * usual["lines.linewidth"], "zorder": 4}
    thick["markersize"] = 16 / 9 * usual["lines.markersize"]
    compared = [name for name in look_of if baselines and name not in baselines]
    if len(compared) == 1:
        thick |= {"color": "black", "linestyle": "-"}
    return {name: look | thick if name in compared else look for name, look in look_of.items()}


def named(metric: str) -> str:
    """Return a metric in words, without the split that it is measured on: "test_squared_error" -> "squared error"."""
    words = metric.removeprefix("test_").removeprefix("validation_").replace("_", " ")
    return {"rmse": "RMSE"}.get(words, words)


def legend(table: pd.DataFrame, *, level_lines: bool = False) -> list[list[Line2D]]:
    """Return the handles of all methods, in rows.

    Args:
        table: of `bench.comparison.report.table.table`.
        level_lines: whether methods that release nothing are drawn as horizontal lines.
    """
    title_of = titles(table)
    level = set(table.loc[table["reveals_nothing"], "algorithm"]) if level_lines else set()
    handles = [
        Line2D([], [], label=style.literal(title_of[name]), **(look | FLAT if name in level else look))
        for name, look in method_looks(table).items()
    ]
    return in_rows(handles)
