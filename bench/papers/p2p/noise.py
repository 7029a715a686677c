"""Noise calibration for the experiments of Bellet et al. 2018, in three variants:

published: noise for gradients of L1 norm at most 1, no clipping. The inputs allow norms up to 10 p, so this is
    under-calibrated by that factor; `epsilon_true` says what it spends.
clipped: each example's gradient is clipped to L1 norm C, and the noise is scaled to C.
gaussian: clipped in L2, Gaussian noise calibrated exactly (Remark 4, tight).

The last two also stand for "one release": model propagation of one noisy step, on which the whole budget is spent.
"""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import pandas as pd

from bench.errors import InputError, check_name
from bench.privacy import events
from bench.privacy.accounting import noise_multiplier, safe
from bench.sweeps.spec import grid

DELTA = math.exp(-5)
START_EPSILON = 0.05
PUBLISHED, CLIPPED, GAUSSIAN = "published", "clipped", "gaussian"
MECHANISMS = {PUBLISHED: "laplace", CLIPPED: "laplace", GAUSSIAN: "gaussian"}
STARTS = ("constant", "zero", "propagation")  # the last spends start_epsilon, the others nothing


def _release(sigma: float, mechanism: str) -> events.Release:
    if mechanism == "gaussian":
        return events.full_gaussian(sigma, delta=DELTA, neighbors=events.REPLACE)
    return events.laplace(sigma, delta=DELTA)


@lru_cache
def sigma(epsilon: float, updates: int, mechanism: str) -> float:
    """Return the noise multiplier with which so many updates cost epsilon at DELTA; 0 for none."""
    return noise_multiplier(epsilon, lambda value: _release(value, mechanism), updates) if epsilon else 0.0


@lru_cache
def sigma_after(budget: float, start: float, updates: int, mechanism: str) -> float:
    """Return the noise multiplier of the updates with which they and a start of noise multiplier `start` cost the
    budget.

    Laplace noise is not asked here: its start and updates add up as the paper counts them.
    """
    first = _release(start, mechanism)
    return noise_multiplier(budget, lambda v: events.preceded_by(_release(v, mechanism), first), updates)


def calibrated(points: pd.DataFrame, start_epsilon: float | pd.Series = START_EPSILON) -> pd.DataFrame:
    """Return the points with the noise for their target_epsilon and num_updates, and for start_epsilon where they warm
    up.

    `budget` is the sum of the two. Laplace noise is calibrated to each of them, as in the paper; Gaussian noise of the
    updates so that both together cost the budget, which is exact and takes less noise.

    Raises:
        InputError: for a start that is not counted here, or updates that cannot be.
    """
    for start in points["start"].unique():
        check_name("start", start, STARTS)
    for number in points["num_updates"].unique():
        if not float(number).is_integer():  # or inf
            raise InputError(f"num_updates is {number:g}: noise is found for a whole number of updates")
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


def scaled(points: pd.DataFrame) -> pd.DataFrame:
    """Return the points with the mechanism of their calibration, and with the norm that their noise is for: that to
    which gradients are clipped, where they are.
    """
    for calibration in points["calibration"].unique():
        check_name("calibration", calibration, MECHANISMS)
    published = points["calibration"] == PUBLISHED
    norms = points["clip_norm"].mask(published, math.inf)
    mechanisms = points["calibration"].map(MECHANISMS)
    return points.assign(mechanism=mechanisms, clip_norm=norms, lipschitz=norms.mask(published, 1.0))


def calibrations(kinds: Sequence[str], clip_norms: Sequence[float]) -> pd.DataFrame:
    """Return the calibrations, those that clip at each of the norms."""
    return pd.concat(
        [grid(calibration=kind, clip_norm=math.inf if kind == PUBLISHED else clip_norms) for kind in kinds],
        ignore_index=True,
    )


# ---- What completes the points of an entry, and the columns that it computes ----

NOISE = ("lipschitz", "start_epsilon", "noise_multiplier", "start_noise_multiplier")
ONE_RELEASE = ("lipschitz", "local", "start", "noise_multiplier")


def of_private(points: pd.DataFrame) -> pd.DataFrame:
    """Return points in which an agent makes all its updates, with the noise of an even split of its budget, or of an
    uneven split, which adds up by the first of the theorem's three sums alone.
    """
    points = calibrated(scaled(points.assign(num_updates=points["max_updates"])))
    noise = safe(1.0) * 2 * points["num_updates"] / points["target_epsilon"]
    return points.assign(noise_multiplier=points["noise_multiplier"].mask(points["allocation"] != "equal", noise))


def of_shares(points: pd.DataFrame, cold: int, warm: int) -> pd.DataFrame:
    """Return points in which the warm start takes a share of every budget; from another start it takes none, and there
    is no step towards it.

    Args:
        points: without the columns that follow.
        cold, warm: the most updates of an agent, from another start and from the warm one.
    """
    is_cold = points["start"] != "propagation"
    share, step = points["start_share"].mask(is_cold, 0.0), points["start_step_size"].mask(is_cold, 1.0)
    spent = share * points["budget"]
    points = points.assign(start_share=share, start_step_size=step, target_epsilon=points["budget"] - spent)
    return calibrated(scaled(points.assign(max_updates=np.where(is_cold, cold, warm))), spent)


def of_one_release(points: pd.DataFrame) -> pd.DataFrame:
    """Return points of model propagation that spend their whole budget on one noisy step of every agent."""
    points = scaled(points)
    pairs = zip(points["budget"], points["mechanism"], strict=True)
    noise = [sigma(budget, 1, mechanism) for budget, mechanism in pairs]
    return points.assign(local="noisy_step", start="solution", noise_multiplier=noise)


def for_coordinates(points: pd.DataFrame) -> pd.DataFrame:
    """Return the points with the noise of local DP for their target_epsilon."""
    return points.assign(noise_multiplier=safe(2.0) / points["target_epsilon"])
