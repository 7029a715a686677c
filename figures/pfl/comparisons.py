"""How the claims of Bhaskar et al. 2025 are decided: the same comparisons on the runs here and on the published tables.

A claim is a list of comparisons, each of a number of points with a bound. It fails where one is missed on average over
the runs, holds where all can be made and none is missed, and is not testable where none is missed but cells were not
run. Cells are compared run by run: runs of one trial and seed share the clients' data. A run that diverged counts as
an accuracy of 0 %.
"""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from bench.analysis import select
from figures.pfl import common
from figures.shared.derived import derived
from figures.shared.margins import ONE, PAIRED, Margin, measured, tightest
from figures.shared.verdicts import FAILS, HOLDS, NotTestable, Verdict


class Comparison(NamedTuple):
    """What a claim says of some cells.

    group, item: which cells, in words; a group is a line of the evidence.
    values: in points, [run]; empty where the cells that it cannot do without were not run together.
    low, high: between which the mean must lie.
    complete: whether all cells that it speaks of are there.
    """

    group: str
    item: str
    values: np.ndarray
    low: float = -np.inf
    high: float = np.inf
    complete: bool = True

    @property
    def margin(self) -> float:
        """By how many points the claim is met on average; negative where it is missed, NaN without values."""
        return min(self.values.mean() - self.low, self.high - self.values.mean()) if len(self.values) else np.nan

    @property
    def half(self) -> float:
        """Half of the 95 % interval of the mean; NaN of one run."""
        return select.half_width(self.values.std(ddof=1), len(self.values)) if len(self.values) > 1 else np.nan

    @property
    def missed(self) -> bool:
        return self.margin <= 0

    @property
    def met(self) -> bool:
        return self.margin > 0 and self.complete


KEYS = ["target_epsilon", "num_epochs", "num_clients", "algorithm"]


class Cells:
    """Accuracies on one data set in percent, by epsilon, local epochs, clients and model.

    Attributes:
        dataset: its name.
        diverged: how many runs did.
        asked: the cells that were asked for, run or not.
    """

    def __init__(self, rows: pd.DataFrame, dataset: str):
        rows = rows[rows["dataset"] == dataset]
        accuracy = rows["test_accuracy"].astype(float).where(np.isfinite(rows["test_accuracy"].astype(float)))
        rows = rows.assign(value=100 * accuracy.fillna(0))
        wide = rows.pivot(index=select.REPETITION, columns=KEYS, values="value")
        self._runs, self._values = wide.index, dict(zip(wide.columns, wide.to_numpy().T, strict=True))
        self.dataset, self.diverged = dataset, int(accuracy.isna().sum())
        self.asked: set[tuple] = set()

    def beside(self, keys: Sequence[tuple]) -> pd.DataFrame:
        """Those of the cells that were run, [run, cell], with the runs that all of them have."""
        self.asked.update(keys)
        found = {key: self._values[key] for key in keys if key in self._values}
        return pd.DataFrame(found, index=self._runs).dropna()


Test = Callable[[Cells], list[Comparison]]


def difference(cells: Cells, first: tuple, second: tuple) -> np.ndarray:
    """First less second, [run]; empty where one was not run."""
    both = cells.beside([first, second])
    return (both[first] - both[second]).to_numpy() if both.shape[1] == 2 else np.empty(0)


def to_best(cells: Cells, one: tuple, others: Sequence[tuple]) -> tuple[np.ndarray, bool]:
    """One cell less the best on average of the others, [run], and whether all of them were run."""
    column = cells.beside([one, *others])
    if one not in column or column.shape[1] < 2 or column.empty:
        return np.empty(0), False
    rest = column.drop(columns=[one])
    return (column[one] - rest[rest.mean().idxmax()]).to_numpy(), rest.shape[1] == len(others)


@derived
def on(runs: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """The runs on a data set.

    Raises:
        NotTestable: where there are none.
    """
    if dataset not in set(runs["dataset"]):
        raise NotTestable(f"no runs on {dataset}")
    return runs[runs["dataset"] == dataset]


def decided_by(test: Test, dataset: str, *figures: str) -> Callable[[pd.DataFrame], Verdict]:
    """A check of a claim on one data set, with the outcome of the same test on the published tables beside it."""

    def check(runs: pd.DataFrame) -> Verdict:
        cells = Cells(common.final(on(runs, dataset)), dataset)
        return decide(test(cells), test(_published(dataset, *figures)), cells.diverged)

    return check


def rests_on(test: Test, dataset: str, *figures: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Of runs, those after the last round in the cells that a test compares on a data set."""

    def about(runs: pd.DataFrame) -> pd.DataFrame:
        cells = _published(dataset, *figures)
        test(cells)
        return among(runs, dataset, cells.asked)

    return about


def among(runs: pd.DataFrame, dataset: str, cells: Collection[tuple]) -> pd.DataFrame:
    """Of the runs on a data set, those after the last round in these cells."""
    rows = common.finished(runs[runs["dataset"] == dataset])
    return rows[rows.set_index(KEYS).index.isin(list(cells))]


def _published(dataset: str, *figures: str) -> Cells:
    """The published tables, as one run."""
    cells = common.published_tables(*figures).rename(columns={"published": "test_accuracy"})
    return Cells(cells.assign(trial=0, seed=0), dataset)


def decide(ours: Sequence[Comparison], theirs: Sequence[Comparison], diverged: int = 0) -> Verdict:
    """The verdict on comparisons of the runs here, and that on the published numbers in its evidence.

    Raises:
        NotTestable: where none is missed but some cannot be made.
    """
    met, missed = [one for one in ours if one.met], [one for one in ours if one.missed]
    left = len(ours) - len(met) - len(missed)
    counts = f"met at {len(met)} of {len(ours)}{_chance(met)}, missed at {len(missed)}{_chance(missed)}"
    evidence = [counts + (f", left open at {left} for want of runs" if left else "")]
    if diverged:
        evidence.append(f"{diverged} runs diverged and count as 0 %")
    well = sum(one.met for one in theirs)
    outcome = HOLDS if well == len(theirs) else FAILS
    evidence.append(f"the published numbers (in brackets) by the same test: {outcome}, met at {well} of {len(theirs)}")
    for group in dict.fromkeys(one.group for one in ours):
        pairs = [(one, other) for one, other in zip(ours, theirs, strict=True) if one.group == group]
        evidence.append(
            f"{group}: " + ", ".join(f"{one.item} {_points(one)} ({_points(other)})" for one, other in pairs)
        )
    if left and not missed:
        raise NotTestable("; ".join(evidence))
    margins = [_margin(one) for one in ours if len(one.values)]
    return Verdict(FAILS if missed else HOLDS, "; ".join(evidence), tightest(margins))


def _margin(one: Comparison) -> Margin:
    return measured(one.margin, "points of accuracy", ONE if len(one.values) < 2 else PAIRED, one.half)


def _chance(comparisons: Sequence[Comparison]) -> str:
    """How many are so by more than their interval, and how many have none."""
    clear = sum(abs(one.margin) > one.half for one in comparisons)
    single = sum(len(one.values) == 1 for one in comparisons)
    parts = [f"by more than the interval at {clear}"] if single < len(comparisons) else []
    parts += [f"from a single run at {single}"] if single else []
    return f" ({', '.join(parts)})" if comparisons else ""


def _points(one: Comparison) -> str:
    """The mean with its interval; "so far" where cells are missing that may change it."""
    if not len(one.values):
        return "not run"
    interval = f" ± {one.half:.2f}" if np.isfinite(one.half) else ""
    return f"{round(one.values.mean(), 2) + 0.0:.2f}{interval}{'' if one.complete else ' so far'}"
