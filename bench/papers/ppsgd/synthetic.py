"""The experiments of Bietti et al. 2022 on the synthetic stream (section 6, Figure 1a), and smaller scales."""

import math
from functools import partial

import pandas as pd

from bench.algorithms import ALGORITHMS
from bench.data.tasks.synthetic import synthetic
from bench.papers.ppsgd.grid import PERSONALIZATION, once_for_local
from bench.sweeps.spec import Entry, Sweep, grid, thin


def _completed(points: pd.DataFrame) -> pd.DataFrame:
    """Return the points with their tasks, local learning once."""
    points = once_for_local(points, clip_norm=10.0)
    return points.assign(task=points["delta_std"].map("synthetic_{:g}".format))


def ppsgd_synthetic(scale: str) -> Sweep:
    """Figure 1a: excess risk against rounds on the synthetic stream, everybody in every round.

    Both values of delta_std: 0.01 is the paper's, 0.1 the default of the authors' program. 1,000 rounds, where
    the program's default is 300, since the claims need them.
    """
    points = grid(
        delta_std=[0.01, 0.1],
        personalization=PERSONALIZATION,
        clip_norm=[0.1, 1.0, 10.0, 100.0],
        noise_multiplier=[0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0],
        step_size=[0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0, 1.2, 1.5, 1.8],
        num_sampled=1000,
        batch_size=10,
        sampler="all",
    )
    paper = Sweep(
        name="ppsgd_synthetic",
        reproduces="Bietti et al. 2022, Figure 1a",
        tasks={f"synthetic_{std:g}": partial(synthetic, delta_std=std) for std in (0.01, 0.1)},
        entries={"PPSGD": Entry(ALGORITHMS["ppsgd"], points, complete=_completed)},
        num_rounds=1000,
        eval_every=10,
        delta=1e-4,
        seeds=5,
        notes="the paper gives neither T nor the panels' sigma; delta_std differs between paper and program",
    )
    laptop = thin(
        paper,
        keep={
            "clip_norm": [10.0],
            "personalization": [0.0, 0.3, 1.0, 3.0, math.inf],
            "noise_multiplier": [0.0, 1.0, 3.0, 10.0, 30.0, 100.0],
        },
    )
    smoke = thin(
        laptop,
        keep={"noise_multiplier": [0.0, 1.0, 10.0], "step_size": [0.1, 0.4, 1.0, 1.5, 1.8]},
        num_rounds=200,
        seeds=3,
    )
    return {"paper": paper, "laptop": laptop, "smoke": smoke}[scale]


def ppsgd_longer(scale: str) -> Sweep:
    """Figure 1a without noise at the paper's own delta_std, for four times as many rounds.

    Users differ ten times less than at delta_std 0.1, so the floor of global learning is a hundred times lower, and
    1,000 rounds are too few for the others to reach it.
    """
    sweep = ppsgd_synthetic("laptop" if scale == "smoke" else scale)
    keep = {"delta_std": [0.01], "noise_multiplier": [0.0], "clip_norm": [10.0]}
    longer = thin(
        sweep._replace(
            name="ppsgd_longer",
            reproduces="Bietti et al. 2022, Figure 1a, continued (not in the paper)",
            notes="the paper does not give its number of rounds, and its delta_std is not its program's",
        ),
        keep=keep,
        num_rounds=4000,
        eval_every=40,
    )
    if scale == "smoke":
        return thin(longer, keep={"step_size": [0.4, 1.0, 1.8]}, num_rounds=200, seeds=1)
    return longer
