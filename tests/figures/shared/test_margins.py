"""By how much a claim is met, against chance: tests of one comparison, of several, and what would decide."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from figures.claims import rests_on
from figures.shared.margins import LEVEL, ONE, NotTestable, computed, estimated, every, paired, some, under_each
from figures.shared.verdicts import NO, OPEN, YES, verdict

VALUES = [1.0, 2.0, 6.0, 7.0, 9.0]


def half_of(values):
    low, high = stats.t.interval(0.95, len(values) - 1, loc=np.mean(values), scale=stats.sem(values))
    return (high - low) / 2


# ---- One comparison ----


def test_paired_is_the_t_test_of_the_differences():
    margin = paired(pd.Series(VALUES), "points")
    assert (margin.value, margin.half) == (5.0, pytest.approx(half_of(VALUES)))
    assert margin.p_holds == pytest.approx(stats.ttest_1samp(VALUES, 0, alternative="greater").pvalue)
    assert margin.p_fails == pytest.approx(stats.ttest_1samp(VALUES, 0, alternative="less").pvalue)


@pytest.mark.parametrize("shift", [-6.0, -4.0, -1.0, 0.0, 2.0])
def test_it_is_decided_just_where_the_interval_is_on_one_side_of_zero(shift):
    values = np.array(VALUES) + shift
    outcome = verdict(paired(values, "points")).seen
    low, high = values.mean() - half_of(values), values.mean() + half_of(values)
    assert outcome == (YES if low > 0 else NO if high < 0 else OPEN)


def test_verdicts_on_no_difference_are_wrong_as_rarely_as_said():
    draws = np.random.default_rng(4).normal(size=(2000, 5))
    outcomes = pd.Series([verdict(paired(draw, "")).seen for draw in draws]).value_counts(normalize=True)
    assert outcomes[YES] < 0.035
    assert outcomes[NO] < 0.035


def test_the_repetitions_that_would_decide():
    """With so many, of this mean and spread, the interval just leaves 0."""
    values = np.array([-1.0, 1.5])
    needed = paired(values, "points").needed
    for count, outside in ((needed, True), (needed - 1, False)):
        half = stats.t.ppf(1 - LEVEL, count - 1) * values.std(ddof=1) / math.sqrt(count)
        assert (half < 0.25) == outside
    assert math.isnan(paired([-1.0, 1.0], "points").needed)


def test_what_diverged_misses_and_what_wins_against_it_has_no_bound():
    assert paired([1.0, np.nan], "points").value == -math.inf
    assert paired([1.0, -math.inf, math.inf], "points").value == -math.inf
    assert paired([math.inf, math.inf], "points").value == math.inf
    assert computed(np.nan, "points").value == -math.inf
    assert verdict(paired([math.nan], "points")).seen == NO
    assert verdict(paired([math.inf, math.inf], "points")).seen == YES


def test_one_diverged_competitor_decides_nothing():
    """The other repetitions decide whether the claim holds, and nothing decides that it fails."""
    assert verdict(paired([math.inf], "points")).seen == OPEN
    assert verdict(paired([math.inf, 1.0], "points")).seen == OPEN
    clearly, missed = paired([1.0, math.inf, 1.1, 1.2], "points"), paired([-1.0, math.inf, -1.1, -1.2], "points")
    assert verdict(clearly).seen == YES
    assert (clearly.value, clearly.p_holds) == (pytest.approx(1.1), paired([1.0, 1.1, 1.2], "points").p_holds)
    assert clearly.basis.endswith("without 1 of 4 in which the other diverged")
    assert verdict(missed).seen == OPEN
    rng = np.random.default_rng(3)
    draws = np.where(rng.random((2000, 5)) < 0.1, math.inf, rng.normal(size=(2000, 5)))
    assert np.isinf(draws).any(axis=1).mean() > 0.3
    assert np.mean([paired(draw, "").p_holds < LEVEL for draw in draws]) < 0.035


def test_one_repetition_decides_nothing():
    margin = paired([2.0], "points")
    assert (margin.basis, verdict(margin).seen) == (ONE, OPEN)
    assert math.isnan(margin.half)


def test_the_threshold_is_what_the_estimate_must_be_above():
    margin = paired(VALUES, "points", 4.0)
    assert (margin.value, margin.estimate, margin.threshold) == (1.0, 5.0, 4.0)
    assert margin.p_holds == pytest.approx(stats.ttest_1samp(VALUES, 4.0, alternative="greater").pvalue)


# ---- Several ----


def clear(value, half=0.5):
    return estimated(value, half / stats.t.ppf(0.975, 4), 4, 5, "points", "made up")


def test_every_holds_where_all_hold_and_fails_where_one_fails():
    assert verdict(every([clear(1), clear(3)])).seen == YES
    assert verdict(every([clear(0.3), clear(3)])).seen == OPEN
    assert verdict(every([clear(-3), clear(3)])).seen == NO
    assert every([clear(1), clear(3)]).value == 1
    assert every([clear(-3), clear(3)]).value == -3
    assert len(every([clear(1), clear(3)]).parts) == 2


def test_every_corrects_what_is_missed_for_the_number_of_comparisons():
    missed = clear(-0.6)
    assert verdict(missed).seen == NO
    many = every([missed, *(clear(3) for _ in range(19))])
    assert many.p_fails == pytest.approx(20 * missed.p_fails)
    assert verdict(many).seen == OPEN
    assert many.needed > missed.needed


def test_some_is_the_mirror_image_of_every():
    margins = [clear(value) for value in (-2.0, -0.4, 0.7)]
    mirrored = [clear(-margin.value) for margin in margins]
    found, image = some(margins), every(mirrored)
    assert (found.p_holds, found.p_fails) == (pytest.approx(image.p_fails), pytest.approx(image.p_holds))
    assert (found.value, found.needed) == (-image.value, image.needed)


def test_the_best_of_many_that_are_alike_is_no_proof():
    """Of 40 comparisons without any difference, the best alone would hold in two thirds of all cases."""
    rng, outcomes = np.random.default_rng(8), []
    for _ in range(200):
        outcomes.append(verdict(some(paired(rng.normal(size=5), "") for _ in range(40))).seen)
    assert outcomes.count(YES) / 200 < 0.06


def test_several_nest():
    margin = every([some([clear(-3), clear(2)]), some([clear(1), clear(-1)])])
    assert verdict(margin).seen == YES
    assert len(margin.parts) == 4


def test_what_says_nothing_of_chance_leaves_it_open_only_where_it_matters():
    sure, missed, unknown = clear(20), clear(-20), paired([2.0], "points")
    assert verdict(every([sure, unknown])).seen == OPEN
    assert every([missed, unknown]).p_fails < LEVEL
    assert some([sure, unknown]).p_holds < LEVEL
    assert verdict(some([missed, unknown])).seen == OPEN


def test_a_standard_error_that_no_repetition_reduces_sets_a_limit():
    found = estimated(1.0, 1.0, 4, 4, "points", "made up", fixed=0.6)
    assert found.deviation == pytest.approx(2 * 0.8)
    assert found.needed == math.inf


def test_nothing_to_compare_is_said():
    with pytest.raises(NotTestable, match="no repetition has everything that is compared"):
        every([paired([], "points")])


def test_edges_go_with_what_rests_on_them():
    first, second = clear(1).on("a: s = 1, the smallest tried"), clear(3).on("b: s = 1, the smallest tried", "")
    assert rests_on(every([first, second])) == "s = 1, the smallest tried (a, b)"
    assert rests_on(some([first, second])) == "s = 1, the smallest tried (b)"  # the other is not needed
    assert rests_on(clear(1)) == ""


def test_under_several_guesses_it_is_decided_where_all_agree():
    assert verdict(under_each([clear(1), clear(3)])).seen == YES
    assert verdict(under_each([clear(-1), clear(-3)])).seen == NO
    found = under_each([clear(-1), clear(3)])
    assert verdict(found).seen == OPEN
    assert math.isnan(found.needed)  # no number of repetitions would decide it
    assert (under_each([clear(1), clear(3)]).value, under_each([clear(-1), clear(-3)]).value) == (1, -1)
    assert verdict(under_each([clear(1), clear(0.3)])).seen == OPEN
