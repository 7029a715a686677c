"""The claims of Bhaskar et al. 2025 on their experiments, by data set, and their checks."""

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pandas as pd

from bench.analysis import select
from figures.pfl import common, tables
from figures.pfl.cells import KEYS, Cells, near, of_runs, of_tables
from figures.pfl.common import DATASETS, MODELS, TABLES
from figures.pfl.comparisons import Comparison, Test, among, counted, decided_by, not_run, on, rests_on
from figures.shared.margins import at_least
from figures.shared.verdicts import FAILS, HOLDS, Claim, NotTestable, Verdict, verdict

SPLIT, CLIENTS = "pfl_splits", "pfl_clients"
EPOCHS, MOST_EPOCHS = (1, 2, 4, 5, 10), 20
K, NUM_CLIENTS = 10, (10, 25, 50, 100)
ROBUST, COLLAPSES = "SN+Lin", "CNN+RL"
FRAGILE = tuple(name for name in MODELS if name != ROBUST)
BEHIND, LOST, KEPT = 0.8, 18.0, 2.3  # points: the extremes of Tables 2 to 4, which are 0.74, 18.66 and 2.28, rounded
FINAL = "Test accuracy after the last round at the published settings, nothing tuned; means over runs"
CHANCE = (
    "cells with at least three common seeds are compared run by run, all others by the pooled spread over seeds of "
    "similar cells (same model, private or not, one client or several, local epochs); published numbers, each the mean "
    "of ten runs, are assumed to have the same spread"
)
SPLITS_OF: dict[str, str] = dict(zip(DATASETS, TABLES[:3], strict=True))


def private(figure: str, dataset: str) -> list[float]:
    """The epsilons of a data set in a published table, the largest first."""
    cells = common.published_tables(figure)
    values = cells.loc[cells["dataset"] == dataset, "target_epsilon"].unique()
    return sorted(values[np.isfinite(values)], reverse=True)


def _private(cells: Cells) -> list[float]:
    return private(SPLITS_OF[cells.dataset], cells.dataset)


# ---- Tables 2 to 4 ----


def near_best(cells: Cells) -> list[Comparison]:
    """By how much each other split is above (1, 20), in every private column."""
    found = []
    for epsilon in _private(cells):
        group = f"best other split above (1, 20) at epsilon {epsilon:g}"
        for model in MODELS:
            first, *others = [(epsilon, epochs, K, model) for epochs in (*EPOCHS, MOST_EPOCHS)]
            margins = [cells.difference({first: 1, other: -1}, BEHIND) for other in others]
            found += [Comparison(group, model, margin, sign=-1, constant=BEHIND) for margin in margins]
    return found


def fragile_lose(cells: Cells) -> list[Comparison]:
    """The networks of several layers lose many points from (1, 20) to (20, 1)."""
    return [_lost(cells, epsilon, model, LOST, more=True) for epsilon in _private(cells) for model in FRAGILE]


def robust_keeps(cells: Cells) -> list[Comparison]:
    """The linear model on scattering features loses few points from (1, 20) to (20, 1)."""
    return [_lost(cells, epsilon, ROBUST, KEPT, more=False) for epsilon in _private(cells)]


def _lost(cells: Cells, epsilon: float, model: str, points: float, more: bool) -> Comparison:
    """A model loses more, or less, than a number of points from (1, 20) to (20, 1)."""
    sign = 1 if more else -1
    weights = {(epsilon, 1, K, model): sign, (epsilon, MOST_EPOCHS, K, model): -sign}
    margin = cells.difference(weights, -sign * points)
    return Comparison(f"points lost at epsilon {epsilon:g}", model, margin, sign, points)


def robust_is_best(cells: Cells) -> list[Comparison]:
    """By how much the linear model is ahead of each other, in every private row."""
    found = []
    for epsilon in _private(cells):
        group = f"{ROBUST} ahead of the best other at epsilon {epsilon:g}"
        for epochs in (*EPOCHS, MOST_EPOCHS):
            one, *others = [(epsilon, epochs, K, model) for model in (ROBUST, *FRAGILE)]
            split = f"({epochs}, {MOST_EPOCHS // epochs})"
            found += [Comparison(group, split, cells.difference({one: 1, other: -1})) for other in others]
    return found


def collapses(cells: Cells) -> list[Comparison]:
    """Without privacy the ReLU network has less than half of its accuracy left at (20, 1)."""
    first, last = ((np.inf, epochs, K, COLLAPSES) for epochs in (1, MOST_EPOCHS))
    margin = cells.difference({first: 0.5, last: -1})
    return [Comparison("accuracy at (20, 1) minus half of that at (1, 20)", COLLAPSES, margin, sign=-1)]


# ---- Table 5 ----


def grows(cells: Cells) -> list[Comparison]:
    """The gain from each number of clients to the next."""
    (epsilon,) = private(TABLES[3], cells.dataset)
    return [
        Comparison(
            f"points gained by {model}",
            f"{few} to {many}",
            cells.difference({(epsilon, 1, many, model): 1, (epsilon, 1, few, model): -1}),
        )
        for model in MODELS
        for few, many in pairwise(NUM_CLIENTS)
    ]


def below_one(cells: Cells) -> list[Comparison]:
    """The lead of one client with all data over the largest number of clients."""
    (epsilon,) = private(TABLES[3], cells.dataset)
    most = NUM_CLIENTS[-1]
    return [
        Comparison(
            f"k = 1 ahead of k = {most}",
            model,
            cells.difference({(epsilon, 1, 1, model): 1, (epsilon, 1, most, model): -1}),
        )
        for model in MODELS
    ]


# ---- Agreement with the published numbers ----


def as_published(figure: str, dataset: str) -> Callable[[pd.DataFrame], Verdict]:
    """A check that at least half of a table's cells on a data set are within 2 points of the published ones."""

    def check(runs: pd.DataFrame) -> Verdict:
        runs = on(runs, dataset)
        ours = of_runs(common.final(runs), dataset)
        theirs = of_tables(dataset, [figure], ours.spreads)
        margins = [near(ours, theirs, key, 100 * tables.CLOSE) for key in theirs.values if key in ours.values]
        table = tables.table(runs, figure)
        evidence = _agreement_in_words(table[table["dataset"] == dataset], counted(margins, len(theirs.values)))
        # Cells that were not run may all be within, or none of them.
        half, missing = math.ceil(len(theirs.values) / 2), len(theirs.values) - len(margins)
        if len(margins) >= half:
            found = verdict(at_least(half, margins), evidence)
            if not missing or found.outcome == HOLDS:
                return found
        if half > missing:
            found = verdict(at_least(half - missing, margins), evidence)
            if found.outcome == FAILS:
                return found
        ours.asked.update(theirs.values)
        raise NotTestable(f"{not_run(ours.missing())}; {evidence}")

    return check


def _agreement_in_words(table: pd.DataFrame, decided: str) -> str:
    run = table[table["repetitions"] > 0]
    apart = _apart(run)
    near_by, close = (int((apart <= bound).sum()) for bound in (tables.NEAR, tables.CLOSE))
    said = [
        f"of {len(run)} cells run (all: {len(table)}) {near_by} are within 1 point and {close} within 2",
        f"within 2 points, of all cells: {decided}",
    ]
    said += [f"{name}: {_within(rows)}" for name, rows in run.groupby("algorithm", sort=False)]
    for epsilon in run["target_epsilon"].unique():
        said.append(f"{common.epsilon_name(epsilon)}: {_within(run[run['target_epsilon'] == epsilon])}")
    return "; ".join([*said, _farthest(run)])


def in_table(figure: str, dataset: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """A selection from runs: those after the last round in a table's cells on a data set."""

    def about(runs: pd.DataFrame) -> pd.DataFrame:
        cells = common.published_tables(figure)
        keys = cells.loc[cells["dataset"] == dataset, KEYS]
        return among(runs, dataset, set(keys.itertuples(index=False, name=None)))

    return about


def _apart(rows: pd.DataFrame) -> pd.Series:
    """Distance to the published values; inf where a run diverged."""
    return tables.rounded(rows["difference"].abs()).fillna(np.inf)


def _within(rows: pd.DataFrame) -> str:
    close, mean = int((_apart(rows) <= tables.CLOSE).sum()), round(100 * rows["difference"].mean(), 2) + 0.0
    return f"{close} of {len(rows)} within 2 points" + (f", on average {mean:+.2f}" if np.isfinite(mean) else "")


def _farthest(run: pd.DataFrame) -> str:
    row = select.row(run, _apart(run).idxmax())
    here = f"{100 * row['test_accuracy']:.2f}" if np.isfinite(row["test_accuracy"]) else "diverged"
    return (
        f"farthest: {row['algorithm']}, {common.epsilon_name(row['target_epsilon'])}, E = {row['num_epochs']}, "
        f"k = {row['num_clients']}: {here}, published {100 * row['published']:.2f}"
    )


# ---- The list ----


def _of_splits(dataset: str) -> list[Claim]:
    figure = SPLITS_OF[dataset]
    texts = {
        near_best: f"(1, 20) is within {BEHIND:g} points of the best split in every private column",
        fragile_lose: f"{', '.join(FRAGILE)} lose at least {LOST:g} points from (1, 20) to (20, 1), at both epsilons",
        robust_keeps: f"{ROBUST} loses at most {KEPT:g} points from (1, 20) to (20, 1), at both epsilons",
        robust_is_best: f"{ROBUST} is the best model in every private row",
        collapses: f"FedAvg of {COLLAPSES} collapses: less than half of the accuracy of (1, 20) is left at (20, 1)",
    }
    hows = {
        near_best: f"{BEHIND:g} points plus (1, 20) minus each other split; {BEHIND:g} is not in the text of the paper "
        "but the largest such gap in its Tables 2 to 4, 0.74, rounded up",
        fragile_lose: f"accuracy at (1, 20) minus that at (20, 1) minus {LOST:g} points; {LOST:g} is not in the text "
        "of the paper but the smallest such loss in its Tables 2 to 4, 18.66, rounded down",
        robust_keeps: f"{KEPT:g} points minus what is lost from (1, 20) to (20, 1); {KEPT:g} is not in the text of the "
        "paper but the largest such loss in its Tables 2 to 4, 2.28, rounded up",
        robust_is_best: "the linear model minus each other model, row by row",
        collapses: "half of the accuracy at (1, 20) minus that at (20, 1), without privacy; the half is not in the "
        "text of the paper",
    }
    claims = [_compared(test, dataset, figure, text, hows[test], SPLIT) for test, text in texts.items()]
    return [*claims, _agreement(figure, dataset, SPLIT)]


def _of_clients(dataset: str) -> list[Claim]:
    figure = TABLES[3]
    texts = {
        grows: "accuracy grows from each k to the next, 10, 25, 50, 100, for every model",
        below_one: "accuracy with 100 clients stays below that with one, for every model",
    }
    hows = {
        grows: "each number of clients minus the one before",
        below_one: "one client minus the most clients",
    }
    claims = [_compared(test, dataset, figure, text, hows[test], CLIENTS) for test, text in texts.items()]
    return [*claims, _agreement(figure, dataset, CLIENTS)]


def _compared(test: Test, dataset: str, figure: str, text: str, how: str, sweep: str) -> Claim:
    return Claim(
        f"{dataset}: {text}",
        f"Table {figure[-1]}",
        sweep,
        decided_by(test, dataset, figure),
        f"{FINAL}; {how}; {CHANCE}",
        rests_on(test, dataset, figure),
    )


def _agreement(figure: str, dataset: str, sweep: str) -> Claim:
    text = f"{dataset}: at least half of the cells are within 2 points of the published accuracy"
    how = (
        f"{FINAL}; 2 points minus the distance to the published accuracy, for at least half of all cells, run or not; "
        "the spread over seeds is that of the cells like them (model, privacy or none, one client or several, local "
        "epochs), pooled, and published numbers, each the mean of ten runs and rounded, have it too"
    )
    check, about = as_published(figure, dataset), in_table(figure, dataset)
    return Claim(text, f"Table {figure[-1]}", sweep, check, how, about, ours=True)


CLAIMS = [
    *(claim for dataset in DATASETS for claim in _of_splits(dataset)),
    *(claim for dataset in DATASETS for claim in _of_clients(dataset)),
]
