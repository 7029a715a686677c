"""Ranks, paired gains and their significance, of any methods of any framework, from a table of their scores.

The table has one row for each method, task, epsilon and split:

    task     name of the task
    epsilon  the target; inf without noise. A method that releases nothing has a row at every epsilon
    method   its name
    split    name or number of the split or trial; methods are paired by it
    score    on the test data of this split; NaN or infinite where the run diverged
    best     "max" or "min": which scores are better; may be left out where the argument `best` says so

and may have `privacy_unit` and `neighbors`: methods of different privacy units or neighbouring relations are never
ranked together, and both columns are then in the results. `results/board/scores.csv` is the board as such a table.

    from bench import ranking

    scores = pd.concat([pd.read_csv("results/board/scores.csv"), mine])
    ranking.mean_ranks(scores)
    ranking.gains(scores, baselines=["DP-FedAvg", "Learning alone"])
"""

import math
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from bench.analysis import drawn_users, significance
from bench.errors import InputError, check_name, shown

SIGN = {"max": 1.0, "min": -1.0}
DRAWS = 2000  # of the splits, for the intervals of mean ranks
EVERY = -1.0  # stands for "every epsilon": the mean over the private epsilons
ROUNDING = 1e-5  # relative to the score: smaller differences are rounding errors of float32 and count as 0
NEEDED = ["task", "epsilon", "method", "split", "score"]
COMPARED = ["privacy_unit", "neighbors"]
GAINS = ["gain", "gain_low", "gain_high", "gain_p", "gain_error_users"]


def mean_ranks(scores: pd.DataFrame, *, best: str | Mapping[str, str] | None = None) -> pd.DataFrame:
    """Compute the mean ranks of methods over tasks, with intervals by a paired bootstrap over splits.

    Within each task, n - 1 of its n splits are drawn with replacement. The same draw is used for all methods and all
    epsilons of the task, which were run on the same splits and stay paired. Every draw gives mean scores, the mean
    scores give ranks, and the ranks are averaged over tasks. An interval is the middle 95 % of the draws. With n - 1 of
    n splits drawn, a mean over splits varies by its standard error (Rao and Wu 1988); with n it would vary too little,
    by a tenth for five splits. Draws of different tasks are independent.

    An interval covers the choice of the splits; the tasks are not resampled.

    Args:
        scores: see the module.
        best: "max" or "min", for all tasks or by task; default the column `best`.

    Returns:
        Columns method, epsilon, mean_rank, low and high (NaN where a task has one split), last (the mean rank of a
        method that is always the last: an interval that ends there, or at 1, is one-sided, since no rank lies beyond),
        tasks (the number of tasks with this method) and of (the number of tasks with any method). At one epsilon a
        method's mean is over the tasks in which it was run there; at epsilon `EVERY` it is first the mean over the
        private epsilons of each task, then over tasks. A method that diverged ranks behind all others; equal scores
        share the better rank. At each epsilon the methods with the most tasks come first, and among them the best.

    Raises:
        InputError: for a table that is not as the module says.
    """
    scores = _checked(scores, best)
    return _each_compared(scores, _mean_ranks)


def gains(
    scores: pd.DataFrame,
    *,
    best: str | Mapping[str, str] | None = None,
    baselines: Sequence[str] | None = None,
    reference: str | None = None,
    test_ratio: float = 0.0,
) -> pd.DataFrame:
    """Compute every method's rank at each task and epsilon, and its paired gain over the best baseline.

    Args:
        scores, best: as for `mean_ranks`.
        baselines: names of the methods of which the best is the reference; default all methods.
        reference: the method that gains are taken over at every epsilon, in place of the best baseline.
        test_ratio: test examples for each training example where the splits share one data set, which widens the
            intervals (`bench.analysis.significance.error_of_mean`); 0 where every split has data of its own.

    Returns:
        Columns task, epsilon, method, score (mean over splits), splits, rank (1 is the best; NaN where a run
        diverged), best_baseline, gain (mean over splits of the improvement), gain_low and gain_high (95 %, Student's t,
        of this difference alone), gain_p (allows for the choice of the best baseline) and decided: significant after
        Holm's correction over all gains of the task, with at least five splits. The spread over splits is all that the
        intervals know: neither the choice of users nor that of common test examples is in them.

    Raises:
        InputError: for a table that is not as the module says, and for baselines or a reference that it lacks.
    """
    scores = _checked(scores, best)
    if not (np.isfinite(test_ratio) and test_ratio >= 0):
        raise InputError(f"test_ratio is {test_ratio}: give n2 / n1, test examples for each training example")
    names = sorted(scores["method"].unique())
    for name in [*(baselines or []), *([] if reference is None else [reference])]:
        check_name("method", name, names)
    candidates = names if baselines is None else list(baselines)
    candidates = candidates if reference is None else [reference]
    return _each_compared(scores, lambda part: _gains(part, candidates, test_ratio))


def improvements(values: pd.DataFrame, reference: Hashable, best: str) -> pd.DataFrame:
    """Compute by how much each method is better than the reference on each split; rounding errors are 0.

    The same run computed in a chunk of another size differs in its last digits, by nearly the same amount on every
    split; without a tolerance such differences would appear significant.

    Args:
        values: scores, one row per split and one column per method.
        reference: its column.
        best: "max" or "min".

    Returns:
        As values; NaN where a run diverged.
    """
    better = SIGN[best] * values.sub(values[reference], axis=0)
    better = better.replace([np.inf, -np.inf], np.nan)
    return better.where(better.abs().gt(ROUNDING * values[reference].abs(), axis=0) | better.isna(), 0.0)


def gains_over(
    runs: pd.DataFrame,
    metric: str,
    best: str,
    reference: str,
    candidates: Sequence[str],
    *,
    test_ratio: float = 0.0,
    num_tests: float = 0,
) -> pd.DataFrame:
    """Compute the paired gains of tested runs at one epsilon over one of their methods, with intervals that know users
    and common test examples.

    Args:
        runs: one row per method and split, with the columns algorithm, trial and the metric, and those of the metric on
            drawn users (`bench.analysis.drawn_users`) where they are known.
        metric: the column of the score.
        best: "max" or "min".
        reference: the method that gains are taken over.
        candidates: the methods that it is the best of; itself alone where it was named beforehand.
        test_ratio: test examples for each training example where all splits are of one data set, else 0.
        num_tests: number of test examples that all splits share, of a metric that is a share of them, else 0; where
            they do not count alike, divided by the weight of that which counts most, with 1 as the mean weight.

    Returns:
        By method: gain, gain_low and gain_high (95 % of this gain alone), gain_p (`bench.analysis.significance`), and
        gain_error_users, the standard error due to the choice of users, NaN for the reference and where it is unknown.
    """
    scores = runs.pivot(index="trial", columns="algorithm", values=metric).astype(float)
    gains = improvements(scores, reference, best)
    same = gains.eq(0).all()
    # Where all gains are rounding errors, so is what they would be on other users or other test examples.
    of_users = drawn_users.error_of_gains(runs, metric, reference)
    of_users = of_users.mask(same & of_users.notna(), 0.0)
    place, of_tests = list(gains.columns).index(reference), np.zeros(len(gains.columns))
    if num_tests:
        wrong = (scores if best == "min" else 1 - scores).mean().to_numpy()
        of_tests = np.where(same, 0.0, significance.error_of_tests(wrong, place, num_tests))
    found = significance.differences(
        gains.to_numpy(),
        place,
        gains.columns.isin(candidates),
        test_ratio=test_ratio,
        of_users=of_users.reindex(gains.columns).to_numpy(),
        num_draws=drawn_users.DRAWS,
        of_tests=of_tests,
    )
    intervals = {"gain": found.mean, "gain_low": found.mean - found.half, "gain_high": found.mean + found.half}
    table = pd.DataFrame(intervals | {"gain_p": found.p}, index=gains.columns)
    return table.assign(gain_error_users=of_users.drop(reference))


def over_best_baseline(
    ranked: pd.DataFrame,
    runs: pd.DataFrame,
    metric: str,
    best: str,
    baselines: Collection[str],
    *,
    test_ratio: float = 0.0,
    num_tests: float = 0,
) -> pd.DataFrame:
    """Compute the gains of methods at one epsilon over that of the baselines with the best rank.

    Args:
        ranked: one row per method: algorithm, and rank, NaN where a run diverged.
        runs, metric, best, test_ratio, num_tests: as for `gains_over`.
        baselines: names of the methods of which the best is the reference.

    Returns:
        `ranked` with best_baseline and the columns of `gains_over`; "" and NaN where every baseline diverged.
    """
    candidates = ranked[ranked["algorithm"].isin(baselines)].dropna(subset="rank")
    if candidates.empty:
        return ranked.assign(best_baseline="", **dict.fromkeys(GAINS, np.nan))
    reference, chosen_from = candidates.sort_values("rank").iloc[0]["algorithm"], candidates["algorithm"].tolist()
    found = gains_over(runs, metric, best, reference, chosen_from, test_ratio=test_ratio, num_tests=num_tests)
    return ranked.assign(best_baseline=reference).join(found, on="algorithm")


def _gains(scores: pd.DataFrame, candidates: Sequence[str], test_ratio: float) -> pd.DataFrame:
    tables = []
    for task, of_task in scores.groupby("task", sort=True):
        rows = []
        for epsilon, here in of_task.groupby("epsilon", sort=True):
            rows.append(_gains_at(here, candidates, test_ratio).assign(task=task, epsilon=epsilon))
        table = pd.concat(rows, ignore_index=True)
        tables.append(table.assign(decided=significance.decided(table["gain_p"].to_numpy(float), table["splits"])))
    columns = ["task", "epsilon", "method", "score", "splits", "rank", "best_baseline"]
    return pd.concat(tables, ignore_index=True)[[*columns, "gain", "gain_low", "gain_high", "gain_p", "decided"]]


def _gains_at(here: pd.DataFrame, candidates: Sequence[str], test_ratio: float) -> pd.DataFrame:
    """Return `_gains` of the methods at one task and epsilon."""
    best = here["best"].iloc[0]
    values = here.pivot(index="split", columns="method", values="score")
    mean = values.replace([np.inf, -np.inf], np.nan).mean(skipna=False)
    ranks = (SIGN[best] * mean).rank(ascending=False, method="min")
    ranked = pd.DataFrame({"score": mean, "splits": len(values), "rank": ranks}).reset_index(names="algorithm")
    runs = here.rename(columns={"method": "algorithm", "split": "trial"})
    found = over_best_baseline(ranked, runs, "score", best, candidates, test_ratio=test_ratio)
    return found.rename(columns={"algorithm": "method"})


def _mean_ranks(scores: pd.DataFrame) -> pd.DataFrame:
    drawn: dict[tuple[float, str], list[np.ndarray]] = {}
    lasts: dict[tuple[float, str], list[float]] = {}
    tasks_at: dict[float, set[str]] = {}
    narrow = set()
    for task, of_task in scores.groupby("task", sort=True):
        private: dict[str, list[np.ndarray]] = {}
        private_lasts: dict[str, list[int]] = {}
        counts = of_task.groupby("epsilon")["method"].nunique()
        for (epsilon, method), of_draws in drawn_ranks(str(task), of_task):
            drawn.setdefault((epsilon, method), []).append(of_draws)
            lasts.setdefault((epsilon, method), []).append(counts[epsilon])
            tasks_at.setdefault(epsilon, set()).add(str(task))
            narrow |= {epsilon, EVERY} if of_task["split"].nunique() == 1 else set()
            if math.isfinite(epsilon):
                private.setdefault(method, []).append(of_draws)
                private_lasts.setdefault(method, []).append(counts[epsilon])
        for method, of_epsilons in private.items():
            drawn.setdefault((EVERY, method), []).append(np.mean(of_epsilons, axis=0))
            lasts.setdefault((EVERY, method), []).append(float(np.mean(private_lasts[method])))
            tasks_at.setdefault(EVERY, set()).add(str(task))
    rows = []
    for (epsilon, method), of_tasks in drawn.items():
        mean = np.mean(of_tasks, axis=0)
        low, high = (np.nan, np.nan) if epsilon in narrow else np.quantile(mean[1:], [0.025, 0.975])
        ends = {"low": low, "high": high, "last": float(np.mean(lasts[epsilon, method]))}
        counts = {"tasks": len(of_tasks), "of": len(tasks_at[epsilon])}
        rows.append({"method": method, "epsilon": epsilon, "mean_rank": mean[0]} | ends | counts)
    table = pd.DataFrame(rows)
    order = ["epsilon", "tasks", "mean_rank", "method"]
    return table.sort_values(order, ascending=[True, False, True, True], ignore_index=True)


def drawn_ranks(task: str, scores: pd.DataFrame) -> Iterator[tuple[tuple[float, str], np.ndarray]]:
    """Yield (epsilon, method) and its ranks on one task: for the splits as they are, then for `DRAWS` draws of them."""
    table = scores.pivot(index=["epsilon", "method"], columns="split", values="score")
    values = SIGN[scores["best"].iloc[0]] * table.to_numpy(float)
    values = np.where(np.isfinite(values), values, -np.inf)
    num_splits = values.shape[1]
    draws = np.random.default_rng([*task.encode()]).integers(num_splits, size=(DRAWS, max(num_splits - 1, 1)))
    means = np.array([values[:, draw].mean(axis=1) for draw in (np.arange(num_splits), *draws)]).T
    epsilons = table.index.get_level_values("epsilon")
    for epsilon in epsilons.unique():
        at_epsilon = means[epsilons == epsilon]
        better = (at_epsilon[None] > at_epsilon[:, None]).sum(axis=1)
        yield from zip(table.index[epsilons == epsilon], 1.0 + better, strict=True)


def _each_compared(scores: pd.DataFrame, compute) -> pd.DataFrame:
    """Return compute(scores), by pairs of privacy unit and neighbouring relation where the table has them."""
    by = [name for name in COMPARED if name in scores]
    if not by:
        return compute(scores)
    groups = scores.groupby(by, sort=True)
    return pd.concat(
        [compute(part).assign(**dict(zip(by, pair, strict=True))) for pair, part in groups], ignore_index=True
    )


def _checked(scores: pd.DataFrame, best: str | Mapping[str, str] | None) -> pd.DataFrame:
    """Return the table with a column `best`, checked."""
    missing = [name for name in NEEDED if name not in scores]
    if missing or scores.empty:
        lacks = f"column {missing[0]!r}" if missing else "row"
        raise InputError(f"the table of scores has no {lacks}: it needs {', '.join(NEEDED)}")
    if best is not None:
        scores = scores.assign(best=best if isinstance(best, str) else scores["task"].map(best))
    if "best" not in scores:
        raise InputError("the table does not say which scores are better: give it a column 'best', or best='max'")
    for row in scores.loc[~scores["best"].isin(SIGN), ["task", "best"]].itertuples(index=False):
        raise InputError(f"best is {shown(row.best)} for task {shown(row.task)}: give 'max' or 'min'")
    if scores.groupby("task")["best"].nunique().max() > 1:
        raise InputError("a task has both 'max' and 'min' in the column 'best': give one for all its rows")
    numbers = scores.assign(
        **{name: pd.to_numeric(scores[name], errors="coerce").astype(float) for name in ("epsilon", "score")}
    )
    for name in ("epsilon", "score"):
        wrong = scores.loc[numbers[name].isna() & scores[name].notna(), name]
        if len(wrong):
            raise InputError(f"{name} is {shown(wrong.iloc[0])}: give numbers")
    by = [name for name in (*COMPARED, "task", "epsilon", "method", "split") if name in scores]
    gaps = [name for name in by if scores[name].isna().any()]
    if gaps or (numbers["epsilon"] <= 0).any():
        name = gaps[0] if gaps else "epsilon"
        raise InputError(f"the column {name!r} has {'gaps' if gaps else 'values that are not above 0'}: fill them in")
    twice = numbers.duplicated(by)
    if twice.any():
        row = numbers[twice].iloc[0]
        raise InputError(f"{_place(row)} has several scores of {shown(row['method'])}: keep one row for each split")
    counts = numbers.groupby(by[:-1])["split"].nunique().reset_index(name="has")
    counts = counts.merge(numbers.groupby("task")["split"].nunique().rename("wanted"), on="task")
    short = counts[counts["has"] < counts["wanted"]]
    if len(short):
        row = short.iloc[0]
        raise InputError(
            f"task {shown(row['task'])} has {row['wanted']} splits, and at epsilon {row['epsilon']:g} "
            f"{shown(row['method'])} has scores of {row['has']}: methods are paired by split, so give all of them"
        )
    return numbers


def _place(row: pd.Series) -> str:
    return f"task {shown(row['task'])} at epsilon {row['epsilon']:g}, split {shown(row['split'])},"
