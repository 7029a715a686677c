"""Decides the claims of Bhaskar et al. 2025, by the same comparisons on the runs here and on the published tables.

A claim is a list of comparisons of cells, and holds where all of them are met. Where cells were not run, the claim can
only fail, by the cells that were run.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
import pandas as pd

from figures.pfl import cells, common
from figures.pfl.cells import KEYS, Cells, Key
from figures.shared.derived import derived
from figures.shared.margins import LEVEL, ONE, Margin, every, some
from figures.shared.verdicts import FAILS, HOLDS, NotTestable, Verdict, at_face_value, verdict


class Comparison(NamedTuple):
    """What a claim states about some cells.

    group, item: the cells in words; a group is a line of the evidence, with the tightest comparison of each item.
    place: where in a table the statement is met or missed, "CNN+TS at epsilon 1.2"; of several comparisons all.
    margin: by how many points the statement is met; None where the cells were not run.
    sign, constant: the number shown is the constant plus this sign times the margin.
    """

    group: str
    item: str
    margin: Margin | None
    sign: int = 1
    constant: float = 0.0
    place: str = ""


Test = Callable[[Cells], list[Comparison]]


@derived
def on(runs: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """Return the runs on a data set.

    Raises:
        NotTestable: where there are none.
    """
    if dataset not in set(runs["dataset"]):
        raise NotTestable(f"no runs on {dataset}")
    return runs[runs["dataset"] == dataset]


def decided_by(
    test: Test, dataset: str, *figures: str, combined: Callable = every, collapsing: Collection[str] = ()
) -> Callable[[pd.DataFrame], Verdict]:
    """Return a check of a claim on one data set, with the outcome of the same test on the published tables beside it.

    Args:
        test: the comparisons.
        dataset: of the runs and the tables.
        figures: the published tables.
        combined: `every`, or `some` where one comparison that is met suffices.
        collapsing: as of `cells.of_runs`.
    """

    def check(runs: pd.DataFrame) -> Verdict:
        rows = common.final(on(runs, dataset))
        ours = cells.of_runs(rows, dataset, collapsing)
        # Published means are of all runs, so they have the spread of all of ours.
        theirs = cells.of_tables(dataset, figures, cells.of_runs(rows, dataset).spreads if collapsing else ours.spreads)
        return decide(test(ours), test(theirs), ours, combined)

    return check


def on_published(
    test: Test, what: str, dataset: str, *figures: str, combined: Callable = every
) -> Callable[[], Verdict]:
    """Return the outcome of a test on published tables at face value, as their means are printed.

    Args:
        test: the comparisons.
        what: the places that are counted, in words.
        dataset: of the tables.
        figures: the published tables.
        combined: as of `decided_by`; with `some`, one place that has one suffices.
    """

    def check() -> Verdict:
        found: dict[str, float] = {}
        for comparison in test(cells.of_tables(dataset, figures, {})):
            assert comparison.margin is not None  # a published table has all its cells
            values = [comparison.margin.value, found.get(comparison.place, comparison.margin.value)]
            found[comparison.place] = max(values) if combined is some else min(values)
        return at_face_value(found, what, 1 if combined is some else None)

    return check


def rests_on(test: Test, dataset: str, *figures: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Return a selection from runs: those after the last round in the cells that a test compares on a data set."""

    def about(runs: pd.DataFrame) -> pd.DataFrame:
        published = cells.of_tables(dataset, figures, {})
        test(published)
        return among(runs, dataset, published.asked)

    return about


def among(runs: pd.DataFrame, dataset: str, keys: Collection[Key]) -> pd.DataFrame:
    """Return the runs on a data set after the last round in these cells."""
    rows = common.finished(runs[runs["dataset"] == dataset])
    return rows[rows.set_index(KEYS).index.isin(list(keys))]


def decide(ours: Sequence[Comparison], theirs: Sequence[Comparison], run: Cells, combined: Callable = every) -> Verdict:
    """Return the verdict on comparisons of the runs here, with that on the published numbers in its evidence.

    Args:
        ours, theirs: the comparisons of a test, on the runs here and on the published tables.
        run: the cells of the runs, which the test has asked for its own.
        combined: as of `decided_by`.

    Raises:
        NotTestable: where cells are missing, and the existing ones do not make the claim fail.
    """
    margins = [comparison.margin for comparison in ours if comparison.margin is not None]
    evidence = [counted(margins, len(ours))]
    if run.diverged:
        evidence.append(f"{run.diverged} run{'s' * (run.diverged > 1)} diverged, counted as 0 %")
    if run.collapsed:
        evidence.append(f"{run.collapsed} run{'s' * (run.collapsed > 1)} below half of their cell's median, left out")
    evidence.append(f"the published numbers (in brackets) by the same test: {_published(theirs, combined)}")
    for group, pairs in groupby(zip(ours, theirs, strict=True), key=lambda pair: pair[0].group):
        items = groupby(pairs, key=lambda pair: pair[0].item)
        evidence.append(f"{group}: " + ", ".join(f"{item} {_shown(list(of_item))}" for item, of_item in items))
    found = verdict(combined(margins), "; ".join(evidence)) if margins else None
    sure = HOLDS if combined is some else FAILS  # whatever the cells that were not run
    if run.missing() and (found is None or found.outcome != sure):
        raise NotTestable("; ".join([not_run(run.missing()), *evidence]))
    assert found is not None  # no cell is missing, so all comparisons are there
    return found


def counted(margins: Sequence[Margin], number: int) -> str:
    """Return the numbers of comparisons that are met, missed or open, each by its own 95 % interval, or not run, in
    words."""
    met, missed = sum(margin.p_holds < LEVEL for margin in margins), sum(margin.p_fails < LEVEL for margin in margins)
    unknown = sum(not margin.decided and margin.basis == ONE for margin in margins)
    single = f" ({unknown} of them single runs with no cell like them that has two)" if unknown else ""
    left = f", not run at {number - len(margins)}" if number > len(margins) else ""
    open_at = len(margins) - met - missed
    return f"met beyond chance at {met} of {number}, missed at {missed}, open at {open_at}{single}{left}"


def _published(comparisons: Sequence[Comparison], combined: Callable) -> str:
    """Return the verdict on the published numbers, and the margin that counts: the smallest, or the largest of some."""
    margins = [comparison.margin for comparison in comparisons if comparison.margin is not None]
    most = combined is some
    deciding = (max if most else min)(margins, key=lambda margin: margin.value)
    interval = f" ± {deciding.half:.2f}" if np.isfinite(deciding.half) else ", its spread not known"
    outcome, which = verdict(combined(margins), "").outcome, "largest" if most else "smallest"
    return f"{outcome}, {which} margin {deciding.value:+.2f}{interval}"


def not_run(keys: Sequence[Key]) -> str:
    """Return the cells that were not run, in words."""
    parts = defaultdict(list)
    for (model, epsilon), same in groupby(keys, key=lambda key: (key[3], key[0])):
        _, epochs, clients, _ = zip(*same, strict=True)
        parts[model, _listed(epochs), _listed(clients)].append(common.epsilon_name(epsilon))
    names = [
        f"{model} at {' and '.join(epsilons)} with E = {epochs} and k = {clients}"
        for (model, epochs, clients), epsilons in parts.items()
    ]
    return f"{len(keys)} cells were not run: {', '.join(names)}"


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(f"{number:g}" for number in sorted(set(numbers)))


def _shown(pairs: Sequence[tuple[Comparison, Comparison]]) -> str:
    """Return the tightest here with its interval, and the tightest published; "so far" where cells are missing."""
    ours, theirs = zip(*pairs, strict=True)
    there = [comparison.margin for comparison in ours if comparison.margin is not None]
    so_far = " so far" if 0 < len(there) < len(ours) else ""
    return f"{_tightest(ours)}{so_far} ({_tightest(theirs, interval=False)})"


def _tightest(comparisons: Sequence[Comparison], interval: bool = True) -> str:
    """Return the number, in points, of the comparison with the smallest margin."""
    sizes = [
        (comparison.margin, comparison.constant + comparison.sign * comparison.margin.value)
        for comparison in comparisons
        if comparison.margin is not None
    ]
    if not sizes:
        return "not run"
    margin, size = min(sizes, key=lambda pair: pair[0].value)
    half = f" ± {margin.half:.2f}" if interval and np.isfinite(margin.half) else ""
    return f"{round(size, 2) + 0.0:.2f}{half}"
