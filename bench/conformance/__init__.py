"""A conformance set: what a program of DP-SGD or DP-FedAvg should compute, number by number, in any framework.

The set is two JSON files in this folder, which say themselves what their fields mean:

- accounting.json: cases of accounting, with the epsilon or the noise multiplier of each by several accountants;
- golden_runs.json: tiny training runs without noise, with every sum, mean and model.

`cases` and `accounting` define the first and `runs` and `kernels` the second; `python -m bench.conformance.make` writes
both. `answers` reads the numbers of another program and `check` compares them.
"""

from pathlib import Path

FOLDER = Path(__file__).parent
ACCOUNTING, GOLDEN_RUNS = "accounting.json", "golden_runs.json"  # in FOLDER
VERSION = 1  # of the set; a number that changes, or a name, needs the next version
