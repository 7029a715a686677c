"""Dependencies between the columns of a sweep's points, so that values can be replaced consistently."""

from collections.abc import Callable
from typing import NamedTuple

import pandas as pd


class Derived(NamedTuple):
    """The dependencies between the columns of an entry's points.

    remake: points without the columns `made`, every combination of what is left -> the points that the sweep runs of
        them, with the columns `made`. Of the entry's own points it gives the same back.
    made: columns that follow from others, such as the noise for a target epsilon; nobody can set them.
    given: columns that may be replaced because `remake` draws the consequences, though they enter what is made or are
        no argument of the method.
    heeded: further columns that `remake` looks at.
    """

    remake: Callable[[pd.DataFrame], pd.DataFrame]
    made: tuple[str, ...] = ()
    given: tuple[str, ...] = ()
    heeded: tuple[str, ...] = ()


def closed(points: pd.DataFrame) -> Derived:
    """For points of which no column can be replaced, each being computed with all others in view."""
    return Derived(lambda _: points, made=tuple(map(str, points)))
