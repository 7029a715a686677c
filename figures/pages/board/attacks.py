"""The attacks on a task's methods, beside their rows of the board."""

import math
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bench.analysis import tables
from bench.errors import InputError
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
        rows = pd.read_csv(path, dtype={**AS_TEXT, "point": str})
        found = rows[[*KEY, *NUMBERS, *BESIDE]].rename(columns=KEY)
        found = found.astype({column: float for column in ("target_epsilon", *NUMBERS, *BESIDE)})
        shares = found[[column for column in NUMBERS if not column.startswith("estimated")]].to_numpy()
        wrong = rows[["method", "target_epsilon", "point", "delta", "task"]].isna().any(axis=None) or rows.empty
        if wrong or found.duplicated(list(KEY.values())).any() or ((shares < 0) | (shares > 1)).any():
            raise ValueError("its rows are incomplete or out of range")
    except (OSError, ValueError, KeyError, TypeError) as error:
        why = str(error).strip().replace("\n", " ")
        raise InputError(f"{path} cannot be read ({why}): {again}") from None
    ours = (rows["task"] == name) & rows["point"].isin(list(points)) & np.isclose(rows["delta"].astype(float), delta)
    if not ours.all():
        row = rows[~ours].iloc[0]
        where = f"{row['method']} at epsilon {row['target_epsilon']:g}"
        raise InputError(f"{path} is of other settings than the runs in test ({where}): {again}")
    return found.rename(columns={column: f"{PREFIX}{column}" for column in (*NUMBERS, *BESIDE)})


def cells(row: dict) -> dict[str, tuple[float, str]]:
    """Heading -> number and text, "" where the method was not attacked at this epsilon."""
    return {
        heading: (row[PREFIX + name], _text(row, PREFIX + name, form))
        for name, (heading, form) in SHOWN.items()
        if PREFIX + name in row
    }


def _text(row: dict, name: str, form: str) -> str:
    value, low, high = (row[f"{name}{end}"] for end in ("", "_low", "_high"))
    if math.isnan(value):
        return ""
    allowed = row.get(f"{name}_allowed", math.nan)
    if math.isinf(value):
        return "over 10,000"
    return tables.with_interval(value, low, high, form) + ("" if math.isnan(allowed) else f" of {allowed:.2g}")


def explained(rows: pd.DataFrame) -> dict[str, str]:
    """Explanations of the columns for the reader by term; none where nothing was attacked."""
    if f"{PREFIX}auc" not in rows:
        return {}
    runs = _several(rows[f"{PREFIX}runs"])
    words = {
        "Attacks": "The true-positive rate (TPR) of a likelihood-ratio membership attack on this task's own data, at "
        "two false-positive rates (FPR), and the area under the curve (AUC); 1/2 is guessing. The attacker sees the "
        f"final released model and knows who was a member in all other runs, of {runs}. “Of” is followed by the "
        "largest rate that the declared ε allows. A small rate is no proof of privacy: another attack might find more."
    }
    if rows[[f"{PREFIX}estimated_epsilon_{seen}" for seen in ("final", "rounds")]].notna().any(axis=None):
        words["ε estimated"] = (
            f"From one run with {_several(rows[f'{PREFIX}canaries'])} canary users, seen in the final model or after "
            "every round, by Gaussians fitted to their scores. It is an estimate, not a bound, and its interval only "
            "covers the number of canaries. ε of an actual user may be larger or smaller."
        )
    return words


def _several(column: pd.Series) -> str:
    values: list[Any] = sorted(set(column.dropna().astype(int)))
    return " or ".join(f"{value:,}" for value in values)
