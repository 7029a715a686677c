"""The edges of grids that a tuned number rests on: settings that are the smallest or largest tried.

A row names its edges in the column "edge", separated by semicolons; those of settings that were tuned one after
another are joined by commas, and count as one.
"""

from collections.abc import Mapping, Sequence

import pandas as pd

from bench.analysis import select

BETWEEN = "; "


def tuned_next(rows: pd.DataFrame, by: Sequence[str], over: str, on: str) -> pd.DataFrame:
    """Return the rows, which were tuned before, at the value of `over` with the lowest mean in each group; "edge" has
    the edges of both."""
    best = select.tune(rows.rename(columns={"edge": "first"}), by=by, over=over, on=on, best="min")
    edges = [", ".join(filter(None, both)) for both in zip(best["first"], best["edge"], strict=True)]
    return best.drop(columns="first").assign(edge=edges)


def of_settings(
    chosen: pd.DataFrame,
    tried: pd.DataFrame,
    by: Sequence[str],
    over: Sequence[str],
    ends: Mapping[str, float | pd.Series],
) -> pd.DataFrame:
    """Return the chosen rows with "edge".

    Args:
        chosen: rows at the settings chosen.
        tried: rows with all settings that were tried.
        by: columns of a group that was tuned separately.
        over: columns that make up a setting.
        ends: column -> its natural end, of all rows or of each, which is no edge: there is nothing beyond it to try.
    """
    found = {name: select.edges(tried, chosen, by, name) for name in over}
    for name in ends.keys() & found.keys():
        at_end = chosen[name] == ends[name]
        found[name] = ["" if natural else edge for edge, natural in zip(found[name], at_end, strict=True)]
    return chosen.assign(edge=[BETWEEN.join(filter(None, row)) for row in zip(*found.values(), strict=True)])


def note(rows: pd.DataFrame, what: str = "settings") -> str:
    """Return a sentence on the numbers in a table that rest on an edge, for a footer; empty where none does."""
    words = (
        f"At {_count(rows)} of {len(rows)} points the best of the {what} is the smallest or largest tried, so a better "
        'one may lie beyond (column "edge" of the CSV).'
    )
    return words if _count(rows) else ""


def short(rows: pd.DataFrame, what: str) -> str:
    """Return `note` in few words, for a footer that has little room."""
    words = f'At {_count(rows)} of {len(rows)} points the best {what} is an end of the grid (column "edge").'
    return words if _count(rows) else ""


def _count(rows: pd.DataFrame) -> int:
    return int((rows["edge"].fillna("") != "").sum())


def distinct(rows: pd.DataFrame) -> list[str]:
    """Return the distinct edges in the rows."""
    return sorted({edge for text in rows["edge"].dropna().unique() for edge in text.split(BETWEEN) if edge})
