"""Experiments on the theory of Bietti et al. 2022: bounds on risks, and users of unequal size."""

import math
from collections.abc import Callable
from functools import cache, partial

import numpy as np
import pandas as pd

from bench.algorithms import ALGORITHMS
from bench.data.tasks.bounded import bounded, examples_of_users
from bench.papers.ppsgd import theory
from bench.papers.ppsgd.grid import PERSONALIZATION, once_for_local
from bench.privacy.accounting import noise_multiplier
from bench.privacy.events import gaussian_readings
from bench.sweeps.spec import Entry, Sweep, grid, thin

NUM_CLIENTS, NUM_FEATURES, LABEL_NOISE, CLIP_NORM, DELTA = theory.Measured()
SMOOTHNESS = 2.0  # 2 R^2
FREE = grid(target_epsilon=[3.0, 10.0, math.inf], personalization=PERSONALIZATION)
MADE = ("step_size", "noise_multiplier", "bound", "local_is_better")


@cache
def _noise(target: float, num_rounds: int, num_sampled: int, sampler: str) -> float:
    """sigma with which num_rounds releases over so many users cost the target; 0 for inf."""
    if math.isinf(target):
        return 0.0

    def release(sigma):
        readings = gaussian_readings(
            noise_multiplier=sigma,
            num_clients=NUM_CLIENTS,
            num_sampled=num_sampled,
            sampler=sampler,
            max_participations=num_rounds,
            delta=DELTA,
        )
        return readings["paper"]

    return noise_multiplier(target, release, num_rounds)


def _under_a_theorem(
    points: pd.DataFrame, num_rounds: int, guarantee: Callable[..., theory.Guarantee], divisor: float, **fixed
) -> pd.DataFrame:
    """Return the points with the noise for their budget, the step of a theorem, and its bound.

    Args:
        points: their target_epsilon and personalization.
        num_rounds: of the whole budget.
        guarantee: alpha and keywords that all three theorems have -> step and bound.
        divisor: D, of the noisy sum over users; alpha D is the personalisation.
        fixed: further arguments, among them clip_norm, num_sampled and sampler.
    """
    rows = []
    for target, a in points[["target_epsilon", "personalization"]].itertuples(index=False):
        sigma = _noise(target, num_rounds, fixed["num_sampled"], fixed["sampler"])
        noise_std, alpha = sigma * fixed["clip_norm"] / divisor, a / divisor
        promised = guarantee(
            alpha,
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
                "step_size": max(promised.step_w, promised.step_local / divisor),
                "noise_multiplier": sigma,
                "bound": promised.bound,
                "local_is_better": float(theory.local_is_better(NUM_CLIENTS, LABEL_NOISE**2, NUM_FEATURES, noise_std)),
            }
        )
    return pd.DataFrame(rows).assign(samples=num_rounds, average=True, **fixed)


def _entry(num_rounds: int) -> Entry:
    """So many rounds; step, noise and bound follow from alpha and the budget."""
    complete = partial(
        _under_a_theorem,
        num_rounds=num_rounds,
        guarantee=partial(theory.everybody, num_clients=NUM_CLIENTS),
        divisor=NUM_CLIENTS,
        clip_norm=CLIP_NORM,
        num_sampled=NUM_CLIENTS,
        batch_size=1,
        sampler="all",
    )
    return Entry(ALGORITHMS["ppsgd"], FREE, num_rounds, complete=complete, computed=MADE)


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


RATE, LARGEST = 0.1, 20  # q, and the most examples that a user brings to a round


def _sampled_entry(num_rounds: int, reduce: str) -> Entry:
    """So many rounds of Algorithm 2, which sums a user's gradients, or of Algorithm 3, which averages them."""
    sizes = examples_of_users(NUM_CLIENTS, LARGEST)
    guarantee, weight, largest = {
        "sum": (theory.weighted, sizes.sum(), LARGEST),
        "mean": (theory.averaged, NUM_CLIENTS, 1),
    }[reduce]
    complete = partial(
        _under_a_theorem,
        num_rounds=num_rounds,
        guarantee=partial(guarantee, sizes=sizes, rate=RATE),
        divisor=RATE * float(weight),
        clip_norm=largest * CLIP_NORM,
        num_sampled=round(RATE * NUM_CLIENTS),
        batch_size=LARGEST,
        sampler="poisson",
        reduce=reduce,
    )
    return Entry(
        ALGORITHMS["ppsgd"],
        FREE,
        num_rounds,
        complete=lambda points: complete(points).drop(columns="local_is_better"),  # Lemma 4.6 is on Theorem 4.5
        computed=MADE,
    )


def ppsgd_sampled_theory(scale: str) -> Sweep:
    """Excess risk of the average iterate with Poisson sampling of users of unequal size, under the bounds of Theorems
    5.2 (Algorithm 2, weighted risk) and B.4 (Algorithm 3, average risk).
    """
    numbers = [100, 300, 1000, 3000, 10_000] if scale != "smoke" else [100, 300]
    unequal = partial(
        bounded, num_clients=NUM_CLIENTS, num_features=NUM_FEATURES, label_noise=LABEL_NOISE, largest=LARGEST
    )
    return Sweep(
        name="ppsgd_sampled_theory",
        reproduces="Bietti et al. 2022, Theorems 5.2 and B.4",
        tasks={"bounded_unequal": unequal},
        entries={
            f"{name}, T = {number}": _sampled_entry(number, reduce)
            for name, reduce in (("Algorithm 2", "sum"), ("Algorithm 3", "mean"))
            for number in numbers
        },
        num_rounds=numbers[-1],
        eval_every=None,
        delta=DELTA,
        seeds=20 if scale != "smoke" else 2,
        notes="the paper has no experiment on its theorems",
    )


def ppsgd_sampling(scale: str) -> Sweep:
    """Section 5: Algorithms 1, 2 and 3 on users who bring 1 to 20 examples to a round, sampled two ways.

    All see the same number of examples in expectation: where everybody takes part there are fewer rounds. Clipping
    norms are of the size of the gradients: of means for Algorithms 1 and 3, of sums for Algorithm 2.
    """
    num_rounds = 500
    points = grid(
        personalization=[0.0, 0.3, 1.0, 3.0, 10.0, math.inf],
        noise_multiplier=[0.0, 0.3, 1.0, 3.0, 10.0, 30.0],
        step_size=[0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0],
        clip_norm=[1.0, 3.0],
        batch_size=LARGEST,
    )
    sampled = round(RATE * NUM_CLIENTS)
    method = ALGORITHMS["ppsgd"]
    everybody = points.assign(num_sampled=NUM_CLIENTS, sampler="all", reduce="mean")
    complete = partial(once_for_local, clip_norm=1.0)
    entries = {"Algorithm 1": Entry(method, everybody, num_rounds=round(RATE * num_rounds), complete=complete)}
    for sampler in ("poisson", "fixed"):
        sampled_points = points.assign(num_sampled=sampled, sampler=sampler)
        sums = sampled_points.assign(reduce="sum", clip_norm=sampled_points["clip_norm"] * LARGEST / 4)
        entries[f"Algorithm 2, {sampler}"] = Entry(
            method, sums, complete=partial(once_for_local, clip_norm=LARGEST / 4)
        )
        entries[f"Algorithm 3, {sampler}"] = Entry(method, sampled_points.assign(reduce="mean"), complete=complete)
    paper = Sweep(
        name="ppsgd_sampling",
        reproduces="Bietti et al. 2022, section 5",
        tasks={"bounded_unequal": partial(bounded, num_clients=NUM_CLIENTS, largest=LARGEST, spread=0.3)},
        entries=entries,
        num_rounds=num_rounds,
        eval_every=None,
        delta=DELTA,
        seeds=5,
        notes="the paper has no experiment on users of unequal size",
    )
    small = {"step_size": [0.03, 0.3], "noise_multiplier": [0.0, 1.0], "clip_norm": np.unique([1.0, 5.0])}
    return thin(paper, keep=small, seeds=2) if scale == "smoke" else paper
