"""What Gao et al. 2024 ran (section 4), what they claim without running it, and the smaller scales."""

import math

import numpy as np
import pandas as pd

from bench.algorithms import ALGORITHMS
from bench.algorithms.silos import total_rounds
from bench.data import odd_even
from bench.privacy.accounting import noise_multiplier
from bench.privacy.events import REPLACE, full_gaussian
from bench.sweeps.spec import Entry, Sweep, grid, thin
from bench.theory.isrl import zcdp_noise_multiplier

EPSILONS = [0.75, 1.5, 3.0, 6.0, 12.0, 18.0]
ANSWERING = [25, 18]  # silos that answer in a round: reliable, and one of the values in the authors' programs
DELTA = 1 / odd_even.NUM_RECORDS**2
STEPS = [float(f"{step:.3g}") for step in np.geomspace(1, 1000, 16)]
ROUNDS = [2, 3, 5, 7, 10, 20, 35, 50]
PUBLISHED, EXACT, SILENT = "published", "exact", "no noise"


def noise(epsilon: float, calibration: str, uses: int) -> float:
    """sigma for records that are used in so many rounds; sigma grows as sqrt(uses) by both calibrations."""
    if math.isinf(epsilon):
        return 0.0
    if calibration == PUBLISHED:
        return zcdp_noise_multiplier(epsilon, DELTA, rounds=uses)
    once = noise_multiplier(epsilon, lambda sigma: full_gaussian(sigma, neighbors=REPLACE, delta=DELTA), 1)
    return math.sqrt(uses) * once


def budgets(epsilons, calibrations) -> pd.DataFrame:
    """One row per target epsilon and way to calibrate, and one without noise."""
    silent = pd.DataFrame({"target_epsilon": [math.inf], "calibration": [SILENT]})
    return pd.concat([grid(target_epsilon=epsilons, calibration=calibrations), silent], ignore_index=True)


def with_noise(points: pd.DataFrame, uses) -> pd.DataFrame:
    """The points with their noise; `uses`: in how many rounds a record is used, a number or one for each point."""
    known = {}
    keys = list(zip(points["target_epsilon"], points["calibration"], np.broadcast_to(uses, len(points)), strict=True))
    for key in dict.fromkeys(keys):
        known[key] = noise(*key)
    return points.assign(noise_multiplier=[known[key] for key in keys], clip_norm=1.0)


def isrl_odd_even(scale: str) -> Sweep:
    """Figures 2 and 3: test error against epsilon, MNIST odd/even in 25 silos, with and without unreliable silos.

    One-pass MB-SGD, the baseline; localized MB-SGD, as plotted; and multi-pass MB-SGD, which has the passes of the
    second without its phases. 128 grid points each (`search` "equal"); "wide" has more of them for the localized one.
    The paper searches step sizes and says no more, so the rest of the grid is a choice.
    """
    everywhere = budgets(EPSILONS, [PUBLISHED, EXACT]).merge(grid(num_sampled=ANSWERING), how="cross")
    plain = everywhere.merge(grid(phase_rounds=ROUNDS, step_size=STEPS, search="equal"), how="cross")
    phases = grid(num_phases=[2, 3], phase_rounds=[3, 5, 10, 20], regularization=[1e-4, 1e-3], step_size=STEPS)
    phases["search"] = np.where(phases["step_size"].isin(STEPS[::2]), "equal", "wide")
    without = grid(num_phases=[1, 2, 3], phase_rounds=[3, 5, 10, 20], regularization=0.0, step_size=STEPS[::2])
    phases = everywhere.merge(pd.concat([phases, without.assign(search="wide")], ignore_index=True), how="cross")
    phases = phases[(phases["search"] == "equal") | (phases["calibration"] != EXACT)].reset_index(drop=True)
    paper = Sweep(
        name="isrl_odd_even",
        reproduces="Gao et al. 2024, Figures 2 and 3 (MNIST odd/even)",
        tasks={"odd_even": odd_even.odd_even},
        entries={
            "One-pass MB-SGD": Entry(ALGORITHMS["minibatch_sgd"], with_noise(plain.assign(sampler="once"), 1)),
            "Multi-pass MB-SGD": Entry(
                ALGORITHMS["minibatch_sgd"], with_noise(plain.assign(sampler="all"), plain["phase_rounds"])
            ),
            "Localized MB-SGD": Entry(ALGORITHMS["localized"], with_noise(phases, phases["phase_rounds"])),
        },
        num_rounds=total_rounds,
        eval_every=None,
        delta=DELTA,
        seeds=3,
        trials=5,
        notes="rounds, phases, regularisation, noise formula and clipping are not in the paper's text",
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
