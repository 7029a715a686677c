"""Confidence bands without the effect that a repetition has on all points of a panel."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from bench.analysis.select import REPETITION


def without_draws(rows: pd.DataFrame, *, value: str, panel: Sequence[str], point: Sequence[str]) -> pd.DataFrame:
    """Remove the effect of each repetition on all values of a panel, keeping the means (Morey 2008).

    Deviations are stretched by sqrt(k / (k - 1)), with k points in a panel, since the fitted effects take out a part of
    the variance. Where a repetition lacks a point, or a panel has a single point, nothing is changed.

    Args:
        rows: one row per point and repetition.
        value: the column that is changed.
        panel, point: columns of a panel, and those of a point in it.
    """
    panels, points = list(panel), [*panel, *point]
    count = rows.groupby([*panels, *REPETITION])[value].transform("size")
    if rows.groupby(points)[value].transform("size").nunique() != 1 or count.nunique() != 1 or count.iloc[0] < 2:
        return rows
    common = rows.groupby([*panels, *REPETITION])[value].transform("mean") - rows.groupby(panels)[value].transform(
        "mean"
    )
    mean = rows.groupby(points)[value].transform("mean")
    stretched = (rows[value] - common - mean) * np.sqrt(count / (count - 1))
    return rows.assign(**{value: mean + stretched})
