"""Parsing of values given as text: one value, a list, a range with a number of steps, or NAME=VALUE."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from bench.errors import InputError, shown

LARGEST = float(np.finfo(np.float32).max)
MOST = 10_000  # the most values of a range


def as_float(name: str, value: Any) -> float:
    """Return a number as a float.

    Raises:
        InputError: naming it, where it is no number, or an integer that no float can hold.
    """
    try:
        return float(value)
    except OverflowError:
        raise InputError(f"{name} is too large: give at most {LARGEST:.2g}") from None
    except (TypeError, ValueError):
        raise InputError(f"{name} is {shown(value)}: give a number") from None


def check_range(name: str, value: Any, fits: bool, remedy: str) -> None:
    """Refuse a value that does not fit, with the remedy."""
    if not fits:
        raise InputError(f"{name} is {value}: {remedy}")


def values(text: str) -> list[Any]:
    """Parse values: "log:LOW:HIGH:COUNT", "lin:LOW:HIGH:COUNT", or a list, "0.1,1,inf" or "a,b".

    Raises:
        InputError: for an invalid range, or an empty list.
    """
    kind, *rest = text.split(":")
    if kind in ("log", "lin"):
        try:
            low, high, count = float(rest[0]), float(rest[1]), int(rest[2])
        except (IndexError, ValueError):
            raise InputError(f"{text!r} is not a range: write {kind}:LOW:HIGH:COUNT, such as log:1e-4:1e-1:8") from None
        if count > MOST:
            raise InputError(f"{text!r} has {count:,} values: give at most {MOST:,}")
        if len(rest) > 3 or count < 1 or not -math.inf < low <= high < math.inf or (kind == "log" and low <= 0):
            raise InputError(
                f"{text!r} is not a range: LOW must be at most HIGH, both above 0 for log, with at least 1 value"
            )
        make = np.geomspace if kind == "log" else np.linspace
        return [float(f"{number:.4g}") for number in make(low, high, count)]
    listed = [word.strip() for word in text.split(",")]
    if not all(listed):
        raise InputError(f"{text!r} has an empty value: write a list such as 0.1,1,inf, or log:1e-4:1e-1:8")
    return [value(word) for word in listed]


def value(word: str) -> Any:
    """Parse one value: a whole number, a number, True, False, or else the word itself.

    Raises:
        InputError: for a finite number beyond what single precision holds.
    """
    for convert in (int, float):
        try:
            number = convert(word)
        except ValueError:
            continue
        if LARGEST < abs(number) < math.inf:
            raise InputError(
                f"{word[:20]}{'...' if len(word) > 20 else ''} is too large: give at most {LARGEST:.2g}, or inf"
            )
        return number
    return {"True": True, "False": False}.get(word, word)


def parsed(texts: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return arguments by name; each text is parsed as one value."""
    return {name: value(text) if isinstance(text, str) else text for name, text in (texts or {}).items()}


def distinct_pairs(option: str, texts: list[str] | None) -> dict[str, str]:
    """Split each NAME=TEXT into a pair; no name may occur twice.

    Raises:
        InputError: where a text is not of this form, or a name occurs twice.
    """
    out: dict[str, str] = {}
    for text in texts or []:
        key, equals, value_text = (piece.strip() for piece in text.partition("="))
        if not (key and equals and value_text):
            wrong = "has no value" if key and equals else "is not NAME=VALUE"
            raise InputError(f"{option} {text} {wrong}: write {option} {key or 'NAME'}=VALUE")
        if key in out:
            raise InputError(f"{option} {key} is given twice: give it once")
        out[key] = value_text
    return out
