"""Runs of Figure 1 of Bellet et al. 2018 by the number of vectors that agents have sent."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from bench.analysis import select


def with_vectors(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs with "iterations" and with "vectors_sent" since the start.

    A row of the runs has the mean over the rounds since the previous evaluation.
    """
    keys = [*select.REPETITION, "point"]
    runs = runs.sort_values([*keys, "rounds"], ignore_index=True)
    since = runs.groupby(keys)["rounds"].diff().fillna(0)
    sent = (runs["vectors_sent"].fillna(0) * since).groupby([runs[key] for key in keys]).cumsum()
    return runs.assign(iterations=runs["rounds"] * runs["num_ticks"], vectors_sent=sent)


def by_vectors(runs: pd.DataFrame, metrics: Sequence[str]) -> pd.DataFrame:
    """Return the runs interpolated linearly at common numbers of vectors sent, evenly spaced.

    There are as many of these numbers as evaluations. The largest is the total of the run that sends the least.

    Args:
        runs: of `with_vectors`.
        metrics: the columns to interpolate; the others are those of the first row of a run.
    """
    groups, frames = runs.groupby([*select.REPETITION, "point"]), []
    sent = np.linspace(0, groups["vectors_sent"].max().min(), runs["rounds"].nunique())
    for _, run in groups:
        values = {name: np.interp(sent, run["vectors_sent"], run[name].astype(float)) for name in metrics}
        frames.append(run.iloc[[0] * len(sent)].assign(vectors_sent=sent, **values))
    return pd.concat(frames, ignore_index=True)
