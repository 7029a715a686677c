"""A conformance set: what a program of DP-SGD or DP-FedAvg should compute, number by number, in any framework.

The set is two JSON files in this folder, which say themselves what is asked and what their fields mean:

- accounting.json: cases of accounting, with the epsilon or the noise multiplier of each by several accountants;
- golden_runs.json: tiny training runs without noise, with every sum, mean and model.

`accounting` and `kernels` compute the numbers of what they ask, which `python -m bench.conformance.make` writes into
them. `answers` reads the numbers of another program and `check` compares them.
"""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
ACCOUNTING, GOLDEN_RUNS = "accounting.json", "golden_runs.json"  # in FOLDER
VERSION = 1  # of the set; a number that changes, or a name, needs the next version
QUANTITIES = ("clipped_sum", "mean", "model")  # of a round of a golden run


def content(name: str) -> dict[str, Any]:
    """Return the content of a file of the set."""
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))
