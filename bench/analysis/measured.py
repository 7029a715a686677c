"""The metrics of a comparison's table, and the data on which they are measured, in words and as printed tables.

A comparison has one metric, by which methods are ranked, and may measure others beside it, on other test distributions;
no setting is chosen by those.
"""

import re
from collections.abc import Callable

import numpy as np
import pandas as pd

from bench.analysis import tables

PANEL = ["privacy_unit_compared", "neighbors_compared"]
ON = "_on"  # ends the column with the words for what a metric is measured on
SLACK = 1.001  # tolerance of epsilon, since calibration is a bisection
LONGEST = 80  # characters of a method's name
LINK = re.compile(r"\]\s*[(\[:]|://|www\.", re.IGNORECASE)


def user_level_first(panel: tuple) -> tuple:
    """Return the key that sorts privacy statements (unit, relation): user level first."""
    return panel[0] != "user", panel


def titles(table: pd.DataFrame) -> dict[str, str]:
    """Return the displayed name of each method."""
    not_private = set(table.loc[table["not_private"], "algorithm"])
    return {name: f"{name} (not private)" if name in not_private else name for name in table["algorithm"].unique()}


def is_name(text: object, longest: int = LONGEST) -> bool:
    """Return whether a text can be shown in every format, which escape tags and formulas of their own: printable,
    short, and neither a link nor the formula of a spreadsheet. Letters that reverse the direction of a line are not
    printable.
    """
    if not isinstance(text, str) or not text.isprintable() or len(text) > longest:
        return False
    return re.match(r"\w", text) is not None and text == text.strip() and not LINK.search(text)


def spent(runs: pd.DataFrame) -> pd.Series:
    """Return the epsilon of each run of a comparison by the way of accounting that its noise was calibrated with; inf
    without noise, NaN where it was too large to be computed, or has no column.
    """
    epsilons = pd.Series(np.where(np.isinf(runs["target_epsilon"]), np.inf, np.nan), runs.index)
    for reading in runs.loc[epsilons.isna(), "reading"].unique():
        column = "epsilon" if reading == "paper" else f"epsilon_{reading}"
        if column in runs:
            epsilons = epsilons.where(epsilons.notna() | (runs["reading"] != reading), runs[column])
    return epsilons


def over_target(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs whose epsilon is not between 0 and their target."""
    private = np.isfinite(runs["target_epsilon"])
    return runs[private & ~spent(runs).between(0, runs["target_epsilon"] * SLACK)]


def epsilon_words(epsilon: float) -> str:
    """Return the heading of an epsilon's column."""
    return "no noise" if np.isinf(epsilon) else f"ε = {epsilon:g}"


def methods_by_epsilon(table: pd.DataFrame, cell: Callable[[dict], str]) -> pd.DataFrame:
    """Return the printed table, methods by epsilon, with a cell for each row of a comparison's table."""
    cells: dict[str, dict[str, str]] = {}
    for row in table.to_dict("records"):
        cells.setdefault(row["algorithm"], {})[epsilon_words(row["target_epsilon"])] = cell(row)
    title_of = titles(table)
    return pd.DataFrame([{"method": title_of[name], **by_epsilon} for name, by_epsilon in cells.items()]).fillna("")


def names(table: pd.DataFrame) -> list[str]:
    """Return the further metrics of a table."""
    metric = table["metric"].iloc[0]
    measured = [str(name)[: -len(ON)] for name in table.columns if str(name).endswith(ON)]
    return [name for name in measured if name != metric and {name, f"{name}_low", f"{name}_high"} <= {*table.columns}]


def words(table: pd.DataFrame, name: str) -> str:
    """Return what a metric is measured on, in a few words; "" where the problem does not say."""
    column = name + ON
    return "" if column not in table or pd.isna(table[column].iloc[0]) else str(table[column].iloc[0])


def printed(table: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the printed table of a further metric, methods by epsilon: mean [interval]."""
    form = tables.digits_for(name)
    return methods_by_epsilon(
        table, lambda row: tables.with_interval(row[name], row[f"{name}_low"], row[f"{name}_high"], form, name)
    )


def heading(table: pd.DataFrame, name: str) -> str:
    """Return the sentence above the printed table of a further metric."""
    where = words(table, name)
    return (
        f"{name}{f', measured on {where}' if where else ''}: mean and 95 % interval over splits. It is measured beside "
        "the metric of the comparison, and no setting was chosen by it."
    )
