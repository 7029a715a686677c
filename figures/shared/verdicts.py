"""The types of a claim: a statement of a paper, and how runs decide it."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd

from bench.analysis.select import half_width
from figures.shared.margins import LEVEL, Margin
from figures.shared.margins import NotTestable as NotTestable

HOLDS, FAILS, UNDECIDED = "holds", "fails", "undecided"
NOT_RUN = "not run"  # the claim's runs are missing, or too few
ERROR = "error"  # the check raised an exception, which is a bug and says nothing about the claim


class Verdict(NamedTuple):
    """The outcome of a claim, the numbers behind it, and its margin; no margin where it was not run."""

    outcome: str
    evidence: str
    margin: Margin | None = None


def everything(runs: pd.DataFrame) -> pd.DataFrame:
    """All runs of a sweep: the default for the runs that a claim is about."""
    return runs


class Claim(NamedTuple):
    """A statement of a paper.

    text: the statement, in one line.
    where: its place in the paper.
    sweep: the sweep whose runs decide it.
    check: runs -> Verdict; raises NotTestable where runs that it needs are missing.
    how: what the check compares, in one plain line; the claim holds where all of these are above 0.
    about: runs -> those behind the claim, whose source and repetitions are reported with it; never raises.
    ours: whether the claim is not the paper's but tested here in addition.
    """

    text: str
    where: str
    sweep: str
    check: Callable[[pd.DataFrame], Verdict]
    how: str
    about: Callable[[pd.DataFrame], pd.DataFrame] = everything
    ours: bool = False


def verdict(margin: Margin, evidence: str) -> Verdict:
    """Holds or fails where chance over repetitions is unlikely to explain the margin, and undecided otherwise."""
    outcome = HOLDS if margin.p_holds < LEVEL else FAILS if margin.p_fails < LEVEL else UNDECIDED
    return Verdict(outcome, evidence, margin)


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
