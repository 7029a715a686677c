"""The types of a claim: what a paper states, our reading of it, and how runs decide it."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from figures.shared.margins import LEVEL, Margin, need
from figures.shared.margins import NotTestable as NotTestable

# Whether it was seen.
YES, NO, OPEN = "yes", "no", "open"
ERROR = "error"  # the check raised an exception, which is a bug and says nothing about the claim
# In whose setting.
PAPERS, OTHER_DATA, GUESS = "the paper's", "other data", "our guess"
PAPERS_OWN, OURS = "paper", "ours"  # whose a claim is


class Verdict(NamedTuple):
    """Whether something was seen, and its margin; without runs there is none, and `why` says what is missing."""

    seen: str
    margin: Margin | None = None
    why: str = ""


class Settings(NamedTuple):
    """How the settings of the runs behind a claim follow from the paper, or from the program of its authors.

    whose: PAPERS; OTHER_DATA, where other data or a smaller task stand in for those of the paper; or GUESS, where the
        paper leaves something open that may change the verdict.
    words: what stands in for what, or what was guessed; empty where all is the paper's.
    """

    whose: str
    words: str = ""


AS_GIVEN = Settings(PAPERS)


def stand_in(words: str) -> Settings:
    """Settings as given, on other data or a smaller task. `words`: what stands in for what."""
    return Settings(OTHER_DATA, words)


def guess(words: str) -> Settings:
    """Settings that the paper leaves open. `words`: what is guessed."""
    return Settings(GUESS, words)


def everything(runs: pd.DataFrame) -> pd.DataFrame:
    """Return all runs of a sweep: the default for what a claim compares."""
    return runs


class Claim(NamedTuple):
    """A statement of a paper with our reading of it, or a claim of ours.

    statement: what the paper states, in other words but no sharper and no softer; empty for claims of ours. Claims with
        the same words are one statement, read on several data sets or in several ways.
    where: its place in the paper; for a claim of ours, what it goes beyond.
    text: our reading: what is measured, with its threshold.
    sweep: the sweep whose runs decide it; or several, whose runs come in one table, told apart by "sweep".
    measure: runs -> what the check compares, mostly `checks.Cells`; raises NotTestable where runs are missing.
    check: what `measure` returns -> the margin.
    settings: how the settings of the runs follow from the paper.
    published: what the check compares, of the numbers that the paper published; None without such numbers.
    about: runs -> those behind the claim, whose source and repetitions are reported with it; never raises.
    """

    statement: str
    where: str
    text: str
    sweep: str | tuple[str, ...]
    measure: Callable[[pd.DataFrame], Any]
    check: Callable[[Any], Margin]
    settings: Settings = AS_GIVEN
    published: Callable[[], Any] | None = None
    about: Callable[[pd.DataFrame], pd.DataFrame] = everything

    @property
    def sweeps(self) -> tuple[str, ...]:
        """The sweeps whose runs decide the claim."""
        return (self.sweep,) if isinstance(self.sweep, str) else self.sweep

    @property
    def whose(self) -> str:
        """Whether a statement of the paper or a claim of ours: PAPERS_OWN or OURS."""
        return PAPERS_OWN if self.statement else OURS

    def in_print(self) -> list[Margin]:
        """Return the comparisons on the numbers that the paper published, at face value since they have no interval:
        the deciding one first; none without such numbers."""
        if self.published is None:
            return []
        margin = self.check(self.published())
        return [margin, *margin.all]


def ours(text: str, sweep: str, measure: Callable, check: Callable[[Any], Margin], beyond: str = "") -> Claim:
    """A claim of ours. beyond: the place in the paper that it goes beyond; the others are those of `Claim`."""
    return Claim("", beyond, text, sweep, measure, check)


def verdict(margin: Margin) -> Verdict:
    """Return the verdict on a margin: seen or not where chance over repetitions is unlikely to explain it, and open
    otherwise."""
    return Verdict(YES if margin.p_holds < LEVEL else NO if margin.p_fails < LEVEL else OPEN, margin)


def require(values, needed, name: str, where: str = "") -> None:
    """Raise NotTestable where one of the numbers needed is not among the values."""
    present = np.unique(np.asarray(values, float))
    missing = [value for value in needed if not np.isclose(present, value).any()]
    need(not missing, f"no runs with {name} = {', '.join(f'{value:g}' for value in missing)}{where}")
