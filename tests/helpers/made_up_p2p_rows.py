"""What the made-up runs of all sweeps of Bellet et al. 2018 have in common."""

import math

import pandas as pd
from made_up_points import finish

REPETITIONS = 3
TARGETS = (1.0, 0.5, 0.1)
INF = math.inf


def sweep_of(name: str, rows: pd.DataFrame, settings: str) -> pd.DataFrame:
    known = {"privacy_unit": "point", "neighbors": "replace one", "delta": math.exp(-5)}
    known |= dict.fromkeys(("epsilon", "epsilon_tight", "epsilon_true"), INF)
    return finish(rows, name, f"algorithm {settings}", **known)


def task_of(num_features: pd.Series) -> pd.Series:
    return "linear_p2p_" + num_features.astype(str)


def jitter(seed: int | pd.Series) -> float | pd.Series:
    """A repetition's own shift."""
    return 0.0002 * (seed - 1)
