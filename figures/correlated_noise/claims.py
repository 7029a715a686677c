"""Claims on noise that is correlated over rounds, and their checks."""

from collections.abc import Callable

import pandas as pd

from bench.analysis.select import REPETITION, half_width
from figures.correlated_noise import digits, sums
from figures.shared.margins import every, paired, within
from figures.shared.verdicts import Claim, NotTestable, Verdict, spread, verdict

LAW = 0.01  # relative difference below which a ratio counts as the law's; four times the spread of a repetition
ON_PAR = 0.1  # relative excess up to which a ratio counts as on par
POINTS = "points of test accuracy"


def follows_the_law(noise: str) -> Callable[[pd.DataFrame], Verdict]:
    """Return a check that the noise in prefix sums is reduced by the ratio that follows from the matrices."""

    def check(runs: pd.DataFrame) -> Verdict:
        rows = sums.ratios(runs).query("noise == @noise")
        if len(rows) < 2:
            raise NotTestable(f"fewer than two runs with noise {noise}")
        off = rows["ratio"] / rows["law"] - 1
        margin = within(off.mean(), half_width(off.std(ddof=1), len(off)), len(off), LAW, "of the predicted ratio")
        return verdict(margin, f"{spread(rows['ratio'], '.4f')}, by the matrices {rows['law'].iloc[0]:.4f}")

    return check


def on_par(runs: pd.DataFrame) -> Verdict:
    """Return whether the square root's prefix sums have at most a tenth more noise than the best bands'."""
    rows = sums.ratios(runs).set_index(REPETITION)
    root, best = (rows.loc[rows["noise"] == noise, "ratio"] for noise in ("banded_sqrt", "banded"))
    more = (root / best - 1).dropna()
    if more.empty:
        raise NotTestable("no repetition has both")
    return verdict(paired(ON_PAR - more, "of the noise"), f"{spread(100 * more, '.2f')} % more noise")


def ahead(first: str, second: str) -> Callable[[pd.DataFrame], Verdict]:
    """Return a check that the first is more accurate than the second at every proven epsilon."""

    def check(runs: pd.DataFrame) -> Verdict:
        best, margins, words = digits.tuned(runs), [], []
        for level, rows in best.groupby("level", sort=True):
            mine, other = (rows[rows["algorithm"] == name].set_index(REPETITION) for name in (first, second))
            gain = 100 * (mine["test_accuracy"] - other["test_accuracy"]).dropna()
            if gain.empty:
                raise NotTestable(f"no repetition has both at noise level {level:g}")
            edges = [f"{name}: {side['edge'].iloc[0]}" for name, side in ((first, mine), (second, other))]
            at = f"epsilon {mine['epsilon_worst_case'].mean():.3g}"
            margins.append(paired(gain, POINTS).on(*(edge for edge in edges if not edge.endswith(": "))).named(at))
            words.append(f"{at}: {spread(gain, '.1f')}")
        return verdict(every(margins), "; ".join(words))

    return check


RATIO = "Root mean square of the model over rounds relative to independent noise, within 1 % of what the matrices give"
ACCURACY = "Final test accuracy, step size by held-out accuracy, by repetition, at every proven epsilon that was run"
CLAIMS = [
    Claim(
        "Sixteen bands of the square root leave .348 of the noise in prefix sums",
        "Theorem 2",
        sums.SWEEP,
        follows_the_law("banded_sqrt"),
        RATIO,
        statement="The banded square root has its coefficients and its sensitivity in closed form, which fix the noise "
        "of prefix sums",
    ),
    Claim(
        "The banded square root, in closed form, is on par with numerically optimised bands",
        "abstract",
        sums.SWEEP,
        on_par,
        "Its prefix sums of 200 rounds have at most a tenth more noise (a tolerance of ours), by repetition",
        statement="In practice the banded square root is on par with numerically optimised factorisations, without "
        "their computational cost",
    ),
    Claim(
        "The best sixteen bands leave .332",
        "",
        sums.SWEEP,
        follows_the_law("banded"),
        RATIO,
        ours=True,
    ),
    Claim(
        "Four buffers leave .352, and tree sums .683",
        "",
        sums.SWEEP,
        lambda runs: _both(follows_the_law("blt")(runs), follows_the_law("tree")(runs)),
        RATIO,
        ours=True,
    ),
    Claim(
        "Users who take turns are served better than by the published queue at equal proven epsilon",
        "",
        digits.SWEEP,
        ahead(digits.CYCLIC, digits.QUEUE),
        ACCURACY,
        ours=True,
    ),
    Claim(
        "Banded noise is more accurate than independent noise at equal epsilon, users in turn",
        "",
        digits.SWEEP,
        ahead(digits.BANDED, digits.CYCLIC),
        ACCURACY,
        ours=True,
    ),
]


def _both(first: Verdict, second: Verdict) -> Verdict:
    assert first.margin is not None
    assert second.margin is not None
    margins = [first.margin.named("four buffers"), second.margin.named("tree")]
    return verdict(every(margins), f"{first.evidence}; {second.evidence}")
