"""What the made-up runs of all sweeps of Bellet et al. 2018 have in common."""

import math

import pandas as pd
from made_up_points import points_of

REPETITIONS = 3
TARGETS = (1.0, 0.5, 0.1)
INF = math.inf


def sweep_of(name: str, rows: list[dict], settings: list[str]) -> pd.DataFrame:
    runs = pd.DataFrame(rows)
    said = {
        "sweep": name,
        "source": "made up",
        "scale": "laptop",
        "commit": "0123456789ab",
        "privacy_unit": "point",
        "neighbors": "replace one",
        "delta": math.exp(-5),
        "trial": runs["seed"],
    }
    said = {column: value for column, value in said.items() if column not in runs}
    points = points_of(runs[["algorithm", *settings]])
    for column in ("epsilon", "epsilon_tight", "epsilon_true"):
        if column not in runs:
            said[column] = INF
    runs = runs.assign(point=points, **said)
    return runs.assign(privacy_unit=runs["privacy_unit"].fillna("point"))


def jitter(seed: int) -> float:
    """A repetition's own shift."""
    return 0.0002 * (seed - 1)
