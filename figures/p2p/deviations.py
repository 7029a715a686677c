"""The deviations of our runs from the points that Bellet et al. 2018 published, by curve."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from bench.errors import InputError
from figures.p2p import common, fig1, fig2c, fig3, fig4, private, table1
from figures.shared.figure import Figure

CURVES = {
    "p2p_fig1": fig1.FIGURE,
    "p2p_fig2a": private.FIGURE_2A,
    "p2p_fig2b": private.FIGURE_2B,
    "p2p_fig2c": fig2c.FIGURE,
    "p2p_fig3": fig3.FIGURE,
    "p2p_fig4": fig4.FIGURE,
}
COLUMNS = ["figure", "series", "variant", "x_name", "x", "y_name", "deviation", "here", "published", "points"]


def largest(points: pd.DataFrame) -> pd.DataFrame:
    """Return for each curve the point that is farthest from the published one; a point that diverged counts as
    farthest."""
    points = points.assign(deviation=points["here"] - points["published"])
    keys = ["series", "variant", "x_name", "y_name"]
    size = points["deviation"].abs().fillna(np.inf)
    farthest = points.loc[size.groupby([points[key] for key in keys], sort=False).idxmax()]
    counts = points.groupby(keys).size().rename("points")
    return farthest.join(counts, on=keys)


def of_curves(figure: Figure, runs: pd.DataFrame) -> pd.DataFrame:
    """Return the largest deviation of each curve of a figure that reproduces a published one."""
    table = figure.table(runs)
    return largest(common.compared(private.drawn(table) if figure in (private.FIGURE_2A, private.FIGURE_2B) else table))


def of_table(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the deviations of the numbers of the table."""
    table = table1.table(runs).dropna(subset="published")
    columns = {"x_name": "", "x": np.nan, "y_name": "test_rmse", "points": 1}
    return table.rename(columns={"test_rmse": "here", "difference": "deviation"}).assign(**columns)


def deviations(runs: Mapping[str, pd.DataFrame]) -> tuple[pd.DataFrame, list[str]]:
    """Return the largest deviation of each published curve, ours less theirs, and each number of the table.

    Curves that the runs do not have are left out.

    Args:
        runs: sweep -> its runs.

    Returns:
        The table, and a sentence for each figure that cannot be made from the runs.
    """
    frames, left_out = [], []
    for name, figure in (CURVES | {"p2p_table1": table1.FIGURE}).items():
        (sweep,) = figure.sweeps
        try:
            if sweep not in runs:
                raise InputError(f"no results of {sweep}")
            farthest = of_table(runs[sweep]) if figure is table1.FIGURE else of_curves(figure, runs[sweep])
            if farthest.empty:
                raise InputError(f"these runs of {sweep} have none of the published points")
            frames.append(farthest.assign(figure=name))
        except InputError as why:
            left_out.append(f"{name} is left out: {why}")
    return pd.concat(frames, ignore_index=True)[COLUMNS] if frames else pd.DataFrame(columns=COLUMNS), left_out
