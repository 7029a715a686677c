"""The checks that the claims of all papers share, and the cells that they compare.

A cell is a series (a method, a curve) at a place (an epsilon, a data set), with a number for each repetition. A check
compares cells repetition by repetition, so that what they share does not count. Each is made by a function of what is
compared, and returns the margin of a table of cells, of runs or of published numbers.
"""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from bench.analysis.select import REPETITION
from figures.shared.edges import distinct
from figures.shared.margins import Margin, NotTestable, every, need, paired, some

Place = tuple[Any, ...]
Cell = tuple[Any, Place]  # a series at a place
Check = Callable[["Cells"], Margin]
Combine = Callable[[Iterable[Margin]], Margin]


class Cells:
    """Numbers by repetition; of two, the larger is the better.

    values: cell -> its numbers by repetition; not finite where a run diverged.
    unit: of the numbers.
    edges: cell -> the edges of grids that its settings are on; cells without any may be missing.
    names: of the parts of a place, in words: "epsilon".
    called: what a series that is a number is called: "mu =".
    """

    def __init__(
        self,
        values: Mapping[Cell, pd.Series],
        unit: str,
        edges: Mapping[Cell, Sequence[str]] | None = None,
        names: Sequence[str] = (),
        called: str = "",
    ):
        self.values, self.unit, self.edges, self.names, self.called = values, unit, edges or {}, names, called

    @property
    def series(self) -> list[Any]:
        """All series, in their order."""
        return list(dict.fromkeys(name for name, _ in self.values))

    def places(self, *series: Any) -> list[Place]:
        """Return the places of series, which must be the same for all of them.

        Raises:
            NotTestable: where a series is missing, or has no cell at a place of another.
        """
        found = {name: {place: None for own, place in self.values if own == name} for name in series}
        wanted = dict.fromkeys(itertools.chain(*found.values()))
        for name in series:
            if missing := [place for place in wanted if place not in found[name]] or ([] if wanted else [()]):
                where = " or ".join(filter(None, map(self.words, missing)))
                raise NotTestable(f"no run of {self.name(name)}" + f" at {where}" * bool(where))
        return list(wanted)

    def name(self, series: Any) -> str:
        """Return a series in words."""
        return f"{self.called} {said(series)}" if isinstance(series, float) and self.called else said(series)

    def words(self, place: Place) -> str:
        """Return a place in words."""
        named = itertools.zip_longest(self.names[: len(place)], place, fillvalue="")
        return ", ".join(f"{name} {said(part)}".strip() for name, part in named)

    def difference(self, weights: Mapping[Cell, float], threshold: float = 0.0, *words: str) -> Margin:
        """Return the margin by which a weighted sum of cells is above a threshold.

        Args:
            weights: by cell; positive where more is better. If a cell with a positive weight diverged, the comparison
                is missed in that repetition, whatever the others did.
            threshold: in the unit of the cells.
            words: what is compared.
        """
        both = pd.concat([self.values[cell] for cell in weights], axis=1, join="inner")
        need(len(both), f"no repetition has both sides of {', '.join(words) or 'the comparison'}")
        numbers, signs = both.to_numpy(float), np.array(list(weights.values()))
        lost = ~np.isfinite(numbers)
        total = np.where(lost, 0.0, numbers) @ signs
        total = np.where((lost & (signs < 0)).any(axis=1), np.inf, total)
        total = np.where((lost & (signs > 0)).any(axis=1), -np.inf, total)
        edges = (edge for cell in weights for edge in self.edges.get(cell, ()))
        return paired(total, self.unit, threshold).on(*edges).named(*words)

    def lead(self, first: Any, second: Any, place: Place, by: float = 0.0) -> Margin:
        """Return the margin by which one series is ahead of another at a place by more than a number."""
        words = f"{self.name(first)} over {self.name(second)}"
        return self.difference({(first, place): 1, (second, place): -1}, by, self.words(place), words)


def said(name: Any) -> str:
    """Return a series or a part of a place in words."""
    return f"{name:g}" if isinstance(name, float | int) else str(name)


def cells_of(
    rows: pd.DataFrame,
    series: str,
    places: Mapping[str, str],
    value: str,
    unit: str = "",
    *,
    scale: float = 1.0,
    called: str = "",
) -> Cells:
    """Return the cells of rows, one for each repetition; "edge" has the edges of their settings.

    Args:
        rows: of runs, or of published numbers.
        series: the column of the series.
        places: the columns of a place -> their names in words, "" for none.
        value: the column of numbers.
        unit: of scale times the numbers.
        scale: of the numbers; negative where less is better.
        called: as of `Cells`.

    Raises:
        NotTestable: where several rows are of one repetition of a cell.
    """
    rows = rows.assign(_value=scale * rows[value].astype(float))
    index = [name for name in REPETITION if name in rows]
    check_single(rows, [series, *places, *index])
    values, edges, empty = {}, {}, Cells({}, "", called=called)
    for (name, *place), group in rows.groupby([series, *places], observed=True, sort=False):
        cell = name, tuple(place)
        values[cell] = group.set_index(index)["_value"] if index else group["_value"].reset_index(drop=True)
        if "edge" in group:
            edges[cell] = [f"{empty.name(name)}: {edge}" for edge in distinct(group)]
    return Cells(values, unit, edges, list(places.values()), called)


def check_single(rows: pd.DataFrame, keys: Sequence[str]) -> None:
    """Raise NotTestable where several rows have the same values in the columns `keys`, which tell repetitions apart."""
    need(not rows.duplicated(keys).any(), "the results have several runs of the same repetition, which is ambiguous")


# ---- Checks ----


def ahead(*order: Any, by: float = 0.0, combine: Combine = every) -> Check:
    """Each series of an order is ahead of the next one, at every place.

    Args:
        order: series.
        by: by how much; negative where as much may be lost.
        combine: `every` place, or `some`.
    """

    def check(cells: Cells) -> Margin:
        return combine(
            cells.lead(first, second, place, by)
            for first, second in itertools.pairwise(order)
            for place in cells.places(first, second)
        )

    return check


def best(first: Any, by: float = 0.0, behind: bool = False) -> Check:
    """One series is ahead of every other, at every place.

    Args:
        first: it, or a function of all series that returns it.
        by: by how much.
        behind: it is behind them.
    """

    def check(cells: Cells) -> Margin:
        one = first(cells.series) if callable(first) else first
        others = [name for name in cells.series if name != one]
        need(others, f"nothing to compare {cells.name(one)} with")
        return every(
            cells.lead(*((other, one) if behind else (one, other)), place, by)
            for other in others
            for place in cells.places(one, other)
        )

    return check


def between(*ends: Any, combine: Combine = every) -> Check:
    """At every place, or some, one of the other series is ahead of all of these, which stand at the ends."""

    def check(cells: Cells) -> Margin:
        others = [name for name in cells.series if name not in ends]
        need(others, f"nothing between {' and '.join(map(cells.name, ends))}")
        return combine(
            some(every(cells.lead(one, end, place) for end in ends) for one in others if (one, place) in cells.values)
            for place in cells.places(*ends)
        )

    return check


def each(check: Check) -> Callable[[Iterable[Cells]], Margin]:
    """Return a check that holds where it holds for each of several tables of cells, as of two metrics."""
    return lambda tables: every(map(check, tables))


def inside(low: float = -np.inf, high: float = np.inf) -> Check:
    """Every series at every place is between two numbers; without one of them, on the right side of the other."""

    def check(cells: Cells) -> Margin:
        need(cells.values, "nothing to compare")
        margins = []
        for name, place in cells.values:
            words = cells.words(place), cells.name(name)
            if low > -np.inf:
                margins.append(cells.difference({(name, place): 1}, low, *words, f"above {low:g}"))
            if high < np.inf:
                margins.append(cells.difference({(name, place): -1}, -high, *words, f"below {high:g}"))
        return every(margins)

    return check


def grows(first: Any, second: Any) -> Check:
    """The lead of one series over another grows from each value of the last part of a place to the next larger one."""

    def check(cells: Cells) -> Margin:
        places = sorted(cells.places(first, second))
        pairs = [(less, more) for less, more in itertools.pairwise(places) if less[:-1] == more[:-1]]
        need(pairs, "two places to compare are needed")
        return every(
            cells.difference(
                {(first, more): 1, (second, more): -1, (first, less): -1, (second, less): 1},
                0.0,
                cells.words(more),
                f"against {said(less[-1])}",
            )
            for less, more in pairs
        )

    return check
