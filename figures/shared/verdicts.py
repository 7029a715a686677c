"""The types of a claim: what a paper states, our reading of it, and how runs decide it."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from bench.analysis.select import half_width
from figures.shared.margins import LEVEL, Margin
from figures.shared.margins import NotTestable as NotTestable

HOLDS, FAILS, UNDECIDED = "holds", "fails", "undecided"
NOT_RUN = "not run"  # the claim's runs are missing, or too few
ERROR = "error"  # the check raised an exception, which is a bug and says nothing about the claim
# What an outcome says of a paper, where it is not in the words above.
CONTRADICTED = "contradicted"
CARRIES_OVER, DOES_NOT_CARRY_OVER = "carries over", "does not carry over"
NO_SETTINGS = "settings not given"
GIVEN, OTHER_DATA, UNKNOWN = "as given", "stand-in", "not given"  # kinds of settings
PAPERS_OWN, OURS = "paper", "ours"  # whose a claim is
MOST_NAMED = 4  # comparisons that the published numbers miss


class Verdict(NamedTuple):
    """The outcome of a claim, the numbers behind it, and its margin; no margin where it was not run."""

    outcome: str
    evidence: str
    margin: Margin | None = None


def everything(runs: pd.DataFrame) -> pd.DataFrame:
    """Return all runs of a sweep: the default for the runs that a claim is about."""
    return runs


class Settings(NamedTuple):
    """How the settings of the runs behind a claim follow from the paper, or from the program of its authors.

    kind: GIVEN; OTHER_DATA, where other data or a smaller task stand in for those of the paper; or UNKNOWN, where the
        paper leaves something open that may change the outcome.
    words: what stands in for what, or what the paper leaves open; empty where all is as given.
    """

    kind: str
    words: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: {self.words}" if self.words else self.kind


AS_GIVEN = Settings(GIVEN)


def stand_in(words: str) -> Settings:
    """Settings as given, on other data or a smaller task. `words`: what stands in for what."""
    return Settings(OTHER_DATA, words)


def not_given(words: str) -> Settings:
    """Settings that the paper leaves open. `words`: which."""
    return Settings(UNKNOWN, words)


class Claim(NamedTuple):
    """A statement of a paper with our reading of it, or a claim of ours.

    text: our reading, in one line: what is measured, with its threshold.
    where: the place of the statement in the paper; for a claim of ours, what it goes beyond.
    sweep: the sweep whose runs decide it.
    check: runs -> Verdict; raises NotTestable where runs that it needs are missing.
    how: what the check compares, in one plain line; the claim holds where all of these are above 0.
    about: runs -> those behind the claim, whose source and repetitions are reported with it; never raises.
    ours: whether the claim is not the paper's, or sharper than what the paper states.
    statement: what the paper states, in other words but no sharper and no softer; empty for claims of ours.
    settings: how the settings of the runs follow from the paper.
    published: the same comparison on the numbers that the paper published, `at_face_value`; None without such numbers.
    also: further sweeps whose runs it needs; the check gets the runs of all in one table, told apart by "sweep".
    """

    text: str
    where: str
    sweep: str
    check: Callable[[pd.DataFrame], Verdict]
    how: str
    about: Callable[[pd.DataFrame], pd.DataFrame] = everything
    ours: bool = False
    statement: str = ""
    settings: Settings = AS_GIVEN
    published: Callable[[], Verdict] | None = None
    also: tuple[str, ...] = ()

    @property
    def sweeps(self) -> tuple[str, ...]:
        """All sweeps whose runs decide it."""
        return (self.sweep, *self.also)

    @property
    def whose(self) -> str:
        """PAPERS_OWN or OURS."""
        return OURS if self.ours else PAPERS_OWN

    def says(self, outcome: str) -> str:
        """Return what an outcome on our runs says of the claim."""
        if outcome in (NOT_RUN, ERROR):
            return outcome
        if self.settings.kind == UNKNOWN:
            return NO_SETTINGS
        if self.ours:
            return outcome
        if self.settings.kind == OTHER_DATA:
            return {HOLDS: CARRIES_OVER, FAILS: DOES_NOT_CARRY_OVER}.get(outcome, outcome)
        return CONTRADICTED if outcome == FAILS else outcome


def verdict(margin: Margin, evidence: str) -> Verdict:
    """Holds or fails where chance over repetitions is unlikely to explain the margin, and undecided otherwise."""
    outcome = HOLDS if margin.p_holds < LEVEL else FAILS if margin.p_fails < LEVEL else UNDECIDED
    return Verdict(outcome, evidence, margin)


def at_face_value(found: Mapping[str, float], what: str = "comparisons", enough: int | None = None) -> Verdict:
    """Return the outcome on numbers that a paper published, which have no interval: each comparison is met or missed.

    Args:
        found: a comparison in words -> by how much it is met.
        what: is counted, in words.
        enough: how many have to be met; None is all.
    """
    missed = [name for name, value in found.items() if not value > 0]
    met = len(found) - len(missed)
    holds = met >= (len(found) if enough is None else enough)
    named = "" if holds else f", not at {', '.join(missed[:MOST_NAMED])}"
    more = f" and {len(missed) - MOST_NAMED} more" if named and len(missed) > MOST_NAMED else ""
    return Verdict(HOLDS if holds else FAILS, f"met at {met} of {len(found)} {what}{named}{more}")


def require(values, needed, name: str, where: str = "") -> None:
    """Raise NotTestable where one of the numbers needed is not among the values."""
    present = np.unique(np.asarray(values, float))
    missing = [value for value in needed if not np.isclose(present, value).any()]
    if missing:
        raise NotTestable(f"no runs with {name} = {', '.join(f'{value:g}' for value in missing)}{where}")


def spread(values: pd.Series, form: str = ".3g", never: str = "inf") -> str:
    """Mean over repetitions, its 95 % interval, and the smallest and largest of them.

    Args:
        values: one per repetition.
        form: of a number.
        never: word for an infinite value.
    """
    low, high = (format(value, form) if np.isfinite(value) else never for value in (values.min(), values.max()))
    if not np.isfinite(values).all():
        return f"{low} to {high}"
    mean, half = values.mean(), half_width(values.std(ddof=1), len(values))
    return f"{mean:{form}} [{mean - half:{form}}, {mean + half:{form}}] ({low} to {high})"
