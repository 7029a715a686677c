"""Local noise, noise shared by neighbours (DECOR) and central noise at equal privacy, on three graphs (Allouah et al.
2024, on a smaller task).
"""

from functools import cache, partial

import numpy as np
import pandas as pd

from bench.algorithms import ALGORITHMS
from bench.data.tasks.gossip import ALL_IN_ONE, NUM_AGENTS, NUM_EXAMPLES, adjacency, gossip
from bench.errors import check_name
from bench.privacy.accounting import noise_multiplier
from bench.privacy.events import REPLACE, full_gaussian
from bench.privacy.pair_noise import hidden_from_one, hidden_from_outsiders
from bench.sweeps.spec import Entry, Sweep, grid, thin

DELTA = 1e-5
ROUNDS = 200
EPSILONS = [1.0, 3.0, 10.0]
STEPS = [0.03, 0.1, 0.3, 1.0, 3.0, 10.0]
RATIOS = [1.0, 3.0, 10.0, 30.0]
GRAPHS = {f"gossip_{graph}": graph for graph in ("ring", "grid", "complete")}
CENTRAL = f"gossip_{ALL_IN_ONE}"
HIDDEN = {
    "outsiders": hidden_from_outsiders,
    "one agent": hidden_from_one,
    "all other agents": lambda individual, adjacency, ratio: individual,  # who know all noise that is shared
}


@cache
def multiplier(epsilon: float) -> float:
    """Return the noise multiplier on one agent's sum with which all rounds cost epsilon, for whoever sees the sum."""
    return noise_multiplier(epsilon, lambda sigma: full_gaussian(sigma, neighbors=REPLACE, delta=DELTA), ROUNDS)


@cache
def hidden(task: str, ratio: float, against: str) -> float:
    """Return the least noise on any agent's sum for these adversaries, over the noise of an agent alone."""
    check_name("observer", against, HIDDEN)
    if not ratio:
        return 1.0
    return float(HIDDEN[against](np.ones(NUM_AGENTS), adjacency(GRAPHS[task]), ratio).min())


def _calibrated(points: pd.DataFrame) -> pd.DataFrame:
    cells = zip(points["task"], points["pair_noise_ratio"], points["against"], points["target_epsilon"], strict=True)
    sigmas = [multiplier(epsilon) / hidden(task, ratio, adversary) for task, ratio, adversary, epsilon in cells]
    return points.assign(noise_multiplier=sigmas)


def _calibrated_central(points: pd.DataFrame) -> pd.DataFrame:
    """Return the points with the noise of a sum over the points of all agents in every round."""
    sigmas = [multiplier(epsilon) for epsilon in points["target_epsilon"]]
    return points.assign(batch_size=NUM_AGENTS * NUM_EXAMPLES, sampler="all", noise_multiplier=sigmas)


def decor_noise(scale: str) -> Sweep:
    """Return one model of 16 agents with a given epsilon against the observers named in the column `against`.

    Central noise is that of a trusted party that has the points of all agents and takes the same steps along the mean
    of their clipped gradients: private learning alone of one silo, which uses all its points in every round. Its
    reading for a point replaced is "worst_case".
    """
    shared = {"target_epsilon": EPSILONS, "step_size": STEPS, "clip_norm": 1.0}

    def agents(ratios: list[float], against: str) -> Entry:
        free = grid(task=list(GRAPHS), pair_noise_ratio=ratios, against=against, **shared)
        return Entry(ALGORITHMS["dp_dsgd"], free, complete=_calibrated, computed=("noise_multiplier",))

    of_one = grid(task=CENTRAL, start="own", regularization=0.0, **shared)
    full = Sweep(
        name="decor_noise",
        reproduces="Allouah et al. 2024, local, shared and central noise, on a smaller task",
        tasks={name: partial(gossip, graph=graph) for name, graph in GRAPHS.items()}
        | {CENTRAL: partial(gossip, graph=ALL_IN_ONE)},
        entries={
            "Local noise": agents([0.0], "all other agents"),
            "DECOR, against outsiders": agents(RATIOS, "outsiders"),
            "DECOR, against one agent": agents(RATIOS, "one agent"),
            "Central noise": Entry(
                ALGORITHMS["mr_mtl"], of_one, complete=_calibrated_central, computed=("noise_multiplier",)
            ),
        },
        num_rounds=ROUNDS,
        eval_every=None,
        delta=DELTA,
        seeds=40,
        notes="one data point of one agent replaced; nothing is sampled",
        task_labels=("target_epsilon", "against"),
    )
    keep = {"task": ["gossip_ring", CENTRAL], "target_epsilon": [3.0], "step_size": [0.3, 1.0]}
    smoke = thin(full, keep=keep | {"pair_noise_ratio": [0.0, 3.0]}, seeds=2)
    return {"paper": full, "laptop": full, "smoke": smoke}[scale]


SWEEPS = {"decor_noise": decor_noise}
