"""How runs decide the claims of Bietti et al.: rounds of crossing, noise of epsilon near 1, both tunings, gaps."""

import math

import numpy as np
import pandas as pd
from made_up_runs import DIGIT_CURVES, at, changed, claim_of, digit_runs, judge, synthetic_runs

from figures.claims import rests_on
from figures.ppsgd import claims_numbers as numbers
from figures.ppsgd.claims import CLAIMS
from figures.shared.verdicts import NO, OPEN, YES, verdict

INF = math.inf
DIGITS = digit_runs()
SILENT, PRIVATE, GAIN = (
    claim_of(CLAIMS, words)
    for words in (
        "Digits: without noise global",
        "Digits: the smallest alpha Q",
        "Digits: at some epsilon of 10 or less",
    )
)


def crossings(runs):
    """By repetition, the round from which local learning stays ahead of all others, at sigma = 10."""
    (found,) = numbers.passings(runs, 10.0, 0.0).values.values()
    return found


def test_crossings_by_repetition():
    """Local passes the other from a round of its own in each repetition; one falls back, one never, one always."""
    passed = {0: 30, 1: 60, 2: INF, 3: 10}

    def value(delta, a, sigma, rounds, seed):
        if seed == 1 and rounds == 50:
            return 1.0  # equal is not below
        if seed == 1 and rounds == 20:
            return 0.5 if a == 0 else 1.0  # ahead for a moment
        return 0.5 if a == 0 and rounds >= passed[seed] else 1.0

    runs = synthetic_runs(value, rounds=(*range(0, 101, 10), 1000), sigmas=(10.0,), deltas=(0.1,), repetitions=4)
    assert crossings(runs).groupby("seed").first().to_dict() == passed


def test_crossings_judge_a_repetition_at_the_step_that_is_best_on_average():
    """At the smaller step this repetition would not have crossed; the average chooses the larger for both."""
    runs = synthetic_runs(
        lambda d, a, s, t, seed: 1.0, rounds=(0, 10, 1000), sigmas=(10.0,), deltas=(0.1,), repetitions=2
    )
    local = runs["personalization"] == 0
    runs["excess_risk"] = np.where(local, np.where(runs["step_size"] == 0.1, 2.0, 0.5), 1.0)
    runs.loc[local & (runs["step_size"] == 0.5) & (runs["seed"] == 1), "excess_risk"] = 1.1
    assert list(crossings(runs)) == [10, INF]


def test_the_noise_nearest_to_epsilon_1_is_nearest_in_ratio():
    """0.6 and 1.5 are 0.4 and 0.5 away, but 1.5 is the nearer factor; there the small a is not the best."""
    runs = DIGITS[DIGITS["noise_multiplier"].isin([0.0, 1.0, 5.0])].copy()
    runs["epsilon"] = runs["epsilon"].mask(runs["noise_multiplier"] == 1, 1.5).mask(runs["noise_multiplier"] == 5, 0.6)
    runs["epsilon"] = runs["epsilon"].mask(runs["personalization"] == 0, 0.0)
    found = judge(PRIVATE, runs)
    assert "sigma = 1" in found.margin.comparison
    assert found.seen == NO
    assert judge(PRIVATE, runs[runs["noise_multiplier"] != 1]).seen == YES


def test_a_digit_claim_must_hold_with_both_ways_of_tuning():
    """The step that held-out data choose makes global learning worse than local; that of test data does not."""
    runs = changed(DIGITS, at(personalization=INF, step_size=0.5), test_accuracy=0.1)
    found = judge(SILENT, runs)
    assert found.seen == NO
    assert [verdict(part).seen for part in found.margin.parts] == [YES, NO]
    assert "step by validation" in found.margin.comparison


def test_the_smallest_a_must_be_the_best_not_just_a_small_one():
    """With alpha Q = 0.1 a little below alpha Q = 1 the claim fails, though both are small."""
    runs = DIGITS[DIGITS["noise_multiplier"].isin([0.0, 5.0])]
    assert judge(PRIVATE, runs).seen == YES
    runs = changed(runs, at(personalization=1.0, noise_multiplier=5.0), test_accuracy=1.5)
    assert judge(PRIVATE, runs).seen == NO
    assert "alpha Q = 0.1 over alpha Q = 1" in judge(PRIVATE, runs).margin.comparison


def test_what_repetitions_share_does_not_count_and_what_they_do_not_share_does():
    """The gap is positive on the mean; curves that move together are told apart, one that moves alone is not."""
    base = {0.0: 0.3, INF: 0.5}

    def value(spread_out, curves):
        return lambda a, s, seed: (
            base.get(a, 0.2 if a != 1 else 0.55)
            + (spread_out * (seed - 1) if a in curves else 0.0001 * seed * a % 0.001)
        )

    assert judge(GAIN, digit_runs(value(0.1, DIGIT_CURVES))).seen == YES
    assert judge(GAIN, digit_runs(value(0.1, [1.0]))).seen == OPEN


def test_a_verdict_names_the_edges_of_the_grid_it_rests_on():
    found = judge(SILENT, DIGITS)  # by test data the smaller of two steps is best, by held-out data the larger
    assert rests_on(found.margin) == (
        "step_size = 0.1, the smallest tried (alpha Q = 0, alpha Q = inf); "
        "step_size = 0.5, the largest tried (alpha Q = 0, alpha Q = inf)"
    )
    named = DIGITS.astype({"point": str})
    wider = pd.concat(
        [
            named,
            *(
                changed(
                    named[named["step_size"] == 0.5],
                    at(step_size=0.5),
                    step_size=k,
                    test_accuracy=0.1,
                    point=lambda r: r.point + "x",
                    validation_accuracy_by_size=0.1,
                )
                for k in (0.02, 20.0)
            ),
        ]
    )
    found = judge(SILENT, wider)
    assert rests_on(found.margin) == "", found
