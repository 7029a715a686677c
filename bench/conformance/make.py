"""Computes the numbers of the set anew and writes them into its two files: python -m bench.conformance.make

What is asked stands in the files alone, and is kept. A new case or run is written there, without its numbers.

It takes some minutes, most of them for the second implementation. A test computes everything again and compares.
"""

import json
import re
from typing import Any

from bench.conformance import ACCOUNTING, FOLDER, GOLDEN_RUNS, QUANTITIES, VERSION, accounting, content, kernels

DIGITS = 12  # of a number in the files; further digits differ between machines


def accounting_file(file: dict[str, Any]) -> dict[str, Any]:
    """Return the content of accounting.json with the numbers of its cases computed anew."""
    cases = []
    for entry in file["cases"]:
        case = accounting.Case(**{"numbers": []} | entry)
        numbers = (accounting.number(case, reading) for reading in accounting.READINGS)
        cases.append(entry | {"numbers": [_rounded(number) for number in numbers if number is not None]})
    return file | {"version": VERSION, "cases": cases}


def golden_file(file: dict[str, Any]) -> dict[str, Any]:
    """Return the content of golden_runs.json with the numbers of its runs computed anew."""
    runs = []
    for entry in file["runs"]:
        rounds = [
            {"participants": old["participants"]}
            | {name: _rounded({leaf: new[name][leaf] for leaf in entry["initial_model"]}) for name in QUANTITIES}
            for old, new in zip(entry["rounds"], kernels.rounds(kernels.Run(**entry)), strict=True)
        ]
        runs.append(entry | {"rounds": rounds})
    return file | {"version": VERSION, "runs": runs}


def _rounded(numbers: Any) -> Any:
    """Return numbers with DIGITS digits, and arrays as lists."""
    if isinstance(numbers, dict):
        return {name: _rounded(part) for name, part in numbers.items()}
    if hasattr(numbers, "tolist"):
        return _rounded(numbers.tolist())
    if isinstance(numbers, list):
        return [_rounded(part) for part in numbers]
    return float(f"{numbers:.{DIGITS}g}") + 0.0 if isinstance(numbers, float) else numbers


def text_of(file: dict[str, Any]) -> str:
    """Return JSON in which a list of numbers is one line."""
    text = json.dumps(file, indent=1, ensure_ascii=False, allow_nan=False)
    return re.sub(r"\[\s+([-\d.e+,\s]*?)\s+\]", lambda found: f"[{' '.join(found[1].split())}]", text) + "\n"


def main() -> None:
    """Write both files."""
    for name, computed in ((GOLDEN_RUNS, golden_file), (ACCOUNTING, accounting_file)):
        (FOLDER / name).write_text(text_of(computed(content(name))), encoding="utf-8")
        print(FOLDER / name)


if __name__ == "__main__":
    main()
