"""Values as people write them on a command line: a list, or a range with as many steps as they say."""

import math
from typing import Any

import numpy as np

from bench.errors import InputError

MOST = 10_000  # values of a range


def values(text: str) -> list[Any]:
    """The values that a person writes: "log:LOW:HIGH:COUNT", "lin:LOW:HIGH:COUNT", or a list, "0.1,1,inf" or "a,b".

    Raises:
        InputError: for a range that is none, or an empty list.
    """
    kind, *rest = text.split(":")
    if kind in ("log", "lin"):
        try:
            low, high, count = float(rest[0]), float(rest[1]), int(rest[2])
        except (IndexError, ValueError):
            raise InputError(f"{text!r} is no range: write {kind}:LOW:HIGH:COUNT, such as log:1e-4:1e-1:8") from None
        if count > MOST:
            raise InputError(f"{text!r} has {count:,} values: take at most {MOST:,}")
        if len(rest) > 3 or count < 1 or not -math.inf < low <= high < math.inf or (kind == "log" and low <= 0):
            raise InputError(f"{text!r} is no range: LOW at most HIGH, both above 0 for log, and at least 1 value")
        make = np.geomspace if kind == "log" else np.linspace
        return [float(f"{number:.4g}") for number in make(low, high, count)]
    listed = [word.strip() for word in text.split(",")]
    if not all(listed):
        raise InputError(f"{text!r} has an empty value: write a list such as 0.1,1,inf, or log:1e-4:1e-1:8")
    return [value(word) for word in listed]


def value(word: str) -> Any:
    """A whole number, a number, True, False, or the word itself."""
    for read in (int, float):
        try:
            return read(word)
        except ValueError:
            continue
    return {"True": True, "False": False}.get(word, word)
