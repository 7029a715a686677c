"""The types of a claim: a statement of a paper, and how runs decide it."""

from collections.abc import Callable
from typing import NamedTuple

import pandas as pd

HOLDS, FAILS, UNTESTABLE = "holds", "fails", "not testable at this scale"


class Verdict(NamedTuple):
    """The outcome of a claim and the measured numbers that it rests on."""

    outcome: str
    evidence: str


class Claim(NamedTuple):
    """A statement of a paper.

    text: the statement, in one line.
    where: its place in the paper.
    sweep: whose runs decide it.
    check: runs -> Verdict; raises NotTestable where the runs it needs are not there.
    """

    text: str
    where: str
    sweep: str
    check: Callable[[pd.DataFrame], Verdict]


class NotTestable(Exception):
    """The runs at hand cannot decide a claim; says what is missing."""


def verdict(outcome: bool, evidence: str) -> Verdict:
    """Holds or fails, as the numbers say."""
    return Verdict(HOLDS if outcome else FAILS, evidence)
