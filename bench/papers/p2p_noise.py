"""Noise calibration for the experiments of Bellet et al. 2018, in three variants:

published: noise for gradients of L1 norm at most 1, no clipping. The inputs allow norms up to 10 p, so this is
    under-calibrated by that factor; `epsilon_true` says what it spends.
clipped: each example's gradient is clipped to L1 norm C, and the noise is scaled to C.
gaussian: clipped in L2, Gaussian noise calibrated exactly (Remark 4, tight).

The last two also stand for "one release": model propagation of one noisy step, on which the whole budget is spent.
"""

import math
from functools import lru_cache

import numpy as np
import pandas as pd

from bench.privacy import events
from bench.privacy.accounting import noise_multiplier, safe
from bench.sweeps.derived import Derived

DELTA = math.exp(-5)
START_EPSILON = 0.05
PUBLISHED = {"calibration": "published", "mechanism": "laplace", "clip_norm": math.inf, "lipschitz": 1.0}


def _release(sigma: float, mechanism: str) -> events.Release:
    if mechanism == "gaussian":
        return events.full_gaussian(sigma, delta=DELTA, neighbors=events.REPLACE)
    return events.laplace(sigma, delta=DELTA)


@lru_cache
def sigma(epsilon: float, updates: int, mechanism: str) -> float:
    """The noise multiplier with which so many updates cost epsilon at DELTA; 0 for none."""
    return noise_multiplier(epsilon, lambda value: _release(value, mechanism), updates) if epsilon else 0.0


@lru_cache
def sigma_after(budget: float, start: float, updates: int, mechanism: str) -> float:
    """The noise multiplier of the updates with which they and a start of noise multiplier `start` cost the budget.

    Laplace noise is not asked here: its start and updates add up as the paper counts them.
    """
    first = _release(start, mechanism)
    return noise_multiplier(budget, lambda v: events.preceded_by(_release(v, mechanism), first), updates)


def calibrated(points: pd.DataFrame, start_epsilon: float | pd.Series = START_EPSILON) -> pd.DataFrame:
    """The points with the noise for their target_epsilon and num_updates, and for start_epsilon where they warm up.

    `budget` is the sum of the two. Laplace noise is calibrated to each of them, as in the paper; Gaussian noise of the
    updates so that both together cost the budget, which is exact and takes less noise.
    """
    warm = points["start"] == "propagation"
    points = points.assign(start_epsilon=np.where(warm, start_epsilon, 0.0))
    points["budget"] = (points["target_epsilon"] + points["start_epsilon"]).round(10)
    noise, starts = [], []
    for point in points.to_dict("records"):
        mechanism, updates = point["mechanism"], int(point["num_updates"])
        starts.append(sigma(point["start_epsilon"], 1, mechanism))
        joint = mechanism == "gaussian" and starts[-1] > 0
        noise.append(
            sigma_after(point["budget"], starts[-1], updates, mechanism)
            if joint
            else sigma(point["target_epsilon"], updates, mechanism)
        )
    return points.assign(noise_multiplier=noise, start_noise_multiplier=starts)


def one_release(points: pd.DataFrame) -> pd.DataFrame:
    """Points of model propagation that spend their whole budget on one noisy step of every agent."""
    pairs = zip(points["budget"], points["mechanism"], strict=True)
    noise = [sigma(budget, 1, mechanism) for budget, mechanism in pairs]
    return points.assign(local="noisy_step", start="solution", noise_multiplier=noise)


def clipped(calibration: str, mechanism: str, clip_norms) -> pd.DataFrame:
    """Clipping at each of the norms, noise scaled to it."""
    norms = np.asarray(clip_norms)
    return pd.DataFrame({"calibration": calibration, "mechanism": mechanism, "clip_norm": norms, "lipschitz": norms})


def calibrations(clip_norms) -> pd.DataFrame:
    """The three calibrations, the clipped ones at each of the norms."""
    kinds = [clipped("clipped", "laplace", clip_norms), clipped("gaussian", "gaussian", clip_norms)]
    return pd.concat([pd.DataFrame([PUBLISHED]), *kinds], ignore_index=True)


# ---- The same for points whose columns are replaced ----


def scaled(points: pd.DataFrame) -> pd.DataFrame:
    """The points with the norm that their noise is for: where gradients are clipped, that to which they are."""
    published = points["calibration"] == PUBLISHED["calibration"]
    norms = points["clip_norm"].mask(published, PUBLISHED["clip_norm"])
    points = points.assign(clip_norm=norms, lipschitz=norms.mask(published, PUBLISHED["lipschitz"]))
    return points.drop_duplicates(ignore_index=True)


def uneven(points: pd.DataFrame) -> pd.DataFrame:
    """The points with the noise of an uneven split, which adds up by the first of the theorem's three sums alone."""
    noise = safe(1.0) * 2 * points["num_updates"] / points["target_epsilon"]
    return points.assign(noise_multiplier=points["noise_multiplier"].mask(points["allocation"] != "equal", noise))


def for_coordinates(points: pd.DataFrame) -> pd.DataFrame:
    """The points with the noise of local DP for their target_epsilon."""
    return points.assign(noise_multiplier=safe(2.0) / points["target_epsilon"])


def _of_private(points: pd.DataFrame) -> pd.DataFrame:
    return uneven(calibrated(scaled(points.assign(num_updates=points["max_updates"]))))


def _of_shares(points: pd.DataFrame) -> pd.DataFrame:
    """A part of every budget is the warm start's; from zero there is none, and no step towards it."""
    cold = points["start"] == "zero"
    share, step = points["start_share"].mask(cold, 0.0), points["start_step_size"].mask(cold, 1.0)
    points = scaled(points.assign(start_share=share, start_step_size=step))
    spent = points["start_share"] * points["budget"]
    return calibrated(points.assign(target_epsilon=points["budget"] - spent), spent)


NOISE = ("lipschitz", "start_epsilon", "noise_multiplier", "start_noise_multiplier")
HEEDED = ("calibration", "mechanism", "start")
OF_TARGETS = Derived(
    lambda points: calibrated(scaled(points)),
    made=(*NOISE, "budget"),
    given=("target_epsilon", "num_updates", "clip_norm"),
    heeded=HEEDED,
)
OF_PRIVATE = Derived(
    _of_private,
    made=(*NOISE, "budget", "num_updates"),
    given=("target_epsilon", "max_updates", "clip_norm"),
    heeded=HEEDED,
)
OF_SHARES = Derived(
    _of_shares,
    made=(*NOISE, "target_epsilon"),
    given=("budget", "num_updates", "clip_norm", "start_share", "start_step_size"),
    heeded=HEEDED,
)
OF_ONE_RELEASE = Derived(
    lambda points: one_release(scaled(points)),
    made=("lipschitz", "local", "start", "noise_multiplier"),
    given=("budget", "clip_norm"),
    heeded=HEEDED,
)
OF_COORDINATES = Derived(for_coordinates, made=("noise_multiplier",), given=("target_epsilon",))
