"""Curves of the score by cost, and whether a method still improves at the end of its rounds."""

import numpy as np
import pandas as pd
import pytest

from bench.comparison.report import convergence

COSTS = {"floats_up": 1000.0, "gradients": 400.0, "examples": 400.0}


def evaluations(score, *, num_rounds=20, every=1, trials=4, label="new", **costs):
    """Runs of a method whose score is a function of the share of a run that is done, and of the split."""
    rounds = np.arange(0, num_rounds + 1, every)
    return pd.concat(
        pd.DataFrame(
            {
                "algorithm": label,
                "target_epsilon": 1.0,
                "trial": trial,
                "setting": trial,
                "rounds": rounds,
                "num_rounds": num_rounds,
                "score": score(rounds / num_rounds, trial),
                **(COSTS | costs),
            }
        )
        for trial in range(trials)
    )


@pytest.mark.parametrize(
    ("num_rounds", "every"),
    [(1, 1), (7, 1), (20, 1), (35, 5), (200, 10), (500, 25), (943, 943)],  # 943 is 23 x 41: 23 are too many
)
def test_rounds_between_evaluations_divide_the_rounds(num_rounds, every):
    assert convergence.rounds_between(num_rounds) == every
    assert num_rounds // every <= convergence.EVALUATIONS


def test_a_curve_is_the_mean_at_each_share_of_a_run_with_what_was_spent_until_then():
    """Splits that chose 10 and 20 rounds: each at half of its own run, at the mean of the costs."""
    short = evaluations(lambda share, trial: share, num_rounds=10, trials=2, floats_up=500.0)
    long = evaluations(lambda share, trial: 2 * share, trials=2).assign(trial=lambda rows: rows["trial"] + 2)
    found = convergence.curves(pd.concat([short, long]), metric="score").set_index("share")
    assert found.loc[0.5, "score"] == pytest.approx(0.75)
    assert found.loc[0.5, "rounds"] == pytest.approx(7.5)
    assert found.loc[0.5, "floats_up"] == pytest.approx(375.0)
    assert found.loc[1.0, "gradients"] == pytest.approx(400.0)
    assert (found["repetitions"] == 4).all()


def test_a_run_of_few_evaluations_has_no_curve_but_an_end():
    rows = evaluations(lambda share, trial: share, num_rounds=3)
    found = convergence.curves(rows, metric="score")
    assert found["share"].tolist() == [1.0]
    assert np.isnan(convergence.growth(rows, metric="score", best="max")["last_quarter"]).all()
    assert not convergence.growth(rows, metric="score", best="max")["still_improving"].any()


@pytest.mark.parametrize("best", ["max", "min"])
def test_what_improves_to_the_end_is_named_and_what_has_converged_is_not(best):
    sign = 1.0 if best == "max" else -1.0
    noise = 1e-3 * np.array([1.0, -1.0, 0.5, -0.5])
    rising = evaluations(lambda share, trial: 2 + sign * (share + noise[trial] * share))
    flat = evaluations(lambda share, trial: 2 + sign * np.minimum(share, 0.5) + noise[trial] * share)
    found = convergence.growth(rising, metric="score", best=best).iloc[0]
    assert found["last_quarter"] == pytest.approx(0.25, rel=1e-3)
    assert found["still_improving"]
    assert not convergence.growth(flat, metric="score", best=best)["still_improving"].any()


def test_what_is_within_chance_or_next_to_nothing_is_not_named():
    wide = np.array([3.0, -3.0, 3.0, -2.0])
    by_chance = evaluations(lambda share, trial: 10 + wide[trial] * share)
    tiny = evaluations(lambda share, trial: 10 + 0.1 * share + 1e-5 * trial * share)  # .025 of 10 in the last quarter
    for rows in (by_chance, tiny):
        assert not convergence.growth(rows, metric="score", best="max")["still_improving"].any()
