"""The type of a figure or table."""

import textwrap
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import matplotlib.figure
import pandas as pd

from bench.analysis import style


class Figure(NamedTuple):
    """A figure or table: which runs it shows, the numbers made of them, and the picture of the numbers.

    about: what it shows and what to expect, as a docstring; the first line is its title. None where Python was told to
        leave docstrings out (-OO).
    sweeps: whose runs it shows; none for a table of formulas.
    table: runs -> the numbers; of an empty table where it shows none. Raises InputError where the runs at hand cannot
        make it.
    draw: the numbers -> the picture, within the suite's style (`picture` sees to that).
    printed: the numbers -> the cells of a table as a reader sees it; None for a figure.
    tunings: the two ways of tuning that it shows -> the metric of each, the paper's way first; None where there is one.
    apart: columns of the runs that it tells apart -> the column of the numbers that says which, "" where none does.
    tuned: columns of the runs of which it shows the best value alone.
    own: runs over values of one's own -> the figure with their panels and curves; None where it takes those that are
        there anyway, or has fixed ones.
    """

    about: str | None
    sweeps: tuple[str, ...]
    table: Callable[[pd.DataFrame], pd.DataFrame]
    draw: Callable[[pd.DataFrame], matplotlib.figure.Figure]
    printed: Callable[[pd.DataFrame], pd.DataFrame] | None = None
    tunings: Mapping[str, str] | None = None
    apart: Mapping[str, str] = MappingProxyType({})
    tuned: tuple[str, ...] = ()
    own: "Callable[[pd.DataFrame], Figure] | None" = None

    @property
    def _words(self) -> str:
        return self.about or ""

    @property
    def title(self) -> str:
        """The first line of what it is about."""
        return self._words.strip().partition("\n")[0]

    @property
    def caption(self) -> str:
        """What is said below the title, as one line."""
        return " ".join(self._words.strip().partition("\n")[2].split())

    @property
    def summary(self) -> str:
        """The first paragraph of what it is about, as one line."""
        return " ".join(textwrap.dedent(self._words).strip().split("\n\n")[0].split())

    @property
    def alt(self) -> str:
        """What a picture of it shows, for those who do not see it, without what to expect."""
        shown = " ".join(part for part in (self.title, self.caption.partition("To expect")[0].strip()) if part)
        return shown.replace("`", "")

    def picture(self, table: pd.DataFrame, width: float | None = None) -> matplotlib.figure.Figure:
        """The numbers drawn in the suite's style; nothing of the caller's matplotlib changes it, or is changed.

        width: inches, for print, without title and footer; None: its own.
        """
        with style.applied(width):
            return self.draw(table)
