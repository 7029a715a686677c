"""The looks and the legend of the methods of a comparison."""

import pandas as pd
from matplotlib.lines import Line2D

from bench.analysis import style
from bench.analysis.looks import in_rows, looks
from bench.analysis.measured import titles

FLAT: style.Look = {"linestyle": "--", "marker": ""}  # for methods that release nothing
THICK: style.Look = {"linewidth": 3.0, "markersize": 8.0, "zorder": 4}  # for those compared with the baselines


def method_looks(table: pd.DataFrame) -> dict[str, style.Look]:
    """Return the look of each method, thick for those that are compared with baselines."""
    baselines = set(table.loc[table["is_baseline"], "algorithm"])
    look_of = looks(table["algorithm"])
    return {name: look | THICK if baselines and name not in baselines else look for name, look in look_of.items()}


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
