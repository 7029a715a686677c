"""Several comparisons as one margin: at least so many of them, of which `every` and `some` are the ends."""

import math

import numpy as np
import pytest
from scipy import stats

from figures.shared.margins import LEVEL, ONE, Margin, at_least, computed, estimated, every, some


def margin(value, repetitions=3):
    """Of deviation 1 from so many repetitions."""
    error = 1 / math.sqrt(repetitions)
    return estimated(value, error, repetitions - 1, repetitions, "points", "made up")


UNKNOWN = Margin(2.0, "points", ONE, repetitions=1)


def test_the_p_values_are_those_of_a_partial_conjunction():
    """By hand: 2 of 4, so 3 times the second p-value; missed if 3 of 4 are, so 2 times the third."""
    several = [margin(value) for value in (5.0, 3.0, 1.0, -4.0)]
    found = at_least(2, several)
    holds, fails = sorted(m.p_holds for m in several), sorted(m.p_fails for m in several)
    assert found.p_holds == pytest.approx(3 * holds[1])
    assert found.p_fails == min(1.0, 2 * fails[2])
    assert found.value == 3.0
    assert found.among == 4


def test_every_and_some_are_its_ends():
    several = [margin(value) for value in (5.0, 0.4, -0.2)]
    assert (every(several), some(several)) == (at_least(3, several), at_least(1, several))
    assert every(several).p_holds == max(m.p_holds for m in several)
    assert every(several).p_fails == pytest.approx(min(1.0, 3 * min(m.p_fails for m in several)))
    assert some(several).p_holds == pytest.approx(3 * min(m.p_holds for m in several))
    assert some(several).p_fails == max(m.p_fails for m in several)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_sign_is_that_of_the_claim(count):
    for values in ((3.0, 2.0, 1.0), (3.0, 2.0, -1.0), (3.0, -2.0, -1.0), (-3.0, -2.0, -1.0)):
        met = sum(value > 0 for value in values) >= count
        assert (at_least(count, map(margin, values)).value > 0) == met


def test_what_says_nothing_of_chance_leaves_it_open_only_where_it_matters():
    sure, missed = margin(20.0, 9), margin(-20.0, 9)
    assert at_least(2, [sure, sure, UNKNOWN]).p_holds < LEVEL
    assert at_least(2, [missed, missed, UNKNOWN]).p_fails < LEVEL
    open_ = at_least(2, [sure, missed, UNKNOWN])
    assert not open_.decided
    assert (open_.basis, open_.to_decide) == (ONE, "further repetitions")
    assert not every([sure, UNKNOWN]).decided
    assert every([missed, UNKNOWN]).p_fails < LEVEL


def test_what_decides_counts_the_correction():
    """One of three that are met: the fewest repetitions at a third of the level; of those decided none more."""
    alike = [margin(1.0)] * 3
    fewest = next(n for n in range(2, 99) if stats.t.isf(LEVEL / 3, n - 1) / math.sqrt(n) < 1)
    assert some(alike).needed == fewest > margin(1.0).needed
    assert every(alike).needed == margin(1.0).needed
    assert every([computed(3.0, "points"), margin(1.0)]).needed == margin(1.0).needed


def test_a_standard_error_that_no_repetition_reduces_sets_a_limit():
    found = estimated(1.0, 1.0, 4, 4, "points", "made up", fixed=0.6)
    assert found.deviation == pytest.approx(2 * 0.8)
    assert found.to_decide == "more than 10,000 repetitions"


def test_so_many_cannot_be_met():
    with pytest.raises(ValueError, match="3 of 2"):
        at_least(3, [margin(1.0), margin(2.0), margin(math.nan)._replace(value=math.nan)])


def test_chance_alone_seldom_decides_it():
    """With 2 of 5 means above 0 and the others at 0 in truth, that 3 are above 0 is found in 2.5 % at most."""
    rng, truth = np.random.default_rng(1), np.array([[9], [9], [0], [0], [0]])
    found = [at_least(3, [margin_of(sample) for sample in rng.normal(truth, size=(5, 4))]) for _ in range(400)]
    assert sum(one.p_holds < LEVEL for one in found) / 400 <= LEVEL + 0.015


def margin_of(sample):
    return estimated(sample.mean(), stats.sem(sample), len(sample) - 1, len(sample), "points", "made up")
