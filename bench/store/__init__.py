"""Results on disk: Parquet parts in a folder for each sweep, and the checks of what they hold.

A scale is a choice of a sweep's points. All that has been run of a sweep is in results/sweeps/<sweep>, at whatever
scale; smoke runs, whose numbers mean nothing, are in results/smoke/<sweep>.
"""

import os
from pathlib import Path

SCALES = ("smoke", "laptop", "paper")  # from the smallest to the largest
SMOKE, KEPT = "smoke", "sweeps"  # folders of results


def kind_of(scale: str) -> str:
    """Return the name of the folder for results of a scale, and of anything else that has its own."""
    return KEPT if scale in SCALES[1:] else scale


def together_with(scale: str) -> list[str]:
    """Return a scale, and then the others whose results are in the same folder."""
    return [scale, *(other for other in SCALES if other != scale and kind_of(other) == kind_of(scale))]


def of_scale(out: str | os.PathLike, scale: str, name: str) -> Path:
    """Return the folder of a sweep's results in a folder of results."""
    return Path(out) / kind_of(scale) / name
