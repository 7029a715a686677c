"""How runs decide the claims of Bietti et al.: rounds of crossing, noise of epsilon near 1, both tunings, gaps."""

import math

import numpy as np
import pandas as pd
import pytest
from made_up_runs import DIGIT_CURVES, accuracy, at, changed, claim_of, digit_runs, judge, risk, synthetic_runs
from scipy import stats

from figures.ppsgd import claims_digits as digits
from figures.ppsgd import claims_synthetic as synthetic
from figures.ppsgd.claims import CLAIMS
from figures.shared.verdicts import FAILS, HOLDS, UNDECIDED, spread

INF = math.inf
SYNTHETIC, DIGITS = synthetic_runs(), digit_runs()
ORDER, SILENT, BETWEEN, PRIVATE, GAIN = (
    claim_of(CLAIMS, words)
    for words in (
        "Local passes the others",
        "Digits without noise: global",
        "Digits without noise: an intermediate",
        "Digits at epsilon near 1",
        "Digits at some epsilon of 10 or less: an",
    )
)


def test_crossings_by_repetition():
    """Local passes the other from a round of its own in each repetition; one falls back, one never, one always."""
    passed = {0: 30, 1: 60, 2: INF, 3: 10}

    def value(delta, a, sigma, rounds, seed):
        if seed == 1 and rounds == 50:
            return 1.0  # equal is not below
        if seed == 1 and rounds == 20:
            return 0.5 if a == 0 else 1.0  # ahead for a moment
        return 0.5 if a == 0 and rounds >= passed[seed] else 1.0

    runs = synthetic_runs(value, rounds=range(0, 101, 10), sigmas=(10.0,), deltas=(0.1,), repetitions=4)
    assert synthetic.crossings(runs, 0.1, 10.0).groupby("seed").first().to_dict() == passed
    at_least = synthetic.crossings(runs[runs["seed"] < 2], 0.1, 10.0)
    assert "45 [-146, 236] (30 to 60)" in spread(at_least, ".0f")


def test_crossings_judge_a_repetition_at_the_step_that_is_best_on_average():
    """At the smaller step this repetition would not have crossed; the average chooses the larger for both."""
    runs = synthetic_runs(lambda d, a, s, t, seed: 1.0, rounds=(0, 10), sigmas=(10.0,), deltas=(0.1,), repetitions=2)
    local = runs["personalization"] == 0
    runs["excess_risk"] = np.where(local, np.where(runs["step_size"] == 0.1, 2.0, 0.5), 1.0)
    runs.loc[local & (runs["step_size"] == 0.5) & (runs["seed"] == 1), "excess_risk"] = 1.1
    assert list(synthetic.crossings(runs, 0.1, 10.0)) == [10, INF]


def test_noise_levels_may_be_alike_at_the_ends_only():
    """Never within these rounds for two, before the first evaluation for two others: still earlier and earlier."""

    def with_crossings(rounds_by_sigma):
        def value(delta, a, sigma, rounds, seed):
            if a == 0:
                return math.exp(-rounds / 50)
            return math.exp(-(rounds_by_sigma[sigma] - 5) / 50) if rounds_by_sigma[sigma] < INF else 1e-30

        return synthetic_runs(value, rounds=range(0, 101, 10), sigmas=rounds_by_sigma, deltas=(0.1,), repetitions=2)

    good = {0.1: INF, 0.3: INF, 1.0: 80, 3.0: 40, 10.0: 10, 30.0: 10}
    assert judge(ORDER, with_crossings(good)).outcome == HOLDS
    assert "0.1 at never to never" in judge(ORDER, with_crossings(good)).evidence
    for sigma, rounds in ((3.0, 80), (3.0, 90), (30.0, 20), (0.3, 70)):
        assert judge(ORDER, with_crossings(good | {sigma: rounds})).outcome == FAILS


def test_the_noise_nearest_to_epsilon_1_is_nearest_in_ratio():
    """0.6 and 1.5 are 0.4 and 0.5 away, but 1.5 is the nearer factor; there the small a is not the best."""
    runs = DIGITS[DIGITS["noise_multiplier"].isin([0.0, 1.0, 5.0])].copy()
    runs["epsilon"] = runs["epsilon"].mask(runs["noise_multiplier"] == 1, 1.5).mask(runs["noise_multiplier"] == 5, 0.6)
    runs["epsilon"] = runs["epsilon"].mask(runs["personalization"] == 0, 0.0)
    found = judge(PRIVATE, runs)
    assert "sigma 1, epsilon 1.50" in found.evidence
    assert found.outcome == FAILS
    assert judge(PRIVATE, runs[runs["noise_multiplier"] != 1]).outcome == HOLDS


def test_a_digit_claim_must_hold_with_both_ways_of_tuning():
    """The step that held-out data choose makes global learning worse than local; that of test data does not."""
    runs = changed(DIGITS, at(personalization=INF, step_size=0.5), test_accuracy=0.1)
    found = judge(SILENT, runs)
    assert found.outcome == FAILS
    assert "step by test: holds" in found.evidence
    assert "step by validation: fails" in found.evidence


def test_the_smallest_a_must_be_the_best_not_just_a_small_one():
    """With alpha Q = 0.1 a little below alpha Q = 1 the claim fails, though both are small."""
    runs = DIGITS[DIGITS["noise_multiplier"].isin([0.0, 5.0])]
    assert judge(PRIVATE, runs).outcome == HOLDS
    runs = changed(runs, at(personalization=1.0, noise_multiplier=5.0), test_accuracy=1.5)
    assert judge(PRIVATE, runs).outcome == FAILS
    assert "best other alpha Q = 1" in judge(PRIVATE, runs).evidence


def test_what_repetitions_share_does_not_count_and_what_they_do_not_share_does():
    """The gap is positive on the mean; curves that move together are told apart, one that moves alone is not."""
    base = {0.0: 0.3, INF: 0.5}

    def value(spread_out, curves):
        return lambda a, s, seed: (
            base.get(a, 0.2 if a != 1 else 0.55)
            + (spread_out * (seed - 1) if a in curves else 0.0001 * seed * a % 0.001)
        )

    assert judge(GAIN, digit_runs(value(0.1, DIGIT_CURVES))).outcome == HOLDS
    assert judge(GAIN, digit_runs(value(0.1, [1.0]))).outcome == UNDECIDED


def test_a_verdict_names_the_edges_of_the_grid_it_rests_on():
    found = judge(SILENT, DIGITS)  # by test data the smaller of two steps is best, by held-out data the larger
    assert found.margin.rests_on == (
        "step_size = 0.1, the smallest tried (alpha Q = 0, sigma = 0, alpha Q = inf); "
        "step_size = 0.5, the largest tried (alpha Q = 0, sigma = 0, alpha Q = inf)"
    )
    named = DIGITS.astype({"point": str})
    wider = pd.concat(
        [
            named,
            *(
                changed(
                    named,
                    at(step_size=0.5),
                    step_size=k,
                    test_accuracy=0.1,
                    point=lambda r: r.point + "x",
                    validation_accuracy=0.1,
                )
                for k in (0.02, 20.0)
            ),
        ]
    )
    assert judge(SILENT, wider).margin.rests_on == ""


def test_evidence_has_the_interval_over_repetitions():
    table = digits.final_accuracy(DIGITS, "test").loc[(5.0, 0.1)]
    values = [accuracy(0.1, 5.0, seed) for seed in range(3)]
    low, high = stats.t.interval(0.95, 2, loc=np.mean(values), scale=stats.sem(values))
    assert (table["low"], table["high"]) == pytest.approx((low, high))
    said = f"{100 * np.mean(values):.2f} % [{100 * low:.2f}, {100 * high:.2f}]"
    assert said in judge(PRIVATE, DIGITS).evidence
    for claim in (SILENT, BETWEEN, PRIVATE, GAIN, claim_of(CLAIMS, "With sigma = 10")):
        assert judge(claim, SYNTHETIC if claim.sweep == "ppsgd_synthetic" else DIGITS).evidence.count("[") >= 1


def test_spread_is_the_t_interval():
    values = pd.Series([1.0, 2.0, 6.0, 7.0, 9.0])
    low, high = stats.t.interval(0.95, 4, loc=5, scale=stats.sem(values))
    assert spread(values, ".2f") == f"5.00 [{low:.2f}, {high:.2f}] (1.00 to 9.00)"
    assert spread(pd.Series([1.0, INF]), ".0f", "never") == "1 to never"


def test_the_runs_are_made_as_the_claims_expect():
    """The made-up curves of the figure are all there, so that a missing one is what a test took away."""
    assert set(DIGITS["personalization"]) == set(DIGIT_CURVES)
    assert risk(0.1, INF, 0.0, 1000, 0) == pytest.approx(5e-6)
