"""Whether the methods of a comparison converged within its budget: the test score against the cost so far.

Scores between two evaluations are interpolated linearly, so that runs of different lengths can be averaged.
"""

import numpy as np
import pandas as pd

from bench.analysis import select
from bench.comparison.columns import COSTS, KEYS
from bench.ranking import SIGN

EVALUATIONS = 20  # of a tested run after the one at its start, at most
FEWEST = 4  # evaluations that make a curve
SHARES = np.arange(1, EVALUATIONS + 1) / EVALUATIONS  # shares of a run at which curves are drawn
SMALL = 0.01  # of the final score: smaller improvements in the last quarter of a run are not named
GAIN = "last_quarter"  # column: the improvement of the score in the last quarter of a run


def rounds_between(num_rounds: int) -> int:
    """Return the fewest rounds between two evaluations that make at most EVALUATIONS of them and divide the rounds."""
    fewest = -(-num_rounds // EVALUATIONS)
    return next(every for every in range(fewest, num_rounds + 1) if num_rounds % every == 0)


def curves(evaluations: pd.DataFrame, *, metric: str) -> pd.DataFrame:
    """Return the score of the test runs against the share of the run that is done.

    Args:
        evaluations: as of `bench.comparison.result.Comparison`.
        metric: the column that is tested.

    Returns:
        algorithm, target_epsilon, share (of a run, in (0, 1], from the first evaluation after the start on), the metric
        with low, high (95 % over splits), repetitions and the kind of "mean"; rounds, floats_up, gradients and examples
        so far, means over splits. Of a method with a run of fewer than FEWEST evaluations only the end, share = 1.
    """
    points = _at_shares(evaluations, metric)
    by = ["algorithm", "target_epsilon", "share"]
    means = points.groupby(by)[["rounds", *COSTS]].mean()
    splits = points.groupby(KEYS[:2])["trial"].nunique().rename("splits")
    drawn = select.averaged(points, by=by, value=metric).join(means, on=by).join(splits, on=KEYS[:2])
    return drawn[drawn["repetitions"] == drawn["splits"]].drop(columns="splits").reset_index(drop=True)


def growth(evaluations: pd.DataFrame, *, metric: str, best: str) -> pd.DataFrame:
    """Return the improvement of the score in the last quarter of a run.

    Args:
        evaluations: as of `bench.comparison.result.Comparison`.
        metric: the column that is tested.
        best: "max" or "min".

    Returns:
        One row per method and epsilon: last_quarter, the mean over splits, positive where the end is better, with
        last_quarter_low and last_quarter_high (95 %, Student's t), NaN for runs that are too short to tell;
        still_improving, whether it is beyond chance and more than SMALL of the final score.
    """
    by_share = _at_shares(evaluations, metric).pivot(index=KEYS, columns="share", values=metric)
    late, end = (by_share.reindex(columns=[share])[share] for share in (0.75, 1.0))
    by_split = pd.DataFrame({GAIN: SIGN[best] * (end - late), "score": end, "seed": 0}).reset_index()
    found = select.interval(by_split, by=KEYS[:2], value=GAIN)
    found = found.rename(columns={"low": f"{GAIN}_low", "high": f"{GAIN}_high"})
    found = found[[*KEYS[:2], GAIN, f"{GAIN}_low", f"{GAIN}_high"]]
    worth = SMALL * by_split.groupby(KEYS[:2])["score"].mean().abs().rename("worth")
    found = found.join(worth, on=KEYS[:2])
    improving = (found[f"{GAIN}_low"] > 0) & (found[GAIN] > found.pop("worth"))
    return found.assign(still_improving=improving)


def joined(table: pd.DataFrame, growth: pd.DataFrame) -> pd.DataFrame:
    """Return the table of a comparison with the columns of `growth` added.

    Args:
        table: of `report.table.table`, in which methods that release nothing have a row at every epsilon.
        growth: of `growth`, which has these methods at epsilon 0.
    """
    at = table["target_epsilon"].where(~table["reveals_nothing"], 0.0)
    keys = pd.MultiIndex.from_arrays([table["algorithm"], at], names=KEYS[:2])
    return table.join(growth.set_index(KEYS[:2]).reindex(keys).set_axis(table.index))


def _at_shares(evaluations: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return the score, rounds and costs so far of every run at SHARES of it, from its first evaluation after the start
    on; at its end alone where it has few evaluations. A score is NaN where it is not finite."""
    pieces = []
    for run, rows in evaluations.sort_values("rounds").groupby(KEYS):
        rounds, num_rounds, scores = (rows[column].to_numpy(float) for column in ("rounds", "num_rounds", metric))
        shares, scores = rounds / num_rounds, np.where(np.isfinite(scores), scores, np.nan)
        at, end = SHARES[shares[1] <= SHARES] if len(rows) > FEWEST else SHARES[-1:], rows.iloc[-1]
        at_end = {"rounds": end["num_rounds"], **{column: end.get(column, np.nan) for column in COSTS}}
        spent = {column: at * float(value) for column, value in at_end.items()}
        of_run = dict(zip(KEYS, run, strict=True)) | {"share": at, metric: np.interp(at, shares, scores)}
        pieces.append(pd.DataFrame(of_run | spent))
    return pd.concat(pieces, ignore_index=True).assign(seed=0)
