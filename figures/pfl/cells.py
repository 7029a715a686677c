"""Accuracies in the cells of Bhaskar et al.'s tables, and margins of differences between them.

Most cells have one run here, and some have two or three seeds. Cells with the same three or more seeds are compared run
by run, since runs of one seed share the clients' data. For all other differences the standard deviation over seeds is
pooled over the cells of the same kind that have several runs; where there are none, chance cannot be judged. Where
seeds are shared, the true error tends to be smaller than the pooled one. A run that diverged counts as 0 %, unless a
claim leaves out the runs that collapsed.
"""

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from bench.analysis import select
from figures.pfl import common
from figures.shared.derived import derived
from figures.shared.margins import LEVEL, ONE, Margin, estimated, every, need, paired, some
from figures.shared.verdicts import NotTestable

POINTS = "points of accuracy"
KEYS = ["target_epsilon", "num_epochs", "num_clients", "algorithm"]
PAIRED_FROM = 3  # common seeds from which two cells are compared run by run
NO_SPREAD = "means of unknown spread"

Key = tuple[float, int, int, str]  # KEYS of a cell


def kind(key: Key) -> tuple[str, bool, bool, str]:
    """Return the kind of a cell; cells of one kind on one data set are assumed to have the same standard deviation over
    seeds.

    At E = 1 and 2 this deviation is 0.1 to 1 points. It grows with E, by a factor that depends on the model. For CNN+RL
    on MNIST it grows to 6 points at E = 20 with privacy, and to 60 points at E = 4 and 5 without, where one seed
    collapses and another does not. For SN+Lin on MNIST it grows to 0.3 points with privacy, and not at all without.
    Therefore cells with and without privacy are kept apart, and so are one client and several, and E of 1 and 2, 4 and
    5, 10, and 20. The private budgets, which differ less, and numbers of clients from 10 on are pooled.
    """
    epsilon, epochs, clients, model = key
    local = next((name for most, name in ((2, "1 and 2"), (5, "4 and 5"), (10, "10")) if epochs <= most), "20")
    return model, math.isfinite(epsilon), clients > 1, local


class Spread(NamedTuple):
    """Standard deviation over seeds in points, its degrees of freedom, and the number of cells pooled."""

    deviation: float
    freedom: int
    cells: int


class Cells:
    """The cells on one data set, of the runs here or of published tables.

    Attributes:
        dataset: its name.
        values: the cells that exist, in percent: our runs by trial and seed, or the one number published.
        spreads: over seeds of the runs here, by kind; a kind in which no cell has several runs is missing.
        asked: the cells that were asked for, whether they exist or not.
    """

    def __init__(self, dataset: str, values: Mapping[Key, pd.Series], spreads: Mapping[tuple, Spread]):
        self.dataset, self.values, self.spreads = dataset, values, spreads
        self.asked: set[Key] = set()

    def difference(self, weights: Mapping[Key, float], threshold: float = 0.0) -> Margin:
        """Return the margin of weighted accuracies, in points, that must be above a threshold; without a value where a
        cell does not exist."""
        self.asked.update(weights)
        if not self.values.keys() >= weights.keys():
            return Margin(math.nan, POINTS, ONE)
        runs = [self.values[key] for key in weights]
        if len(runs[0]) >= PAIRED_FROM and all(other.index.symmetric_difference(runs[0].index).empty for other in runs):
            gaps: Any = sum(weight * of for weight, of in zip(weights.values(), runs, strict=True))
            return paired(gaps, POINTS, threshold).named(_cells_in_words(weights))
        return self._pooled(weights, threshold)._replace(threshold=threshold).named(_cells_in_words(weights))

    def _pooled(self, weights: Mapping[Key, float], threshold: float) -> Margin:
        """Return the margin with an error from the spreads of the cells' kinds. The degrees of freedom are those of
        Welch and Satterthwaite, with independent kinds."""
        value = sum(weight * self.values[key].mean() for key, weight in weights.items()) - threshold
        count = min(len(self.values[key]) for key in weights)
        if any(kind(key) not in self.spreads for key in weights):
            return Margin(value, POINTS, ONE if self.spreads else NO_SPREAD, repetitions=count)
        of_kinds = {kind(key): 0.0 for key in weights}  # variance that depends on a kind's spread
        single = 0.0
        for key, weight in weights.items():
            variance = (weight * self.spreads[kind(key)].deviation) ** 2
            of_kinds[kind(key)] += variance / len(self.values[key])
            single += variance
        total, number = sum(of_kinds.values()), sum(self.spreads[name].cells for name in of_kinds)
        uncertain = sum(variance**2 / self.spreads[name].freedom for name, variance in of_kinds.items())
        freedom = total**2 / uncertain if uncertain else math.inf
        repetitions = single / total if total else count
        basis = f"spread pooled over {number} cell{'s' * (number != 1)}"
        margin = estimated(value, math.sqrt(total), freedom, repetitions, POINTS, basis)
        return margin._replace(repetitions=count)

    def distance(self, cell: Key, other: Key) -> dict[Key, float]:
        """Return the weights of the distance between two cells, which is positive on average."""
        both_run = self.values.keys() >= {cell, other}
        sign = -1.0 if both_run and self.values[cell].mean() < self.values[other].mean() else 1.0
        return {cell: sign, other: -sign}


def _cells_in_words(weights: Mapping[Key, float]) -> str:
    """Return one or two cells in words, the one with the larger weight first: "CNN+RL, epsilon 2.93, E = 1 against
    20"."""
    cells = sorted(weights, key=lambda key: -weights[key])
    words = []
    for name, values in zip(("", "E = ", "k = ", ""), zip(*cells, strict=True), strict=True):
        texts = [common.epsilon_name(value) if isinstance(value, float) else f"{value}" for value in values]
        words.append(name + " against ".join(dict.fromkeys(texts)))
    epsilon, epochs, clients, model = words
    return ", ".join([model, epsilon, epochs, clients])


def of_runs(runs: pd.DataFrame, dataset: str, collapsing: Collection[str] = ()) -> Cells:
    """Return the cells of runs on a data set, and their spreads.

    Args:
        runs: of the sweep.
        dataset: its name.
        collapsing: models whose collapsed runs are left out: those below half of the median of their cell. Where one
            seed in some collapses, a mean over seeds says how often that happens and little else. A cell in which most
            runs collapse keeps them.

    Raises:
        NotTestable: where there are none.
    """
    need((runs["dataset"] == dataset).any(), f"no runs on {dataset}")
    return Cells(dataset, *_values_and_spreads(runs, dataset, tuple(collapsing)))


@derived  # many claims compare the same cells
def _values_and_spreads(
    runs: pd.DataFrame, dataset: str, collapsing: tuple[str, ...]
) -> tuple[Mapping[Key, pd.Series], Mapping[tuple, Spread]]:
    """Return the values and spreads of `Cells`."""
    rows = common.final(runs[runs["dataset"] == dataset])
    accuracy = rows["test_accuracy"].astype(float)
    rows = rows.assign(value=100 * accuracy.where(np.isfinite(accuracy), 0)).set_index(select.REPETITION)
    values: dict[Any, pd.Series] = dict(iter(rows.groupby(KEYS)["value"]))
    for key, accuracies in values.items():
        if key[3] in collapsing:
            values[key] = accuracies[accuracies >= accuracies.median() / 2]
    several = defaultdict(list)
    for key, accuracies in values.items():
        if len(accuracies) > 1:
            several[kind(key)].append(accuracies)
    return values, {name: _spread(of_kind) for name, of_kind in several.items()}


def _spread(cells: Sequence[pd.Series]) -> Spread:
    """Return the spread pooled over cells of several runs."""
    freedom = sum(len(runs) - 1 for runs in cells)
    squares = sum(float(runs.var(ddof=1)) * (len(runs) - 1) for runs in cells)
    return Spread(math.sqrt(squares / freedom), freedom, len(cells))


def of_table(dataset: str, figure: str) -> Cells:
    """Return the cells of a published table, each the mean of ten runs, whose spread is not known."""
    rows = common.published_tables(figure).set_index("dataset").loc[[dataset]]
    values: dict[Any, pd.Series] = dict(iter((100 * rows.set_index(KEYS)["published"]).groupby(KEYS)))
    return Cells(dataset, values, {})


# ---- Checks ----

Test = Callable[[Cells], list[Margin]]


def decided(test: Test, combine: Callable = every) -> Callable[[Cells], Margin]:
    """Return a check that every comparison is met, or some. Where cells were not run, only comparisons that suffice
    decide it.

    Raises:
        NotTestable: where cells are missing, and those that exist do not decide.
    """

    def check(cells: Cells) -> Margin:
        margins = test(cells)
        missing = sorted(cells.asked - cells.values.keys(), key=lambda key: (key[3], -key[0], key[1], key[2]))
        found = combine(margins) if not all(math.isnan(margin.value) for margin in margins) else None
        if missing and (found is None or (found.p_holds if combine is some else found.p_fails) >= LEVEL):
            raise NotTestable(_cells_not_run(missing))
        assert found is not None  # no cell is missing, so all comparisons are there
        return found

    return check


def _cells_not_run(keys: Sequence[Key]) -> str:
    """Return the cells that were not run, in words."""
    parts = defaultdict(list)
    for (model, epsilon), group in itertools.groupby(keys, key=lambda key: (key[3], key[0])):
        _, epochs, clients, _ = zip(*group, strict=True)
        parts[model, _numbers_in_words(epochs), _numbers_in_words(clients)].append(common.epsilon_name(epsilon))
    names = [
        f"{model} at {' and '.join(epsilons)} with E = {epochs} and k = {clients}"
        for (model, epochs, clients), epsilons in parts.items()
    ]
    return f"{len(keys)} cells were not run: {', '.join(names)}"


def _numbers_in_words(numbers: Sequence[int]) -> str:
    return ", ".join(f"{number:g}" for number in sorted(set(numbers)))


def asked_by(test: Test, dataset: str, figure: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Return a selection from runs: those after the last round in the cells that a test compares on a data set."""

    def about(runs: pd.DataFrame) -> pd.DataFrame:
        published = of_table(dataset, figure)
        test(published)
        rows = common.finished(runs[runs["dataset"] == dataset])
        return rows[rows.set_index(KEYS).index.isin(list(published.asked))]

    return about
