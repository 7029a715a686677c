"""The numbers of a figure from runs: tuning, and intervals over repetitions."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from bench.analysis import metric_limits

REPETITION = ["trial", "seed"]
FOLDS = 4  # of repetitions, where settings are chosen on some and judged on the others


def _finite_values(values: pd.Series, log: bool) -> pd.Series:
    """Return the values or their logarithms; NaN where there is nothing to average."""
    values = values.astype(float).replace([np.inf, -np.inf], np.nan)
    return values.where(values > 0).apply(np.log) if log else values


def tune(runs: pd.DataFrame, *, by: Sequence[str], over: str, on: str, best: str, log: bool = False) -> pd.DataFrame:
    """Return the rows with the value of `over` that `choose` selects in each group.

    edge: where several values were tried and the chosen is the smallest or largest, says so, "step_size = 0.1, the
        largest tried"; otherwise empty.
    """
    settings = _settings(runs, by, over)
    numbers = _best(settings, runs[on], best, log)
    chosen = settings.values.iloc[numbers]
    edge = np.full(len(settings.values), None, object)
    edge[numbers] = edges(settings.values, chosen, by, over)
    selected = settings.among(numbers)
    return runs[selected].reset_index(drop=True).assign(edge=list(edge[settings.number[selected]]))


def tune_apart(
    runs: pd.DataFrame, *, by: Sequence[str], over: str, on: str, best: str, log: bool = False, folds: int = FOLDS
) -> pd.DataFrame:
    """Return the rows with the value of `over` that `choose` selects in each group on other repetitions than the row's.

    The repetitions are dealt into folds, and every fold takes the value that is best on all others. The mean over
    repetitions then does not profit from the choice, as that of `tune` does, and the more so the more values were
    tried. With a single repetition there is no other to choose by, and the value is chosen on it.

    Args:
        folds: their number; with fewer repetitions every one is a fold.
        others: as for `choose`.
    """
    settings, places = _settings(runs, by, over), []
    fold_of = settings.repetition % folds
    for fold in np.unique(fold_of):
        in_fold = fold_of == fold
        numbers = _best(settings, runs[on], best, log, np.ones_like(in_fold) if in_fold.all() else ~in_fold)
        places.append(np.flatnonzero(in_fold & settings.among(numbers)))
    return runs.iloc[np.concatenate(places)].reset_index(drop=True)


def edges(runs: pd.DataFrame, chosen: pd.DataFrame, by: Sequence[str], over: str) -> list[str]:
    """Return, for every chosen value, whether it is at an end of the values that its group tried; empty for values
    without order.

    Args:
        runs: with all values that were tried.
        chosen: columns `by` and `over`, one row per group.
        by: columns of a group.
        over: the column that was chosen.
    """
    if not pd.api.types.is_numeric_dtype(runs[over]):
        return [""] * len(chosen)
    ends = runs.groupby(list(by), observed=True)[over].agg(["min", "max"]).reset_index()
    rows = chosen.merge(ends, on=list(by), how="left")
    words = {True: "largest", False: "smallest"}
    return [
        f"{over} = {value:g}, the {words[value == high]} tried" if low < high and value in (low, high) else ""
        for value, low, high in zip(rows[over], rows["min"], rows["max"], strict=True)
    ]


def choose(runs: pd.DataFrame, *, by: Sequence[str], over: str, on: str, best: str, log: bool = False) -> pd.DataFrame:
    """Return, for each group, the value of `over` whose mean of `on` over repetitions is best.

    A value that diverged in any repetition (NaN, inf) is never chosen if another value did not diverge. A value with
    fewer repetitions than another (a sweep that still runs) is not chosen either. Repetitions that only a minority of
    the values has (more seeds for a part of the grid) do not count. Among equal values the smallest is chosen.

    Args:
        runs: one row per run and evaluation.
        by: columns of a group; with "rounds" among them every point of a curve is tuned by itself.
        over: the column to choose a value of.
        on: the metric to choose by.
        best: "min" or "max".
        log: compare means of logarithms, where those are shown.

    Returns:
        The columns of `by`, and `over`, one row per group.
    """
    settings = _settings(runs, by, over)
    return settings.values.iloc[_best(settings, runs[on], best, log)].reset_index(drop=True)


class _Settings(NamedTuple):
    """The settings that were tried, and the runs by number, since numbers are compared faster than several columns.

    values: a row for each setting: the columns of its group, and the value, sorted.
    group: the number of the group of each row of `values`.
    number: the row of `values` that each run has; -1 where one of its columns is missing.
    repetition: the number of each run's repetition.
    """

    values: pd.DataFrame
    group: np.ndarray
    number: np.ndarray
    repetition: np.ndarray

    def among(self, numbers: np.ndarray) -> np.ndarray:
        """Return whether every run has one of the values with these numbers."""
        chosen = np.zeros(len(self.values) + 1, bool)  # of which the last, False, is that of -1
        chosen[numbers] = True
        return chosen[self.number]


def _settings(runs: pd.DataFrame, by: Sequence[str], over: str) -> _Settings:
    keys = [*by, over]
    number, repetition = (_numbers(runs, names) for names in (keys, REPETITION))
    first_rows = np.empty(number.max(initial=-1) + 1, int)
    present = np.flatnonzero(number >= 0)[::-1]
    first_rows[number[present]] = present
    values = runs[keys].iloc[first_rows].reset_index(drop=True)
    return _Settings(values, _numbers(values, list(by)), number, repetition)


def _numbers(rows: pd.DataFrame, names: list[str]) -> np.ndarray:
    """Return the number of the group of every row, in order; -1 where one of the columns is missing."""
    return rows.groupby(names, observed=True).ngroup().fillna(-1).to_numpy(int)


def _best(settings: _Settings, metric: pd.Series, best: str, log: bool, among: np.ndarray | None = None) -> np.ndarray:
    """Return the number of the setting that `choose` selects in each group, by the metric of some of the runs."""
    sign = {"min": 1.0, "max": -1.0}[best]
    used = (settings.number >= 0) & (settings.repetition >= 0)
    used = used if among is None else used & among
    number, repetition = settings.number[used], settings.repetition[used]
    common = _common(number, settings.group, repetition)
    number = number[common]
    values = (sign * _finite_values(metric[used][common], log)).fillna(np.inf).groupby(number)
    means, counts = values.mean(), values.size()
    group = settings.group[means.index]
    complete = (counts == counts.groupby(group).transform("max")).to_numpy()
    return means[complete].groupby(group[complete]).idxmin().to_numpy(int)


def _common(number: np.ndarray, group: np.ndarray, repetition: np.ndarray) -> np.ndarray:
    """Return whether each run is of a repetition that at least half of the values of its group have.

    Args:
        number: of the value of every run.
        group: number of a value -> number of its group.
        repetition: of every run.
    """
    runs = pd.DataFrame({"number": number, "repetition": repetition})
    distinct = ~runs.duplicated().to_numpy()
    place = pd.factorize(group[number] * (repetition.max(initial=0) + 1) + repetition)[0]
    present = np.zeros(len(group), bool)
    present[number] = True
    have, values = np.bincount(place[distinct]), np.bincount(group[present])
    return 2 * have[place] >= values[group[number]]


def tuned_elsewhere(
    runs: pd.DataFrame, others: pd.DataFrame, *, by: Sequence[str], over: Sequence[str], on: str, best: str
) -> pd.DataFrame:
    """Return the rows of `runs` at the settings that are best among other runs, such as those on validation data.

    Args:
        runs: the runs to show.
        others: the runs to choose by; no row of `runs` may be among them.
        by, on, best: as for `choose`.
        over: columns that make up a setting. Among equals the smallest in the first column is chosen, then in the
            second, and so on.
    """
    settings = others[list(over)].drop_duplicates().sort_values(list(over), ignore_index=True)
    needed = others[list(dict.fromkeys([*by, *over, *REPETITION, on]))]
    numbered = needed.merge(settings.assign(setting=settings.index), on=list(over))
    chosen = choose(numbered, by=by, over="setting", on=on, best=best)
    keys = chosen.merge(settings.assign(setting=settings.index), on="setting").drop(columns="setting")
    return runs.merge(keys, on=[*by, *over])


def half_width(std, count):
    """Return half of the 95 % confidence interval of a mean (Student's t); NaN for one repetition.

    Args:
        std: standard deviation over repetitions, with count - 1 in the denominator.
        count: number of repetitions.
    """
    return stdtrit(np.maximum(np.asarray(count) - 1, 1), 0.975) * std / np.sqrt(count)


def interval(
    rows: pd.DataFrame, *, by: Sequence[str], value: str, log: bool = False, means: Sequence[str] = ()
) -> pd.DataFrame:
    """Return the mean over repetitions with its 95 % confidence interval (Student's t), one row per group.

    Args:
        rows: one row per repetition in each group.
        by: columns of a group.
        value: the column to average.
        log: average logarithms, for a positive quantity on a logarithmic axis.
        means: further columns, whose arithmetic mean in the group is kept.

    Returns:
        The columns of `by`, then `value`, "low", "high", "repetitions", and `means`. With one repetition there is no
        interval, so low and high are NaN. Where one repetition is not finite, all three are not finite, since it is not
        averaged away.
    """
    grouped = _finite_values(rows[value], log).groupby([rows[c] for c in by], observed=True)
    mean, std, count = grouped.mean(), grouped.std(ddof=1), grouped.size()
    mean[grouped.count() < count] = np.nan
    half = half_width(std, count)
    back = np.exp if log else (lambda x: x)
    table = pd.DataFrame({value: back(mean), "low": back(mean - half), "high": back(mean + half), "repetitions": count})
    if means:
        table = table.join(rows.groupby(list(by), observed=True)[list(means)].mean())
    return table.reset_index()


def beside(rows: pd.DataFrame, *, by: Sequence[str], value: str, log: bool = False) -> pd.DataFrame:
    """Return the `interval` of a second number of a table: the columns of `by`, value, "VALUE_low", "VALUE_high"."""
    table = interval(rows, by=by, value=value, log=log).drop(columns="repetitions")
    return table.rename(columns={"low": f"{value}_low", "high": f"{value}_high"})


def averaged(rows: pd.DataFrame, *, by: Sequence[str], value: str) -> pd.DataFrame:
    """Return `interval` with the mean that fits the metric: geometric where it has no largest value, so that settings
    that diverge do not decide it, and arithmetic for all others, and where a value is 0 or negative.

    Returns:
        The columns of `interval`, and "mean": "geometric" or "arithmetic".
    """
    finite = rows[value].astype(float).replace([np.inf, -np.inf], np.nan).dropna()
    log = metric_limits.can_diverge(value) and len(finite) > 0 and finite.min() > 0
    return interval(rows, by=by, value=value, log=log).assign(mean="geometric" if log else "arithmetic")


def row(table: pd.DataFrame, label: Any) -> pd.Series:
    """Return the one row of a table with this label, which is a tuple where the index has several levels."""
    return table.loc[label]


def repetitions(runs: pd.DataFrame) -> tuple[int, int]:
    """Return the fewest and the most repetitions of the points of a table of runs; 0 without runs."""
    apart = ["sweep", "point"]
    counts = runs[[*apart, *REPETITION]].drop_duplicates().groupby(apart, observed=True).size()
    return (int(counts.min()), int(counts.max())) if len(counts) else (0, 0)


def span(pair: Sequence[int]) -> str:
    """Return a range as text: one number, or "from to" both."""
    fewest, most = pair
    return f"{fewest}" if fewest == most else f"{fewest} to {most}"


def tuned_curves(
    runs: pd.DataFrame,
    *,
    by: Sequence[str],
    value: str,
    best: str,
    tunings: dict[str, str],
    carry: Sequence[str] = (),
    log: bool = False,
) -> pd.DataFrame:
    """Return curves of `value`, with the step size tuned per point, for each way of tuning.

    Args:
        runs: one row per run and evaluation.
        by: columns of a point on a curve.
        value: the metric shown.
        best: "min" or "max".
        tunings: label -> metric by which the step size is chosen.
        carry: further columns, whose mean in the group is kept (epsilon).
        log: choose by, and show, means of logarithms.

    Returns:
        One row per point and tuning, with columns "tuned_on", "step_size" and "edge", as from `tune`.
    """
    frames, keys = [], [*by, "step_size"]
    for label, metric in tunings.items():
        needed = runs[list(dict.fromkeys([*keys, *REPETITION, value, metric, *carry]))]
        rows = tune(needed, by=by, over="step_size", on=metric, best=best, log=log)
        table = interval(rows, by=keys, value=value, log=log)
        carried = rows.groupby(keys, observed=True).agg(dict.fromkeys(carry, "mean") | {"edge": "first"})
        frames.append(table.merge(carried.reset_index(), on=keys).assign(tuned_on=label))
    return pd.concat(frames, ignore_index=True)


def where_from(runs: pd.DataFrame) -> dict[str, str]:
    """Return the origin of a figure's numbers: the data's source and task, the scale, and the code's commit."""
    names = ("source", "task", "scale", "commit")
    return {name: ", ".join(sorted(map(str, runs[name].unique()), key=_natural)) for name in names}


def _natural(name: str) -> tuple[str, str]:
    """Return the key that sorts names as a reader expects: "linear_p2p_5" before "linear_p2p_10"."""
    return re.sub(r"\d+", lambda number: number[0].zfill(12), name), name
