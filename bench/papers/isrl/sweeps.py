"""The experiments of Gao et al. 2024 (section 4), further ones on claims that they do not test, and smaller scales."""

from functools import partial

import numpy as np
import pandas as pd

from bench.algorithms import ALGORITHMS
from bench.algorithms.parts.silos import total_rounds
from bench.data.tasks import odd_even
from bench.papers.isrl import noise, rounds
from bench.papers.isrl.noise import EXACT, PUBLISHED, budgets
from bench.sweeps.spec import Entry, Sweep, grid, thin

TRIALS = 20  # draws of the data; separating the methods at every epsilon takes more than the paper's 5
EPSILONS = [0.75, 1.5, 3.0, 6.0, 12.0, 18.0]
ANSWERING = [25, 18]  # silos that answer in a round: all of them, and one of the values in the authors' programs
DELTA = 1 / odd_even.NUM_RECORDS**2
STEPS = [float(f"{step:.3g}") for step in np.geomspace(1, 1000, 16)]
ROUNDS = [1, 2, 3, 4, 5, 7, 10, 14, 20, 28, 35, 50]
PHASE_ROUNDS = [1, 2, 3, 5, 10, 20]

with_noise = partial(noise.with_noise, delta=DELTA)


def _in_equal_search(points: pd.DataFrame) -> pd.DataFrame:
    """Return the points of a method without phases, with their noise."""
    return with_noise(points.assign(search="equal"))


def _searched(points: pd.DataFrame) -> pd.DataFrame:
    """Return the points of the localized method that are no repetitions, each in the search that it belongs to."""
    repeated = points["step_size"] * points["regularization"] > 1  # longer steps are cut to this: the same runs
    wide = points["step_size"].isin(STEPS[5::2]) | (points["regularization"] == 0)
    points = points.assign(search=np.where(wide, "wide", "equal"))
    return with_noise(points[~repeated & ~(wide & (points["calibration"] == EXACT))])


def isrl_odd_even(scale: str) -> Sweep:
    """Figures 2 and 3: test error against epsilon, MNIST odd/even in 25 silos, with and without unreliable silos.

    One-pass MB-SGD, the baseline; localized MB-SGD, as plotted; and multi-pass MB-SGD, which has the passes of the
    second without its phases. Equally many grid points each (`search` "equal"); "wide" has more of them for the
    localized one. The paper searches step sizes and says no more, so the rest of the grid is a choice.
    """
    everywhere = budgets(EPSILONS, [PUBLISHED, EXACT]).merge(grid(num_sampled=ANSWERING, clip_norm=1.0), how="cross")
    plain = everywhere.merge(grid(phase_rounds=ROUNDS, step_size=STEPS), how="cross")
    phases = grid(num_phases=[2, 3], phase_rounds=PHASE_ROUNDS, regularization=[1e-4, 1e-3, 1e-2], step_size=STEPS[4:])
    longest = [*STEPS[4::2], STEPS[-1]]
    without = grid(num_phases=[1, 2, 3], phase_rounds=PHASE_ROUNDS, regularization=0.0, step_size=longest)
    phases = everywhere.merge(pd.concat([phases, without], ignore_index=True), how="cross")
    sgd, noise = ALGORITHMS["minibatch_sgd"], ("noise_multiplier",)
    paper = Sweep(
        name="isrl_odd_even",
        reproduces="Gao et al. 2024, Figures 2 and 3 (MNIST odd/even)",
        tasks={"odd_even_published": odd_even.odd_even},
        entries={
            "One-pass MB-SGD": Entry(sgd, plain.assign(sampler="once"), complete=_in_equal_search, computed=noise),
            "Multi-pass MB-SGD": Entry(sgd, plain.assign(sampler="all"), complete=_in_equal_search, computed=noise),
            "Localized MB-SGD": Entry(
                ALGORITHMS["localized"], phases, complete=_searched, computed=("noise_multiplier", "search")
            ),
        },
        num_rounds=total_rounds,
        eval_every=None,
        delta=DELTA,
        seeds=3,
        trials=TRIALS,
        notes="the paper does not state rounds, phases, regularisation, noise formula or clipping; it has 5 trials",
    )
    smoke = thin(
        paper,
        keep={
            "target_epsilon": [0.75, 3.0, 18.0],
            "num_phases": [2],
            "phase_rounds": [10],
            "regularization": [1e-4],
            "step_size": STEPS[6::4],
        },
        seeds=2,
        trials=2,
    )
    return {"paper": paper, "laptop": paper, "smoke": smoke}[scale]


SMOOTHED_ROUNDS = [5, 10, 20, 50]
SUBGRADIENT_ROUNDS = [10, 20, 50, 100, 200, 400]  # subgradient steps converge slowly, but are cheap
SMOOTHED_STEPS = [*STEPS[2::2], 1580.0]
RADII = [0.03, 0.3, 3.0]  # around the theorems' values for w* some 40 from 0, see the tests
SMOOTHNESSES = [5.0, 50.0, 500.0]  # the same


def isrl_nonsmooth(scale: str) -> Sweep:
    """Return the three localized methods for losses that are not smooth, on the hinge loss: subgradients (Algorithm 4),
    convolution smoothing (Algorithm 6), Moreau envelopes (Theorem 3.1). All have equally many grid points and exact
    calibration.
    """
    everywhere = budgets(EPSILONS, [EXACT])
    phases = grid(num_phases=2, regularization=[1e-4, 1e-3], num_sampled=25, clip_norm=1.0)
    plain = phases.merge(grid(phase_rounds=SUBGRADIENT_ROUNDS, step_size=STEPS), how="cross")
    half = phases.merge(grid(phase_rounds=SMOOTHED_ROUNDS, step_size=SMOOTHED_STEPS), how="cross")

    def entry(points, **columns):
        free = everywhere.merge(points.assign(**columns), how="cross")
        return Entry(ALGORITHMS["localized"], free, complete=with_noise, computed=("noise_multiplier",))

    smoothed = {"solver": "accelerated"}
    paper = Sweep(
        name="isrl_nonsmooth",
        reproduces="Gao et al. 2024, Theorems 3.1, 3.4 and D.5, measured (hinge loss; not in the paper)",
        tasks={"odd_even_hinge": odd_even.odd_even_hinge},
        entries={
            "Subgradients": entry(plain, solver="subgradient"),
            "Convolution": entry(
                half.merge(grid(smoothing_radius=RADII), how="cross"), smoothing="convolution", **smoothed
            ),
            "Moreau envelopes": entry(
                half.merge(grid(moreau_smoothness=SMOOTHNESSES), how="cross"), smoothing="moreau", **smoothed
            ),
        },
        num_rounds=total_rounds,
        eval_every=None,
        delta=DELTA,
        seeds=1,
        trials=TRIALS,
        notes="the paper has no experiment with a loss that is not smooth",
    )
    smoke = thin(
        paper,
        keep={
            "target_epsilon": [0.75, 18.0],
            "phase_rounds": [10],
            "regularization": [1e-4],
            "step_size": STEPS[6::4],
            "smoothing_radius": RADII[1:2],
            "moreau_smoothness": SMOOTHNESSES[1:2],
        },
        trials=2,
    )
    return {"paper": paper, "laptop": paper, "smoke": smoke}[scale]


SWEEPS = {
    "isrl_odd_even": isrl_odd_even,
    "isrl_nonsmooth": isrl_nonsmooth,
    "isrl_rounds": rounds.isrl_rounds,
    "isrl_heterogeneity": rounds.isrl_heterogeneity,
}
