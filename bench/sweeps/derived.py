"""Dependencies between the columns of a sweep's points, so that values can be replaced consistently."""

from collections.abc import Callable
from typing import NamedTuple

import pandas as pd


class Derived(NamedTuple):
    """The dependencies between the columns of an entry's points.

    A run is what was asked for, so the columns `made` do not identify it: they come out of the other columns, and on
    another machine their last digits differ (`bench.store.complete_runs`).

    remake: points without the columns `made`, every combination of what is left -> the points that the sweep runs of
        them, with the columns `made`. Of the entry's own points it gives the same back.
    made: columns that follow from others, such as the noise for a target epsilon; nobody can set them.
    given: columns that may be replaced because `remake` draws the consequences, though they enter what is made or are
        no argument of the method.
    heeded: further columns that `remake` looks at.
    fixed: whether no column can be replaced, because each point is computed with all others in view.
    """

    remake: Callable[[pd.DataFrame], pd.DataFrame]
    made: tuple[str, ...] = ()
    given: tuple[str, ...] = ()
    heeded: tuple[str, ...] = ()
    fixed: bool = False


def _as_they_are(points: pd.DataFrame) -> pd.DataFrame:
    return points


def closed(*made: str) -> Derived:
    """For points of which no column can be replaced, and whose columns `made` are computed from the others."""
    return Derived(_as_they_are, made=made, fixed=True)
