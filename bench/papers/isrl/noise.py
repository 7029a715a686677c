"""Noise calibration for the experiments of Gao et al. 2024, in two variants:

published: noise of the stated epsilon by the formula of the authors' programs, 2 sqrt(rho log 1/delta), which leaves
    out a term.
exact: noise that costs the epsilon by exact accounting.
"""

import math
from functools import cache, partial

import numpy as np
import pandas as pd

from bench.errors import InputError, check_name
from bench.papers.isrl import theory
from bench.privacy.accounting import noise_multiplier, safe
from bench.privacy.events import REPLACE, fixed_size_gaussian, full_gaussian
from bench.sweeps.spec import Later, grid

PUBLISHED, EXACT, SILENT = "published", "exact", "no noise"


@cache
def _exact(epsilon: float, delta: float) -> float:
    """sigma for records that are used once."""
    return noise_multiplier(epsilon, lambda sigma: full_gaussian(sigma, neighbors=REPLACE, delta=delta), 1)


def noise(epsilon: float, calibration: str, uses: int, delta: float) -> float:
    """sigma for records that are used in so many rounds; sigma grows as sqrt(uses) by both calibrations.

    Raises:
        InputError: for another calibration.
    """
    check_name("calibration", calibration, (PUBLISHED, EXACT, SILENT))
    if calibration == SILENT and not math.isinf(epsilon):
        raise InputError(f"epsilon is {epsilon:g} with calibration {SILENT!r}: take {PUBLISHED!r} or {EXACT!r}")
    if math.isinf(epsilon):
        return 0.0
    if calibration == PUBLISHED:
        return safe(theory.zcdp_noise_multiplier(epsilon, delta, rounds=uses))
    return math.sqrt(uses) * _exact(epsilon, delta)


@cache
def _sampled(epsilon: float, rate: float, rounds: int, delta: float) -> float:
    """sigma for messages of this share of the records, drawn afresh in every round."""
    release = partial(fixed_size_gaussian, sampling_rate=rate, delta=delta)
    return 0.0 if math.isinf(epsilon) else noise_multiplier(epsilon, release, rounds)


def in_small_batches(points: pd.DataFrame, delta: float) -> pd.DataFrame:
    """Return the points with the smallest batch that the theorems' noise allows, and with noise that costs the epsilon
    by exact accounting; without noise a batch is one record.
    """
    batches, sigmas = [], []
    for epsilon, n, rounds in zip(*(points[c] for c in ("target_epsilon", "num_records", "phase_rounds")), strict=True):
        rate = 0.0 if math.isinf(epsilon) else theory.smallest_rate(epsilon, delta, rounds)
        batches.append(max(1, math.ceil(n * rate)))
        sigmas.append(Later(_sampled, (epsilon, batches[-1] / n, rounds, delta)))
    return points.assign(batch_size=batches, noise_multiplier=sigmas)


def budgets(epsilons, calibrations) -> pd.DataFrame:
    """Return one row per target epsilon and way to calibrate, and one without noise."""
    silent = pd.DataFrame({"target_epsilon": [math.inf], "calibration": [SILENT]})
    return pd.concat([grid(target_epsilon=epsilons, calibration=calibrations), silent], ignore_index=True)


def with_noise(points: pd.DataFrame, delta: float) -> pd.DataFrame:
    """Return the points with the noise for their target and calibration; without noise there is one target."""
    silent = (points["calibration"] == SILENT) | np.isinf(points["target_epsilon"])
    values = {"calibration": SILENT, "target_epsilon": math.inf}
    points = points.assign(**{name: points[name].mask(silent, value) for name, value in values.items()})
    uses = points["phase_rounds"]
    if "sampler" in points:
        uses = uses.mask(points["sampler"] == "once", 1)
    keys = zip(points["target_epsilon"], points["calibration"], uses, strict=True)
    return points.assign(noise_multiplier=[noise(*key, delta) for key in keys])
