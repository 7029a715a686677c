"""What the sweeps of Bietti et al. 2022 have in common: the personalisation swept, and local learning once."""

import math

import pandas as pd

PERSONALIZATION = [0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, math.inf]


def once_for_local(points: pd.DataFrame, clip_norm: float) -> pd.DataFrame:
    """Local learning (a = 0) releases nothing: neither noise nor clipping touch it, so it needs one of each."""
    local = points["personalization"] == 0
    kept = (points["noise_multiplier"] == 0) & (points["clip_norm"] == clip_norm)
    return points[~local | kept].reset_index(drop=True)
