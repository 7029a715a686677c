"""The type of a paper: everything that the suite knows about it."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import pandas as pd

from figures.shared.figure import Figure
from figures.shared.verdicts import Claim


class Paper(NamedTuple):
    """A paper whose claims are tested here: what it is about, its sweeps, figures and claims.

    name: its short name, in bench.papers.PAPERS.
    cited: as figures and captions cite it, "Bietti et al. 2022".
    authors, title, venue: for the full citation; family names, separated by commas.
    protects, against: what is private, and from whom.
    state: how much of it is reproduced, in one line and without counts.
    found: what was found, in the words of docs/papers/index.md.
    exception: what a reader has to know of it in one sentence: what was not seen, or with which reservation it was.
    lead: the figure that shows it best; empty is the first. panel: of this figure the one that shows it alone.
    in_full: whether every figure and table of the paper is reproduced.
    figures: name on the command line -> figure, in the paper's order.
    claims: the paper's claims, and those tested beyond it.
    deviations: sweep -> its runs, to the largest deviation of every curve from the published points, and a sentence
        for each figure that the runs cannot make; both empty where no curves are published in numbers.
    """

    name: str
    cited: str
    authors: str
    title: str
    venue: str
    protects: str
    against: str
    state: str
    figures: Mapping[str, Figure]
    claims: list[Claim]
    deviations: Callable[[Mapping[str, pd.DataFrame]], tuple[pd.DataFrame, list[str]]] = lambda _: (pd.DataFrame(), [])
    found: str = ""
    exception: str = ""
    lead: str = ""
    panel: int = 0
    in_full: bool = False

    @property
    def sweeps(self) -> tuple[str, ...]:
        """The sweeps of its claims and figures."""
        return tuple(dict.fromkeys(name for one in (*self.claims, *self.figures.values()) for name in one.sweeps))

    @property
    def judged_by(self) -> tuple[str, ...]:
        """The sweeps of its claims."""
        return tuple(dict.fromkeys(name for claim in self.claims for name in claim.sweeps))

    @property
    def leading(self) -> str:
        """The name of the figure that stands for the paper."""
        return self.lead or next(iter(self.figures), "")

    @property
    def citation(self) -> str:
        """Authors, title and venue in one line."""
        return f"{self.authors}: {self.title}, {self.venue}"
