"""Figures and claims of correlated noise, on runs whose outcome is known."""

import numpy as np
import pandas as pd
import pytest
from made_up_runs import judge

from bench.errors import InputError
from figures.correlated_noise import PAPER, claims, digits, sums

NOISES = {"independent": 0, "banded_sqrt": 16, "banded": 16, "blt": 4, "bisr": 16, "lambda_cgd": 0, "tree": 16}


def of_sums(wrong: str = "", factor: float = 1.0, epsilon: float = 9.0) -> pd.DataFrame:
    """Runs whose ratios are those of the law but for one's, in three repetitions that differ by a thousandth."""
    rng, rows = np.random.default_rng(0), []
    for noise, bands in NOISES.items():
        for seed in range(3):
            size = sums.law(noise, bands) * (factor if noise == wrong else 1) * (1 + 1e-3 * rng.standard_normal())
            for rounds in range(sums.ROUNDS + 1):
                rows.append((noise, bands, seed, rounds, size**2 * rounds, epsilon))
    columns = ["noise", "num_bands", "seed", "rounds", "mean_square", "epsilon_worst_case"]
    known = {"num_rounds": sums.ROUNDS, "trial": 0, "source": "generated", "task": "nothing", "scale": "laptop"}
    return pd.DataFrame(rows, columns=columns).assign(commit="abc", point="p", sweep=sums.SWEEP, delta=1e-4, **known)


def of_digits(gains: dict[str, float]) -> pd.DataFrame:
    rng, rows = np.random.default_rng(1), []
    for name, gain in gains.items():
        for level in (1.5, 3.0):
            for seed in range(4):
                for step, worse in ((1e-4, 0.1), (1e-3, 0.0), (1e-2, 0.2)):
                    accuracy = 0.5 + gain - worse - level / 20 + 1e-3 * rng.standard_normal()
                    rows.append((name, level, seed, step, accuracy, accuracy, 30 / level, 3 / level, level))
    columns = ["algorithm", "level", "seed", "step_size", "test_accuracy", digits.HELD_OUT, "epsilon_worst_case"]
    known = {"rounds": 200, "num_rounds": 200, "trial": 0, "source": "generated", "task": "digits", "scale": "laptop"}
    frame = pd.DataFrame(rows, columns=[*columns, "epsilon", "noise_multiplier"])
    return frame.assign(commit="abc", point="p", sweep=digits.SWEEP, **known)


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
