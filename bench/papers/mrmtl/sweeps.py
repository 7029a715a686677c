"""The experiment of Liu, Hu, Wu and Smith 2022 on School (Figure 3c) over lambda and epsilon, and smaller scales."""

import math
from functools import cache

import pandas as pd

from bench.algorithms import ALGORITHMS
from bench.data.tasks import school
from bench.privacy.accounting import noise_multiplier
from bench.privacy.events import full_gaussian
from bench.sweeps.spec import Entry, Sweep, grid, thin

DELTA = 1e-3
ROUNDS = 201  # the authors' program counts from 0 to 200
EPSILONS = [0.5, 1.0, 3.0, 6.0]
LAMBDAS = [0.1, 0.3, 1.0, 3.0, 10.0]
STEPS = [0.001, 0.003, 0.01]  # the last is that of the published numbers
BATCH_SIZE = 32
# The silos' noise follows from that of a silo that uses all its records in every step, which is off by less than this
# for all sizes from 17 to 200 (see `silo_noise`): with so much more of it, every silo keeps within epsilon.
MORE = 1.01


@cache
def noise(epsilon: float) -> float:
    """sigma with which every silo keeps within epsilon by Renyi DP, as the authors count; 0 for inf."""
    if math.isinf(epsilon):
        return 0.0
    return MORE * noise_multiplier(epsilon, lambda sigma: full_gaussian(sigma, accountant="rdp", delta=DELTA), ROUNDS)


def _completed(points: pd.DataFrame) -> pd.DataFrame:
    """Return the points with their noise, which was found for the batches of the authors' program."""
    noises = [noise(epsilon) for epsilon in points["target_epsilon"]]
    return points.assign(batch_size=BATCH_SIZE, noise_multiplier=noises)


def mrmtl_school(scale: str) -> Sweep:
    """MR-MTL by lambda and epsilon, compared with FedAvg and private local learning, with shuffled batches or Poisson
    samples.

    Steps, batches, clipping, rounds, delta and five random splits are as in the authors' program; FedAvg and local
    learning take the same. Poisson samples, which are not in the paper, have the published step alone.
    """
    shuffled = grid(target_epsilon=EPSILONS, sampler="shuffled", step_size=STEPS)
    cells = pd.concat([shuffled, grid(target_epsilon=EPSILONS, sampler="poisson", step_size=STEPS[-1])])

    def entry(start: str, lambdas: list[float]) -> Entry:
        free = cells.merge(grid(start=start, regularization=lambdas, clip_norm=1.0), how="cross")
        return Entry(ALGORITHMS["mr_mtl"], free, complete=_completed, computed=("noise_multiplier",))

    paper = Sweep(
        name="mrmtl_school",
        reproduces="Liu, Hu, Wu and Smith 2022, Figure 3c (School)",
        tasks={"school": school.school},
        entries={"MR-MTL": entry("own", LAMBDAS), "FedAvg": entry("mean", [0.0]), "Local": entry("own", [0.0])},
        num_rounds=lambda task, args: ROUNDS,
        eval_every=None,
        delta=DELTA,
        seeds=5,
        notes="noise for epsilon as if shuffled batches were Poisson samples, as the authors count it",
        task_labels=("target_epsilon",),
    )
    keep = {"regularization": [0.0, 1.0], "target_epsilon": [6.0], "sampler": ["poisson"], "step_size": [0.01]}
    smoke = thin(paper, keep=keep, seeds=1, tasks={"made_up_schools": school.made_up_schools})
    return {"paper": paper, "laptop": paper, "smoke": smoke}[scale]


SWEEPS = {"mrmtl_school": mrmtl_school}
