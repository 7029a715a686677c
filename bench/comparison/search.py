"""What a method is tuned over: values of its arguments, and as many of their combinations for every method."""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import qmc

from bench.errors import InputError

Space = Mapping[str, Sequence[Any]]  # argument -> values to try


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


def settings(space: Space, most: int) -> list[dict[str, Any]]:
    """Combinations of the values, at most `most` of them: all where there are no more, else spread over the space.

    They are those nearest to a Halton sequence (always the same one), so every value of a short list comes about
    equally often, and two arguments of eight values are tried at eight different values each, not at three.
    """
    size = math.prod(map(len, space.values()))
    if size <= most:
        return [dict(zip(space, chosen, strict=True)) for chosen in itertools.product(*space.values())]
    counts = np.array([len(choices) for choices in space.values()])
    sequence = qmc.Halton(len(counts), scramble=True, rng=np.random.default_rng(0))
    places: dict[tuple[int, ...], None] = {}  # a number into each list of values; in order of appearance
    while len(places) < most:
        for place in np.floor(sequence.random(most) * counts).astype(int):
            places.setdefault(tuple(place.tolist()))
    chosen = sorted(list(places)[:most])
    return [{name: space[name][i] for name, i in zip(space, place, strict=True)} for place in chosen]
