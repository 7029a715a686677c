"""What each method gains over learning alone, which releases nothing: the reference of the page's first table."""

import numpy as np
import pandas as pd

from bench import ranking
from bench.analysis import metric_limits
from bench.analysis.tables import digits_for

PLACE = ["target_epsilon", "algorithm"]  # names a row of a task
COLUMNS = ["alone", "over_alone", "over_alone_low", "over_alone_high", "times_alone"]
NAMES = {f"gain{end}": f"over_alone{end}" for end in ("", "_low", "_high")}  # of `bench.ranking.gains_over` -> here
EDGES = (1.01, 1.1, 1.5, 3.0)  # of the steps of colour: how many times as large one error is as the other


def gains(rows: pd.DataFrame, runs: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Compute the gain of every method over learning alone, paired by split.

    Intervals know what those of the board's gains over the best baseline know: splits that share their data, users, and
    common test examples.

    Args:
        rows: of a task, one per epsilon and method, with the mean score as "score".
        runs: the tested runs at their end; target_epsilon is 0 for what reveals nothing.
        metric: the column of the score in the runs.

    Returns:
        As many rows, with PLACE and: alone, the name of the method that is taken for learning alone, of several that
        reveal nothing the best; over_alone with its 95 % interval; times_alone, the error divided by that of learning
        alone, where the error of an accuracy is 1 minus it, and NaN where a metric has no such error. Without a method
        that reveals nothing, "" and NaN.
    """
    pieces = []
    for _, at_epsilon in rows.groupby("target_epsilon", sort=False):
        silent = at_epsilon[at_epsilon["reveals_nothing"]].dropna(subset="rank").sort_values("rank")
        if silent.empty:
            pieces.append(at_epsilon[PLACE].assign(**{COLUMNS[0]: "", **dict.fromkeys(COLUMNS[1:], np.nan)}))
            continue
        alone, best = silent.iloc[0]["algorithm"], at_epsilon["best"].iloc[0]
        epsilons = np.where(at_epsilon["reveals_nothing"], 0.0, at_epsilon["target_epsilon"])
        wanted = at_epsilon[["algorithm"]].assign(target_epsilon=epsilons)
        facts = {name: at_epsilon[name].iloc[0] for name in ("test_ratio", "num_tests") if name in at_epsilon}
        found = ranking.gains_over(
            runs.merge(wanted, on=["algorithm", "target_epsilon"]), metric, best, alone, [alone], **facts
        )
        errors = _errors(at_epsilon.set_index("algorithm")["score"], metric, best)
        found = found.assign(times_alone=errors / errors[alone], alone=alone).rename(columns=NAMES)
        pieces.append(at_epsilon[PLACE].join(found[COLUMNS], on="algorithm"))
    return pd.concat(pieces, ignore_index=True)


def _errors(scores: pd.Series, metric: str, best: str) -> pd.Series:
    """Return the distance of scores from a perfect one; NaN where the metric has no perfect score, and for scores that
    reach it."""
    least, most = metric_limits.limits(metric)
    least = 0.0 if metric_limits.can_diverge(metric) else least
    errors = (most - scores if best == "max" else scores - least).astype(float)
    return errors.where(np.isfinite(errors) & (errors > 0))


def scale(metric: str) -> tuple[int, str]:
    """Return the factor of a metric's scores on the page, and their format: shares are in percent, as in pictures."""
    return (100, ".2f") if metric_limits.limits(metric) == (0.0, 1.0) else (1, digits_for(metric))


def step(times: float) -> int:
    """Return the step of colour of an error that is so many times that of learning alone: 0 where they are about equal,
    positive where it is smaller, and negative where it is larger.
    """
    factor = max(times, 1 / times)
    steps = sum(factor >= edge for edge in EDGES)
    return steps if times < 1 else -steps


def look(row: dict) -> str | None:
    """Return the class of a row's cell: its step of colour, worse-4 to worse-1, even, better-1 to better-4."""
    if row["algorithm"] == row["alone"]:
        return "alone"
    if not np.isfinite(row["score"]):
        return f"worse-{len(EDGES)}"
    if not np.isfinite(row["times_alone"]):
        return None
    number = step(row["times_alone"])
    return f"better-{number}" if number > 0 else f"worse-{-number}" if number < 0 else "even"


def gain(row: dict) -> str:
    """Return a row's gain over learning alone with half of its interval, "+0.1 ±0.02"; empty where it is unknown."""
    if row["algorithm"] == row["alone"] or not np.isfinite(row["over_alone"]):
        return "learns alone" if row["algorithm"] == row["alone"] else ""
    times, form = scale(row["metric"])
    mean, half = times * row["over_alone"], times * (row["over_alone_high"] - row["over_alone"])
    return f"{mean:+{form}}" + (f" ±{half:{form}}" if np.isfinite(half) else "")
