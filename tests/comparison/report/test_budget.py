"""What a budget buys: against all subsets of a few scores, and against draws."""

import itertools

import numpy as np
import pandas as pd
import pytest

from bench.comparison.report.budget import better_from, curves, expected_best


@pytest.mark.parametrize("best", ["max", "min"])
def test_it_is_the_mean_over_all_subsets(best):
    scores = [0.3, 0.9, 0.1, 0.5, 0.5, 0.7]
    pick = max if best == "max" else min
    for k, expected in enumerate(expected_best(scores, best), 1):
        assert expected == pytest.approx(np.mean([pick(some) for some in itertools.combinations(scores, k)]))


def test_it_agrees_with_draws_and_does_not_overflow():
    scores = np.random.default_rng(0).normal(size=300)
    drawn = [np.random.default_rng(seed).choice(scores, 40, replace=False).max() for seed in range(2000)]
    assert expected_best(scores, "max")[39] == pytest.approx(np.mean(drawn), abs=4 * np.std(drawn) / 2000**0.5)


def test_a_setting_that_diverged_is_the_worst():
    assert expected_best([1.0, np.nan, 3.0, np.inf], "min")[0] == pytest.approx((1 + 3 * 3) / 4)
    assert expected_best([1.0, np.nan, 3.0, np.inf], "min")[-1] == 1.0
    assert np.isnan(expected_best([np.nan, np.inf], "max")).all()


def tuning(looks=True):
    """Two methods on three splits: "good" needs four settings to be good, "safe" is as good with any."""
    rows = []
    for trial in range(3):
        for label, scores in (("good", [0.1, 0.2, 0.3, 0.9]), ("safe", [0.5, 0.5])):
            rows += [(label, 1.0, trial, 0, number, score) for number, score in enumerate(scores)]
        if looks:
            rows.append(("good", 1.0, trial, 1, 4, 0.95))
    return pd.DataFrame(rows, columns=["algorithm", "target_epsilon", "trial", "look", "setting", "score"])


def test_closer_looks_have_a_point_at_the_end():
    found = curves(tuning(), metric="score", best="max")
    good = found[found["algorithm"] == "good"].set_index("num_settings")
    assert good["score"].to_dict() == pytest.approx({1: 0.375, 2: 0.5833, 3: 0.75, 4: 0.9, 5: 0.95}, abs=1e-4)
    assert good["looks"].tolist() == [0, 0, 0, 0, 1]
    assert (good["repetitions"] == 3).all()


def test_further_seeds_of_a_setting_are_no_further_settings():
    again = tuning().query("setting == 3").assign(look=2, score=2.0)
    found = curves(pd.concat([again, tuning()]), metric="score", best="max")
    pd.testing.assert_frame_equal(found, curves(tuning(), metric="score", best="max"))


def test_from_which_budget_on_a_method_is_better():
    found = curves(tuning(), metric="score", best="max")
    of = {"metric": "score", "best": "max"}
    assert better_from(found, "good", "safe", **of) == 2
    assert np.isnan(better_from(found, "safe", "good", **of))
    assert np.isnan(better_from(found, "safe", "safe", **of))
    lost = {"metric": "score", "best": "min"}
    least = curves(tuning(looks=False), **lost)
    assert better_from(least, "good", "safe", **lost) == 1
