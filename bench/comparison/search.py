"""What a method is tuned over: values of its arguments, and as many of their combinations for every method."""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import qmc

Space = Mapping[str, Sequence[Any]]  # argument -> values to try


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
