"""Accuracies in the cells of Bhaskar et al.'s tables, and margins of differences between them.

Most cells have one run here, and some have two or three seeds. Cells with the same three or more seeds are compared run
by run, since runs of one seed share the clients' data. For all other differences the standard deviation over seeds is
pooled over the cells of the same kind that have several runs; where there are none, chance cannot be judged. Where
seeds are shared, the true error tends to be smaller than the pooled one. A run that diverged counts as 0 %, unless a
claim leaves out the runs that collapsed.
"""

import functools
import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from bench.analysis import select
from figures.pfl import common
from figures.shared.derived import derived
from figures.shared.margins import ONE, Margin, estimated, every, paired

POINTS = "points of accuracy"
KEYS = ["target_epsilon", "num_epochs", "num_clients", "algorithm"]
PAIRED_FROM = 3  # common seeds from which two cells are compared run by run
RUNS_PUBLISHED = 10  # behind a published accuracy
ROUNDING = 0.01 / math.sqrt(12)  # standard error, in points, of a number printed to hundredths of a point
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


class Cell(NamedTuple):
    """Mean accuracy in percent, the number of runs, and our runs by trial and seed; empty for a published cell."""

    mean: float
    count: int
    runs: pd.Series = pd.Series(dtype=float)

    @property
    def published(self) -> bool:
        return self.runs.empty


Part = tuple[Key, float, Cell]  # a cell and its weight in a difference


class Cells:
    """The cells on one data set, of the runs here or of published tables.

    Attributes:
        dataset: its name.
        values: the cells that exist.
        spreads: over seeds of the runs here, by kind; a kind in which no cell has several runs is missing.
        lost: number of runs that diverged, by cell; cells without any may be missing.
        left_out: number of runs that collapsed and are left out, by cell; cells without any may be missing.
        asked: the cells that were asked for, whether they exist or not.
    """

    def __init__(
        self,
        dataset: str,
        values: Mapping[Key, Cell],
        spreads: Mapping[tuple, Spread],
        lost: Mapping[Key, int] | None = None,
        left_out: Mapping[Key, int] | None = None,
    ):
        self.dataset, self.values, self.spreads = dataset, values, spreads
        self.lost, self.left_out = lost or {}, left_out or {}
        self.asked: set[Key] = set()
        self._accuracies: dict[Key, dict[Any, float]] = {}

    @property
    def diverged(self) -> int:
        """The number of runs that diverged in the cells that were asked for."""
        return sum(self.lost.get(key, 0) for key in self.asked)

    @property
    def collapsed(self) -> int:
        """The number of runs that collapsed and are left out of the cells that were asked for."""
        return sum(self.left_out.get(key, 0) for key in self.asked)

    def difference(self, weights: Mapping[Key, float], constant: float = 0.0) -> Margin | None:
        """Return the margin of a constant plus weighted accuracies, in points, that must be above 0; None without a
        cell."""
        self.asked.update(weights)
        if not self.values.keys() >= weights.keys():
            return None
        runs = [self._by_repetition(key) for key in weights]
        if len(runs[0]) >= PAIRED_FROM and all(other.keys() == runs[0].keys() for other in runs):
            gaps = [
                sum(weight * of[repetition] for weight, of in zip(weights.values(), runs, strict=True))
                for repetition in runs[0]
            ]
            return paired(constant + np.array(gaps), POINTS).named(_against(weights))
        parts = [(key, weight, self.values[key]) for key, weight in weights.items()]
        value = constant + sum(weight * cell.mean for _, weight, cell in parts)
        return pooled(value, parts, self.spreads).named(_against(weights))

    def _by_repetition(self, key: Key) -> dict[Any, float]:
        """Return the accuracy of each run of a cell, as a dictionary, which is read faster than a series."""
        if key not in self._accuracies:
            runs = self.values[key].runs
            self._accuracies[key] = dict(zip(runs.index, runs, strict=True))
        return self._accuracies[key]

    def missing(self) -> list[Key]:
        """Return the cells that were asked for and do not exist, by model, the largest epsilon first."""
        return sorted(self.asked - self.values.keys(), key=lambda key: (key[3], -key[0], key[1], key[2]))


def of_runs(rows: pd.DataFrame, dataset: str, collapsing: Collection[str] = ()) -> Cells:
    """Return the cells of runs after the last round, and their spreads.

    Args:
        rows: runs after the last round.
        dataset: its name.
        collapsing: models whose collapsed runs are left out: those below half of the median of their cell. Where one
            seed in some collapses, a mean over seeds says how often that happens and little else. A cell in which most
            runs collapse keeps them.
    """
    return Cells(dataset, *_of_runs(rows, dataset, tuple(collapsing)))


@derived  # many claims compare the same cells
def _of_runs(
    rows: pd.DataFrame, dataset: str, collapsing: tuple[str, ...]
) -> tuple[Mapping[Key, Cell], Mapping[tuple, Spread], Mapping[Key, int], Mapping[Key, int]]:
    """Return the values, spreads, numbers of lost and of left-out runs of `Cells`."""
    rows = rows[rows["dataset"] == dataset]
    accuracy = rows["test_accuracy"].astype(float).where(np.isfinite(rows["test_accuracy"].astype(float)))
    rows = rows.assign(value=100 * accuracy.fillna(0)).set_index(select.REPETITION)
    runs = {as_key(*key): accuracies for key, accuracies in rows.groupby(KEYS)["value"]}
    kept = {
        key: accuracies[accuracies >= accuracies.median() / 2] if key[3] in collapsing else accuracies
        for key, accuracies in runs.items()
    }
    left_out = {key: len(runs[key]) - len(accuracies) for key, accuracies in kept.items()}
    runs = kept
    values = {key: Cell(float(accuracies.mean()), len(accuracies), accuracies) for key, accuracies in runs.items()}
    several = defaultdict(list)
    for key, accuracies in runs.items():
        if len(accuracies) > 1:
            several[kind(key)].append((float(accuracies.var(ddof=1)) * (len(accuracies) - 1), len(accuracies) - 1))
    spreads = {name: _spread(*zip(*squares, strict=True)) for name, squares in several.items()}
    lost = accuracy.isna().to_numpy()
    lost_in = [as_key(*key) for key in rows.loc[lost, KEYS].itertuples(index=False, name=None)]
    counted_as_0 = Counter(key for key in lost_in if key[3] not in collapsing or (runs[key] == 0).any())
    return values, spreads, counted_as_0, left_out


def _spread(squares: Sequence[float], freedoms: Sequence[int]) -> Spread:
    return Spread(math.sqrt(sum(squares) / sum(freedoms)), sum(freedoms), len(freedoms))


def of_tables(dataset: str, figures: Sequence[str], spreads: Mapping[tuple, Spread]) -> Cells:
    """Return the cells of published tables, as means of ten runs with the spreads of the runs here."""
    return Cells(dataset, _published(dataset, tuple(figures)), spreads)


@functools.cache
def _published(dataset: str, figures: tuple[str, ...]) -> Mapping[Key, Cell]:
    rows = common.published_tables(*figures)
    rows = rows[rows["dataset"] == dataset]
    keys = itertools.starmap(as_key, rows[KEYS].itertuples(index=False, name=None))
    return {key: Cell(100 * value, RUNS_PUBLISHED) for key, value in zip(keys, rows["published"], strict=True)}


def as_key(epsilon: Any, epochs: Any, clients: Any, model: Any) -> Key:
    """Return a cell's name from its columns."""
    return float(epsilon), int(epochs), int(clients), str(model)


def near(ours: Cells, theirs: Cells, key: Key, tolerance: float) -> Margin:
    """Return the margin by which a cell is within a tolerance, in points, of the published one, by two one-sided tests.

    Both cells have the same spread.
    """
    parts = [(key, 1.0, ours.values[key]), (key, -1.0, theirs.values[key])]
    apart = parts[0][2].mean - parts[1][2].mean
    both = [pooled(tolerance + sign * apart, parts, ours.spreads) for sign in (1, -1)]
    return every(both)._replace(among=1).named(_against({key: 1.0}))


def _against(weights: Mapping[Key, float]) -> str:
    """Return one or two cells in words, the first the one with the larger weight: "CNN+RL, epsilon 2.93, E = 1 against
    20"."""
    cells = sorted(weights, key=lambda key: -weights[key])
    words = []
    for name, values in zip(("", "E = ", "k = ", ""), zip(*cells, strict=True), strict=True):
        said = [common.epsilon_name(value) if isinstance(value, float) else f"{value}" for value in values]
        words.append(name + " against ".join(dict.fromkeys(said)))
    epsilon, epochs, clients, model = words
    return ", ".join([model, epsilon, epochs, clients])


def pooled(value: float, parts: Sequence[Part], spreads: Mapping[tuple, Spread]) -> Margin:
    """Return the margin of an estimate made of cells, with an error from the spreads of their kinds.

    Published cells have the spread of ours and an error of rounding, which no run here reduces. The degrees of freedom
    are those of Welch and Satterthwaite, with independent kinds.

    Args:
        value: the estimate, which must be above 0, in points.
        parts: the cells that it is made of.
        spreads: by kind.
    """
    ours = [cell.count for _, _, cell in parts if not cell.published]
    count = min(ours, default=RUNS_PUBLISHED)
    known = {name: spreads[name] for name in {kind(key) for key, _, _ in parts} & spreads.keys()}
    if any(kind(key) not in known for key, _, _ in parts):
        return Margin(value, POINTS, ONE if ours else NO_SPREAD, repetitions=count)
    of_kinds = dict.fromkeys(known, 0.0)  # variance that depends on a kind's spread
    reducible, rounding, single = 0.0, 0.0, 0.0
    for key, weight, cell in parts:
        variance = (weight * known[kind(key)].deviation) ** 2
        of_kinds[kind(key)] += variance / cell.count
        if cell.published:
            rounding += (weight * ROUNDING) ** 2
        else:
            reducible, single = reducible + variance / cell.count, single + variance
    total, number = sum(of_kinds.values()), sum(spread.cells for spread in known.values())
    uncertain = sum(variance**2 / known[name].freedom for name, variance in of_kinds.items())
    margin = estimated(
        value,
        error=math.sqrt(total + rounding),
        freedom=total**2 / uncertain if uncertain else math.inf,
        repetitions=single / reducible if reducible else count,
        unit=POINTS,
        basis=f"spread pooled over {number} cell{'s' * (number != 1)}",
        fixed=math.sqrt(max(total - reducible, 0.0) + rounding),
    )
    return margin._replace(repetitions=count)
