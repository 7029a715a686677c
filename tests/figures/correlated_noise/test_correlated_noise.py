"""Figures and claims of correlated noise, on runs whose outcome is known."""

import numpy as np
import pandas as pd
import pytest
from made_up_points import crossed, finish, of_each, table
from made_up_runs import judge

from bench.errors import InputError
from figures.correlated_noise import PAPER, claims, digits, sums

NOISES = {"independent": 0, "banded_sqrt": 16, "banded": 16, "blt": 4, "bisr": 16, "lambda_cgd": 0, "tree": 16}
KNOWN = {"trial": 0, "source": "generated"}


def of_sums(wrong: str = "", factor: float = 1.0, epsilon: float = 9.0) -> pd.DataFrame:
    """Runs whose ratios are those of the law but for one's, in three repetitions that differ by a thousandth."""
    runs = crossed(table("noise num_bands", NOISES.items()), seed=range(3))
    size = of_each(runs, sums.law, "noise num_bands") * np.where(runs["noise"] == wrong, factor, 1)
    size *= 1 + 1e-3 * np.random.default_rng(0).standard_normal(len(runs))
    rows = crossed(runs.assign(mean_square=size**2), rounds=range(sums.ROUNDS + 1), epsilon_worst_case=[epsilon])
    rows["mean_square"] *= rows["rounds"]
    return finish(rows, sums.SWEEP, num_rounds=sums.ROUNDS, task="nothing", delta=1e-4, **KNOWN)


def of_digits(gains: dict[str, float]) -> pd.DataFrame:
    steps = table("step_size worse", [(1e-4, 0.1), (1e-3, 0.0), (1e-2, 0.2)])
    rows = crossed(table("algorithm gain", gains.items()), crossed(level=(1.5, 3.0), seed=range(4)), steps)
    chance, level = 1e-3 * np.random.default_rng(1).standard_normal(len(rows)), rows["level"]
    rows["test_accuracy"] = 0.5 + rows["gain"] - rows["worse"] - level / 20 + chance
    rows[digits.HELD_OUT] = rows["test_accuracy"]
    rows = rows.assign(epsilon_worst_case=30 / level, epsilon=3 / level, noise_multiplier=level)
    rows = rows.drop(columns=["gain", "worse"])
    return finish(rows, digits.SWEEP, rounds=200, num_rounds=200, task="digits", **KNOWN)


GAINS = {digits.QUEUE: 0.0, digits.CYCLIC: 0.1, digits.BANDED: 0.2}


def outcomes(sweep: str, runs: pd.DataFrame) -> list[str]:
    return [judge(claim, runs).seen for claim in claims.CLAIMS if claim.sweep == sweep]


def test_claims_hold_where_the_runs_follow_the_law():
    assert outcomes(sums.SWEEP, of_sums()) == ["yes"] * 2


def test_noise_that_is_a_twentieth_larger_fails():
    assert outcomes(sums.SWEEP, of_sums("banded_sqrt", 1.05))[0] == "no"


def test_noise_that_is_a_fifth_larger_is_not_on_par():
    assert outcomes(sums.SWEEP, of_sums("banded_sqrt", 1.2))[1] == "no"


def test_claims_of_accuracy_follow_the_runs():
    assert outcomes(digits.SWEEP, of_digits(GAINS)) == ["yes", "yes"]
    turned = dict(zip(GAINS, reversed(GAINS.values()), strict=True))
    assert outcomes(digits.SWEEP, of_digits(turned)) == ["no", "no"]


def test_runs_of_different_cost_are_not_compared():
    uneven = of_sums()
    uneven.loc[uneven["noise"] == "tree", "epsilon_worst_case"] = 8.0
    with pytest.raises(InputError, match="do not cost the same"):
        sums.table(uneven)


@pytest.mark.parametrize("name", PAPER.figures)
def test_figures_are_drawn_of_their_tables(name):
    figure = PAPER.figures[name]
    table = figure.table(of_sums() if name.endswith("sums") else of_digits(GAINS))
    drawn = figure.picture(table)
    assert len(drawn.axes[0].lines) >= 3
    assert "at delta = " in drawn.notes
    if name.endswith("digits"):
        assert set(table["step_size"]) == {1e-3}
        assert not table["edge"].any()
