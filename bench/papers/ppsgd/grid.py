"""What the sweeps of Bietti et al. 2022 have in common: the personalisation swept, local learning once, and what stands
beside the published grid."""

import math
from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from bench.algorithms import ALGORITHMS
from bench.sweeps.spec import Entry, Sweep, grid

PERSONALIZATION = [0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, math.inf]


def once_for_local(points: pd.DataFrame, clip_norm: float) -> pd.DataFrame:
    """Local learning (a = 0) releases nothing: neither noise nor clipping touch it, so it needs one of each.

    That one has no noise, and this clipping norm; of points without it the smallest that they have.
    """
    local = points["personalization"] == 0
    norms = points["clip_norm"]
    norm = clip_norm if (norms == clip_norm).any() else norms.min()
    points = points.assign(noise_multiplier=points["noise_multiplier"].mask(local, 0.0))
    return points[~local | (norms == norm)]


def with_learning_alone(sweep: Sweep, step_sizes: list[float], num_steps: int) -> Sweep:
    """Return the sweep with an entry of users who learn alone for so many steps, not only in the rounds that draw them.

    Not in the paper, whose local learning (a = 0) takes as few steps as the others do.
    """
    points = grid(step_size=step_sizes, batch_size=10, local="dual")
    local = Entry(ALGORITHMS["local_learning"], points, num_rounds=num_steps, eval_every=max(num_steps // 10, 1))
    return sweep._replace(entries={**sweep.entries, "Learning alone": local})


def with_further_steps(
    sweep: Sweep,
    *,
    noisy: float,
    smaller: Sequence[float],
    shared: float = math.inf,
    larger: Sequence[float] = (),
    prefix: str = "",
) -> Sweep:
    """The sweep, and beside it PPSGD with step sizes beyond the published ones, where those end before the best.

    Args:
        sweep: whose PPSGD has the published step sizes.
        noisy: the noise multiplier from which smaller step sizes are tried.
        smaller: step sizes below the published ones.
        shared: the personalisation from which larger step sizes are tried where there is less noise.
        larger: step sizes above the published ones.
        prefix: of the free columns that stand for personalisation and step size.
    """
    published, ratio, step = sweep.entries["PPSGD"], f"{prefix}personalization", f"{prefix}step_size"
    settings = published.free.drop(columns=step).drop_duplicates()
    settings = settings[settings[ratio] > 0]
    weak = settings["noise_multiplier"] < noisy
    free = pd.concat(
        [
            settings[~weak].merge(grid(**{step: smaller}), how="cross"),
            settings[weak & (settings[ratio] >= shared)].merge(grid(**{step: larger}), how="cross"),
        ],
        ignore_index=True,
    )
    further = replace(published, free=free[list(published.free)], widens=True)
    return sweep._replace(entries={**sweep.entries, "PPSGD, further step sizes": further})
