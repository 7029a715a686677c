"""What the sweeps of Bietti et al. 2022 have in common: the personalisation swept, and local learning once."""

import math
from collections.abc import Callable
from functools import partial

import pandas as pd

from bench.sweeps.derived import Derived

PERSONALIZATION = [0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, math.inf]


def once_for_local(points: pd.DataFrame, clip_norm: float) -> pd.DataFrame:
    """Local learning (a = 0) releases nothing: neither noise nor clipping touch it, so it needs one of each.

    That one has no noise, and this clipping norm; of points without it the smallest that they have.
    """
    local = points["personalization"] == 0
    norms = points["clip_norm"]
    norm = clip_norm if (norms == clip_norm).any() else norms.min()
    points = points.assign(noise_multiplier=points["noise_multiplier"].mask(local, 0.0))
    return points[~local | (norms == norm)].drop_duplicates(ignore_index=True)


def with_local_once(clip_norm: float, make: Callable[[pd.DataFrame], pd.DataFrame] | None = None, **columns) -> Derived:
    """Points of which `make`, if any, computes columns, and in which local learning then stands once.

    Args:
        clip_norm: of local learning.
        make: points without the columns `made` -> points.
        columns: fields of the result.
    """
    once = partial(once_for_local, clip_norm=clip_norm)
    remake = once if make is None else (lambda points: once(make(points)))
    return Derived(remake, **columns)
