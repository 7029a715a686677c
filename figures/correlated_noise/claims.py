"""Claims on noise that is correlated over rounds."""

import pandas as pd

from bench.analysis.select import REPETITION
from figures.correlated_noise import digits, sums
from figures.shared.checks import Cells, ahead, cells_of, inside
from figures.shared.verdicts import Claim, ours

LAW = 0.01  # relative difference below which a ratio counts as the law's; four times the spread of a repetition
ON_PAR = 0.1  # relative excess up to which a ratio counts as on par; a tolerance of ours


def off_the_law(runs: pd.DataFrame) -> Cells:
    """The deviation of the noise in prefix sums under the square root from the ratio that its matrix predicts."""
    rows = sums.ratios(runs).query("noise == 'banded_sqrt'")
    rows = rows.assign(off=rows["ratio"] / rows["law"] - 1)
    return cells_of(rows, "noise", {}, "off", "of the predicted ratio")


def excess(runs: pd.DataFrame) -> Cells:
    """Excess of the noise in prefix sums under the square root over that under the best bands."""
    rows = sums.ratios(runs).set_index(REPETITION)
    root, best = (rows.loc[rows["noise"] == noise, "ratio"] for noise in ("banded_sqrt", "banded"))
    return Cells({("more noise", ()): (root / best - 1).dropna()}, "of the noise")


def accuracy(runs: pd.DataFrame) -> Cells:
    """Final accuracy, the step chosen on held-out data, at every proven epsilon."""
    rows = digits.tuned(runs)
    rows = rows.assign(epsilon=rows.groupby("level")["epsilon_worst_case"].transform("mean").round(1))
    unit = "points of test accuracy"
    return cells_of(rows, "algorithm", {"epsilon": "epsilon"}, "test_accuracy", unit, scale=100)


CLAIMS = [
    Claim(
        "The banded square root has its coefficients and its sensitivity in closed form, which fix the noise of prefix "
        "sums",
        "Theorem 2",
        "Sixteen bands of the square root leave .348 of the noise in prefix sums, as its matrix gives, within 1 %",
        sums.SWEEP,
        off_the_law,
        inside(-LAW, LAW),
    ),
    Claim(
        "In practice the banded square root is on par with numerically optimised factorisations, without their "
        "computational cost",
        "abstract",
        "Prefix sums of 200 rounds have at most a tenth (a tolerance of ours) more noise with the banded square root "
        "than with numerically optimised bands",
        sums.SWEEP,
        excess,
        inside(high=ON_PAR),
    ),
    # ---- Ours ----
    *(
        ours(f"{text} at every proven epsilon", digits.SWEEP, accuracy, ahead(first, second))
        for text, first, second in (
            ("Users who take turns are served better than by the published queue", digits.CYCLIC, digits.QUEUE),
            ("With users in turn banded noise is more accurate than independent noise", digits.BANDED, digits.CYCLIC),
        )
    ),
]
