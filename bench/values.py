"""Parsing of values given on the command line: a list, a range with a number of steps, or an interval."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.errors import InputError, shown

LARGEST = float(np.finfo(np.float32).max)
MOST = 10_000  # the most values of a range
BEYOND = 1e3  # factor by which a search may leave a logarithmic interval, unless told otherwise


@dataclass(frozen=True)
class Interval:
    """An interval in which a search starts, and the bounds that it never leaves.

    low, high: where it starts.
    log: whether the search is uniform in the logarithm.
    lowest, highest: how far the search may go where the best value lies at an end of the interval. Default: a factor of
        1,000 beyond the ends of a logarithmic interval, and the ends of any other.

    Raises:
        InputError: where these are not ordered, or not above 0 on a logarithmic scale.
    """

    low: float
    high: float
    log: bool = True
    lowest: float = math.nan
    highest: float = math.nan

    def __post_init__(self):
        beyond = BEYOND if self.log else 1.0
        for name, default in (("lowest", self.low / beyond), ("highest", self.high * beyond)):
            if math.isnan(getattr(self, name)):
                object.__setattr__(self, name, default)
        ends = (self.lowest, self.low, self.high, self.highest)
        ordered = ends[0] <= ends[1] < ends[2] <= ends[3]
        if not (ordered and all(map(math.isfinite, ends)) and (ends[0] > 0 or not self.log)):
            raise InputError(
                f"cannot search the interval {self}: give lowest <= low < high <= highest, all above 0 if log"
            )

    def at(self, place: float) -> float:
        """The number at a position, 0 at `low` and 1 at `high`, to four digits and within `lowest` and `highest`."""
        ratio, span = self.high / self.low if self.log else 1.0, self.high - self.low
        number = self.low * ratio**place if self.log else self.low + span * place
        return min(max(float(f"{number:.4g}"), self.lowest), self.highest)

    def place(self, number: float) -> float:
        """The position of a number: the inverse of `at`."""
        if self.log:
            return math.log(number / self.low) / math.log(self.high / self.low)
        return (number - self.low) / (self.high - self.low)


def check_space(owner: str, space: Mapping[str, Any]) -> None:
    """Check that every argument of a search space has values to try, or an interval.

    Raises:
        InputError: naming the owner and the argument.
    """
    for argument, tried in space.items():
        listed = isinstance(tried, Sequence) and not isinstance(tried, str | bytes) and len(tried) > 0
        if not (listed or isinstance(tried, Interval)):
            raise InputError(
                f"`space` of {owner} has {shown(tried)} for {argument}: give a list of values, or a "
                "bench.values.Interval"
            )


def as_float(name: str, value: Any) -> float:
    """A number as a float.

    Raises:
        InputError: naming it, where it is an integer that no float can hold.
    """
    try:
        return float(value)
    except OverflowError:
        raise InputError(f"{name} is too large: give at most {LARGEST:.2g}") from None


def searched(text: str) -> "list[Any] | Interval":
    """Parse what to search: the interval "log:LOW:HIGH" or "lin:LOW:HIGH", or a list as in `values`.

    Raises:
        InputError: for an invalid interval, or an empty list.
    """
    kind, *rest = text.split(":")
    if kind not in ("log", "lin") or len(rest) != 2:
        return values(text)
    try:
        low, high = map(float, rest)
    except ValueError:
        raise InputError(f"{text!r} is not an interval: write {kind}:LOW:HIGH, such as log:1e-4:1e-1") from None
    return Interval(low, high, log=kind == "log")


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
    for read in (int, float):
        try:
            number = read(word)
        except ValueError:
            continue
        if LARGEST < abs(number) < math.inf:
            raise InputError(
                f"{word[:20]}{'...' if len(word) > 20 else ''} is too large: give at most {LARGEST:.2g}, or inf"
            )
        return number
    return {"True": True, "False": False}.get(word, word)


def distinct_pairs(option: str, given: list[str] | None) -> dict[str, str]:
    """Split each NAME=TEXT into a pair; no name may occur twice.

    Raises:
        InputError: where a text is not of this form, or a name occurs twice.
    """
    out: dict[str, str] = {}
    for text in given or []:
        key, equals, rest = (part.strip() for part in text.partition("="))
        if not (key and equals and rest):
            raise InputError(f"{option} {text} is not NAME=VALUE: write {option} NAME=VALUE")
        if key in out:
            raise InputError(f"{option} {key} is given twice: give it once, a list as {key}=A,B,C")
        out[key] = rest
    return out
