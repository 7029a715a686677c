"""Mistakes in rounds of private sums over users: the audit finds each of them with the command's own options, though
some leave the mean of what is public where it is, or show only after several rounds or in a model of several leaves.
"""

import functools

import pytest
from mistaken_sums import METHOD, sums
from scipy import stats
from slow_cases import cases

from bench.audit import audit
from bench.audit.text import text_of

SHIFTS = ["half", "noise of one key", "noise of every second round", "after averaging", "by value", "halves",
          "scalar noise", "remainder", "drawn once", "noise of period 4", "noise / 10 from the fifth round",
          "leaves"]  # fmt: skip
SCALES = ["at the largest norm", "step frozen", "private divisor", "private step", "divided by the count",
          "no noise without participants"]  # fmt: skip
FIRST_LOOK = {"confidence": 0.9995, "canaries": 0}  # of the command, which keeps half of the significance for later


@functools.cache
def audited(mistake: str, **options):
    return audit(METHOD, args={"mistake": mistake}, **options)


@pytest.mark.slow
@pytest.mark.parametrize("mistake", SHIFTS + SCALES)
def test_every_mistake_is_refuted_by_the_default_options(mistake):
    found = audited(mistake, **FIRST_LOOK)
    assert [part.family for part in found.parts] == ["users", "layers"]
    assert found.refuted, text_of(found)
    assert text_of(found).startswith("FAILED: ")
    by = {bound.by for finding in found.findings for bound in finding.bounds if bound.refutes}
    assert ("scale" in by) == (mistake in SCALES)


MISSED = ["private divisor", "divided by the count", "leaves", "noise of period 4"]


@pytest.mark.parametrize("mistake", cases(MISSED, slow={"divided by the count", "noise of period 4", "leaves"}))
def test_those_that_used_to_be_missed_are_refuted_on_the_second_task(mistake):
    found = audited(mistake, family="layers", rounds=8, runs=6000, canaries=0)
    assert found.refuted, text_of(found)


@pytest.mark.parametrize("family", cases(["users", "layers", "pair"], slow={"pair"}))
def test_the_right_one_is_not_refuted(family):
    found = audited("none", family=family, runs=6000, canaries=0)
    assert not found.refuted, text_of(found)
    assert found.left_out
    assert found.inconclusive
    assert "was not checked" in text_of(found).splitlines()[0]


def test_a_count_without_noise_among_what_is_reported_is_named():
    """Nothing says that it is public, so that it does not refute the method; but the report says what it would show."""
    found = audited("none", family="users", runs=3000, canaries=0)
    assert found.parts[0].reported["clipped"] > 3
    said = text_of(found)
    assert "not looked at, since `public` leaves it out: clipped, variables[1], variables[2], variables[3]" in said
    assert "`clipped`, if it were published as `round` reports it, would prove epsilon" in said


@pytest.mark.slow
def test_a_number_of_the_state_is_seen_if_the_method_says_that_it_is_public():
    @functools.wraps(sums)
    def telling(task, **args):
        """The remainders of the users, which are what was clipped off."""
        made = sums(task, **args)
        return made._replace(public=lambda state: (made.params(state), state.variables[3]))

    found = audit(
        METHOD._replace(make=telling), args={"mistake": "remainder"}, family="users", runs=600, rounds=2, canaries=0
    )
    assert found.refuted
    assert "variables[3]" not in found.parts[0].unseen


@pytest.mark.slow
def test_a_right_method_is_refuted_no_oftener_than_the_confidence_says():
    """With scores of shift and of scale. Every user takes part, so that the declared epsilon is exact."""
    tries, confidence = 60, 0.8
    args = {"sampler": "all", "num_sampled": 4}
    options = {"family": "users", "runs": 1500, "rounds": 2, "canaries": 0, "confidence": confidence}
    refuted = [audit(METHOD, args=args, seed=10 * seed, **options).refuted for seed in range(tries)]
    assert sum(refuted) <= stats.binom.isf(1e-4, tries, 1 - confidence)
    assert audit(METHOD, args=args | {"mistake": "half"}, **options).refuted
