"""The attacks on a task's methods, beside their rows of the board."""

import math
from collections.abc import Collection
from pathlib import Path

import numpy as np
import pandas as pd

from bench.analysis import tables
from bench.errors import InputError, in_one_line
from bench.files import AS_TEXT

TABLE = "attacks.csv"
PREFIX = "attack_"  # of its columns among those of the board
KEY = {"method": "algorithm", "target_epsilon": "target_epsilon"}  # columns that name a row -> their names on the board
SHOWN = {  # with two more columns each for the ends of the interval -> heading, format
    "tpr_at_0.01": ("attack: TPR at FPR 0.01", ".4f"),
    "tpr_at_0.001": ("attack: TPR at FPR 0.001", ".4f"),
    "auc": ("attack: AUC", ".3f"),
    "estimated_epsilon_final": ("ε estimated, final model", ".3g"),
    "estimated_epsilon_rounds": ("ε estimated, every round", ".3g"),
}
ESTIMATED = [name for name in SHOWN if name.startswith("estimated")]
EARLIER = ["canaries", *(f"{name}{end}" for name in ESTIMATED for end in ("", "_low", "_high"))]  # not in new tables
NUMBERS = [f"{name}{end}" for name in SHOWN for end in ("", "_low", "_high")]
BESIDE = ["tpr_at_0.01_allowed", "tpr_at_0.001_allowed", "runs", "units", "canaries"]


def read(path: Path, delta: float, points: Collection[str]) -> pd.DataFrame:
    """Return the attacks on a task, with the board's names of methods and epsilons; without a row where there are none.

    Args:
        path: of the table, in the folder of the task.
        delta: of the board.
        points: the ids of the board's tested settings.

    Raises:
        InputError: where the table is damaged, or of other settings than those that the board shows.
    """
    if not path.exists():
        return pd.DataFrame()
    name = path.parent.name
    again = f"the page leaves the attacks out; move it away, and run `python -m bench attack {name}` again"
    try:
        rows = pd.read_csv(path, dtype={**AS_TEXT, "point": str, "delta": float})
        rows = rows.assign(**{name: math.nan for name in EARLIER if name not in rows})
        found = rows.rename(columns=KEY)[[*KEY.values(), *NUMBERS, *BESIDE]]
        found = found.astype(dict.fromkeys(["target_epsilon", *NUMBERS, *BESIDE], float)).set_index([*KEY.values()])
        found = found.add_prefix(PREFIX).reset_index()
        if rows.empty or found.duplicated([*KEY.values()]).any():
            raise ValueError("no row, or several of one method and epsilon")
        matching = (rows["task"] == name) & rows["point"].isin(list(points)) & np.isclose(rows["delta"], delta)
    except (OSError, ValueError, LookupError) as error:
        raise InputError(f"{path} cannot be read ({in_one_line(error)}): {again}") from None
    if not matching.all():
        row = rows[~matching].iloc[0]
        where = f"{row['method']} at epsilon {row['target_epsilon']:g}"
        raise InputError(f"{path} is of other settings than the runs in test ({where}): {again}")
    return found


def headings(rows: pd.DataFrame) -> list[str]:
    """Return the headings of the columns of attacks; none where nothing was attacked."""
    return [heading for heading, _ in SHOWN.values()] if f"{PREFIX}auc" in rows else []


def cells(row: dict) -> list[tuple[float, str]]:
    """Return number and text of each column of attacks, "" where the method was not attacked at this epsilon."""
    columns = [(PREFIX + name, form) for name, (_, form) in SHOWN.items() if PREFIX + name in row]
    return [(row[name], _text(row, name, form)) for name, form in columns]


def _text(row: dict, name: str, form: str) -> str:
    value, low, high = (row[f"{name}{end}"] for end in ("", "_low", "_high"))
    if not math.isfinite(value):
        return "" if math.isnan(value) else "over 10,000"
    allowed = row.get(f"{name}_allowed", math.nan)
    return tables.with_interval(value, low, high, form) + ("" if math.isnan(allowed) else f" of {allowed:.2g}")


def several(column: pd.Series) -> str:
    """Return the distinct numbers of a column in words, "64 or 128"."""
    return " or ".join(f"{value:,}" for value in sorted(set(column.dropna().astype(int))))
