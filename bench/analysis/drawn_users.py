"""The standard error of a gain due to the choice of users, from the scores of test runs on resampled users."""

import pandas as pd

DRAWS = 50  # estimates a standard error to a tenth


def names(metric: str) -> list[str]:
    """Return the columns of a metric's values on the drawn users."""
    return [f"{metric}_of_draw_{draw:02d}" for draw in range(DRAWS)]


def error_of_gains(runs: pd.DataFrame, metric: str, reference: str) -> pd.Series:
    """Return the standard error, due to the choice of users, of each method's mean difference to a reference over
    splits.

    Args:
        runs: rows of one epsilon, one per method and split.
        metric: the column of the metric.
        reference: the method that differences are taken to.

    Returns:
        By method; NaN where a run has no scores on drawn users.
    """
    scores = runs.reindex(columns=names(metric)).astype(float)
    means = scores.groupby(runs["algorithm"]).mean().where(scores.notna().groupby(runs["algorithm"]).all())
    return (means - means.loc[reference]).std(axis=1, ddof=1, skipna=False)
