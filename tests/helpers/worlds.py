"""What every claim is tested for: runs of which it holds, fails or stays open, and runs that do not suffice for it.

Each function returns a test, parametrised by its cases, which a module assigns to a name that begins with `test_`.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial

import pandas as pd
import pytest
from made_up_runs import NOT_RUN, first_repetition, judge, undecidable

from figures.shared.derived import derived
from figures.shared.verdicts import YES, Claim

RunsOf = Callable[[Claim], pd.DataFrame]  # runs of which a claim holds


def judged(outcome: str, cases: Mapping[str, tuple[Claim, pd.DataFrame | Callable[[], pd.DataFrame]]]) -> Callable:
    """The verdict is this outcome in every case: a claim and its runs, or what makes them."""

    @pytest.mark.parametrize("name", cases)
    def test(name):
        claim, runs = cases[name]
        found = judge(claim, runs() if callable(runs) else runs)
        assert found.seen == outcome, found

    return test


def holds(claims: Iterable[Claim], runs_of: RunsOf) -> Callable:
    """Every claim holds where the runs bear it out."""
    return judged(YES, {claim.text: (claim, partial(runs_of, claim)) for claim in claims})


def open_with_one(claims: Iterable[Claim], runs_of: RunsOf, first: Callable = first_repetition) -> Callable:
    """No claim that has chance in it is decided by the first repetition."""

    @pytest.mark.parametrize("claim", claims, ids=lambda claim: claim.text[:40])
    def test(claim):
        found = judge(claim, first(runs_of(claim)))
        assert undecidable(found), found

    return test


def not_run(cases: Mapping[str, tuple[Collection[Claim], Callable, str]], runs_of: RunsOf) -> Callable:
    """Claims are not run where runs are missing: the claims, what takes the runs away, and the reason, or several
    separated by |."""
    changes = {name: derived(change) for name, (_, change, _) in cases.items()}

    @pytest.mark.parametrize(("name", "claim"), [(name, claim) for name in cases for claim in cases[name][0]])
    def test(name, claim):
        found = judge(claim, changes[name](runs_of(claim)))
        assert found.seen == NOT_RUN, found
        assert any(words in found.why for words in cases[name][2].split("|")), found

    return test
