"""Experiments on the theory of Bietti et al. 2022: the bound of Theorem 4.5, and users of unequal size."""

import math
from functools import cache, partial

import numpy as np
import pandas as pd

from bench.algorithms import ALGORITHMS
from bench.data.problems.bounded import bounded
from bench.privacy.accounting import noise_multiplier
from bench.privacy.events import gaussian_readings
from bench.sweeps.derived import closed
from bench.sweeps.ppsgd_grid import PERSONALIZATION, once_for_local, with_local_once
from bench.sweeps.spec import Entry, Sweep, grid, thin
from bench.theory import ppsgd as theory

DELTA = 1e-4
NUM_CLIENTS, NUM_FEATURES, LABEL_NOISE = 200, 10, 0.5
CLIP_NORM = 5.0  # more than a gradient's norm at any time, so that nothing is clipped; the results hold the share
SMOOTHNESS = 2.0  # 2 R^2


@cache
def _noise(target: float, num_rounds: int) -> float:
    """sigma with which everybody's num_rounds releases cost the target; 0 for inf."""
    if math.isinf(target):
        return 0.0

    def release(sigma):
        readings = gaussian_readings(
            noise_multiplier=sigma,
            num_clients=NUM_CLIENTS,
            num_sampled=NUM_CLIENTS,
            sampler="all",
            max_participations=num_rounds,
            delta=DELTA,
        )
        return readings["paper"]

    return noise_multiplier(target, release, num_rounds)


def _under_the_theorem(num_rounds: int, targets: list[float]) -> pd.DataFrame:
    """Points of Algorithm 1 with the step of Theorem 4.5, and its bound, for every alpha N and budget."""
    rows = []
    for target in targets:
        sigma = _noise(target, num_rounds)
        noise_std = sigma * CLIP_NORM / NUM_CLIENTS
        for a in PERSONALIZATION:
            alpha = a / NUM_CLIENTS
            promised = theory.everybody(
                alpha,
                num_clients=NUM_CLIENTS,
                num_rounds=num_rounds,
                smoothness=SMOOTHNESS,
                norm=theory.minimal_norm(1.0, alpha, NUM_CLIENTS),
                variance_w=LABEL_NOISE**2,
                variance_local=LABEL_NOISE**2,
                dimension=NUM_FEATURES,
                noise_std=noise_std,
            )
            rows.append(
                {
                    "target_epsilon": target,
                    "personalization": a,
                    "step_size": max(promised.step_w, promised.step_local / NUM_CLIENTS),
                    "noise_multiplier": sigma,
                    "bound": promised.bound,
                    "local_is_better": float(
                        theory.local_is_better(NUM_CLIENTS, LABEL_NOISE**2, NUM_FEATURES, noise_std)
                    ),
                }
            )
    fixed = {"clip_norm": CLIP_NORM, "num_sampled": NUM_CLIENTS, "batch_size": 1, "sampler": "all", "average": True}
    return pd.DataFrame(rows).assign(samples=num_rounds, **fixed)


def _entry(num_rounds: int) -> Entry:
    """So many rounds; step, noise and bound are computed together, for these points and no others."""
    points = _under_the_theorem(num_rounds, [3.0, 10.0, math.inf])
    return Entry(ALGORITHMS["ppsgd"], points, num_rounds=num_rounds, derived=closed(points))


def ppsgd_theory(scale: str) -> Sweep:
    """Excess risk of Algorithm 1's average iterate on users that are alike, under the bound of Theorem 4.5."""
    numbers = [10, 30, 100, 300, 1000, 3000, 10_000] if scale != "smoke" else [10, 30, 100]
    paper = Sweep(
        name="ppsgd_theory",
        reproduces="Bietti et al. 2022, Theorem 4.5 and Lemma 4.6",
        tasks={
            "bounded": partial(bounded, num_clients=NUM_CLIENTS, num_features=NUM_FEATURES, label_noise=LABEL_NOISE)
        },
        entries={f"PPSGD, n = {n}": _entry(n) for n in numbers},
        num_rounds=numbers[-1],
        eval_every=None,
        delta=DELTA,
        seeds=40 if scale != "smoke" else 2,
        notes="the paper has no experiment on its theorems",
    )
    return paper


RATE = 0.1


def ppsgd_sampling(scale: str) -> Sweep:
    """Section 5: Algorithms 1, 2 and 3 on users who bring 1 to 20 examples to a round, sampled two ways.

    All see the same number of examples in expectation: where everybody takes part there are fewer rounds. Clipping
    norms are of the size of the gradients: of means for Algorithms 1 and 3, of sums for Algorithm 2.
    """
    num_rounds, largest = 500, 20
    points = grid(
        personalization=[0.0, 0.3, 1.0, 3.0, 10.0, math.inf],
        noise_multiplier=[0.0, 0.3, 1.0, 3.0, 10.0, 30.0],
        step_size=[0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0],
        clip_norm=[1.0, 3.0],
        batch_size=largest,
    )
    points = once_for_local(points, clip_norm=1.0)
    sampled = round(RATE * NUM_CLIENTS)
    method = ALGORITHMS["ppsgd"]
    everybody = points.assign(num_sampled=NUM_CLIENTS, sampler="all", reduce="mean")
    once = with_local_once(1.0)
    entries = {"Algorithm 1": Entry(method, everybody, num_rounds=round(RATE * num_rounds), derived=once)}
    for sampler in ("poisson", "fixed"):
        some = points.assign(num_sampled=sampled, sampler=sampler)
        sums = some.assign(reduce="sum", clip_norm=some["clip_norm"] * largest / 4)
        entries[f"Algorithm 2, {sampler}"] = Entry(method, sums, derived=with_local_once(largest / 4))
        entries[f"Algorithm 3, {sampler}"] = Entry(method, some.assign(reduce="mean"), derived=once)
    paper = Sweep(
        name="ppsgd_sampling",
        reproduces="Bietti et al. 2022, section 5",
        tasks={"bounded_unequal": partial(bounded, num_clients=NUM_CLIENTS, largest=largest, spread=0.3)},
        entries=entries,
        num_rounds=num_rounds,
        eval_every=None,
        delta=DELTA,
        seeds=5,
        notes="the paper has no experiment on users of unequal size",
    )
    small = {"step_size": [0.03, 0.3], "noise_multiplier": [0.0, 1.0], "clip_norm": np.unique([1.0, 5.0])}
    return thin(paper, keep=small, seeds=2) if scale == "smoke" else paper
