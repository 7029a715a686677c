"""Malformed input of every kind, drawn at random."""

import random
from collections import Counter
from pathlib import Path
from typing import Any

from fuzzing.kinds import KINDS, attempt_all


def inputs(scratch: Path, number: int, chance: random.Random) -> Counter:
    """Give the programs so many malformed inputs, as many of each kind.

    Returns:
        Counts: inputs by kind; whatever was wrong, in words.
    """
    found: Counter = Counter()
    for place, kind in enumerate(KINDS):

        def seen(case: Any, fault: str | None, kind: str = kind) -> None:
            found[kind] += 1
            if fault:
                found[f"{fault} from {str(case)[:300]}"] += 1

        share = number // len(KINDS) + (place < number % len(KINDS))
        attempt_all(kind, share, scratch, seen, derandomize=False)
    return found
