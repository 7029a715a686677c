"""Mistakes in rounds of private sums over users: replay finds all of them but one, which the game finds, though some
leave the mean of what is public where it is, or show only after several rounds or in a model of several leaves.
"""

import functools
import re

import pytest
from mistaken_sums import METHOD, sums
from scipy import stats
from slow_cases import cases

from bench.audit import audit
from bench.audit.text import text_of

BY_REPLAY = ["half", "noise of one key", "noise of every second round", "after averaging", "by value", "halves",
             "scalar noise", "remainder", "noise of period 4", "noise / 10 from the fifth round", "leaves",
             "at the largest norm", "step frozen", "private divisor", "private step", "divided by the count",
             "no noise without participants"]  # fmt: skip
BY_GAME = ["drawn once"]  # each round is as declared, and who takes part is the same in all of them


QUICK = {"runs": 1200}


@functools.cache
def audited(mistake: str, **options):
    return audit(METHOD, args={"mistake": mistake}, **options)


@pytest.mark.parametrize("mistake", cases(BY_REPLAY + BY_GAME, slow=BY_REPLAY[2:] + BY_GAME))
def test_every_mistake_is_refuted_by_one_of_the_two(mistake):
    found = audited(mistake, **({} if mistake in BY_GAME else QUICK))
    assert [part.subject.family for part in found.task_audits] == ["users", "layers"]
    assert text_of(found).startswith("FAILED: ")
    by_replay = found.most_refuted.replay_refutes
    assert by_replay == (mistake in BY_REPLAY)
    assert ("(replay, " in text_of(found).splitlines()[0]) == by_replay


def test_a_verdict_names_factor_leaf_and_round():
    half = text_of(audited("half", family="layers", **QUICK))
    assert re.match(
        r"FAILED: .* declares epsilon 3 .* the canary changes public\['\w+'\] in round \d by 2.* times", half
    )
    late = text_of(audited("noise / 10 from the fifth round", family="layers", rounds=6, **QUICK))
    assert re.match(r"FAILED: .* the canary changes public\['\w+'\] in round [56] by \d+\.?\d* times", late)


@pytest.mark.parametrize("family", cases(["users", "layers", "pair"], slow={"pair"}))
def test_the_right_one_is_not_refuted(family):
    found = audited("none", family=family, **QUICK)
    assert found.verdict == "passed", text_of(found)
    assert {part.removal for part in found.task_audits} == {"absent"}
    assert found.strongest.factor == pytest.approx(1, abs=0.06)


def test_a_count_without_noise_among_what_is_reported_is_named():
    """Nothing says that it is public, so that it does not refute the method; but the report says what it would show."""
    found = audited("none", family="users", **QUICK)
    assert found.task_audits[0].reported == {"clipped": True}
    said = text_of(found)
    assert "not looked at, since `public` leaves it out: clipped, variables[1], variables[2], variables[3]" in said
    assert "the canary changes clipped, which `round` reports: do not publish that" in said


@pytest.mark.slow
def test_a_number_of_the_state_is_seen_if_the_method_says_that_it_is_public():
    @functools.wraps(sums)
    def telling(task, **args):
        """The remainders of the users, which are what was clipped off."""
        made = sums(task, **args)
        return made._replace(public=lambda state: (made.params(state), state.variables[3]))

    found = audit(METHOD._replace(make=telling), args={"mistake": "remainder"}, family="users", runs=600, rounds=2)
    assert found.refuted
    assert "variables[3]" not in found.task_audits[0].hidden_state


@pytest.mark.slow
def test_a_right_method_is_refuted_no_oftener_than_the_confidence_says():
    """Neither by scores of shift nor of scale. Every user takes part, so that the declared epsilon is exact."""
    tries, confidence = 60, 0.8
    args = {"sampler": "all", "num_sampled": 4}
    options = {"family": "users", "runs": 1500, "rounds": 2, "confidence": confidence}
    refuted = [audit(METHOD, args=args, seed=10 * seed, **options).refuted for seed in range(tries)]
    assert sum(refuted) <= stats.binom.isf(1e-4, tries, 1 - confidence)
    assert audit(METHOD, args=args | {"mistake": "half"}, **options).refuted
