"""What a method is tuned over, and how a search goes through it: spread over the whole first, then near the best.

The first settings follow a Halton sequence, which fills a space more evenly than random ones, and every argument by
itself as evenly as a grid of as many values. Later settings lie in ever smaller boxes around the best one so far. A box
may reach beyond the interval in which the search started: where the best lies at an end, the search goes on by itself.
"""

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import qmc

from bench.values import Interval

Choices = Sequence[Any] | Interval  # values to try, or an interval of them
Space = Mapping[str, Choices]  # by argument
Setting = dict[str, Any]  # argument -> value

FEWEST = 8  # settings of which some are kept for later
CLOSER = (0.25, 0.125)  # half the width of the box around the best, in units of the starting interval
PATIENCE = 50  # draws for each setting that is wanted, where lists repeat themselves


def portions(most: int) -> tuple[int, list[int]]:
    """How many settings are tried first, and how many near the best each time after that."""
    closer = most // 4 if most >= FEWEST else 0
    return most - closer * len(CLOSER), [closer] * len(CLOSER) if closer else []


def size(space: Space) -> float:
    """How many combinations of values there are."""
    return math.prod(math.inf if isinstance(choices, Interval) else len(choices) for choices in space.values())


def first_of(space: Space) -> Setting:
    """A setting to check a method with: the first values of the lists, and the lower ends of the intervals."""
    return {name: choices.low if isinstance(choices, Interval) else choices[0] for name, choices in space.items()}


def first_settings(space: Space, most: int) -> list[Setting]:
    """What is tried first of `most` settings: all there are where those are no more, else some all over the space.

    They are always the same, and those of a smaller number are among those of a larger one.
    """
    if size(space) <= most:
        lists = {name: list(choices) for name, choices in space.items() if not isinstance(choices, Interval)}
        return [dict(zip(lists, chosen, strict=True)) for chosen in itertools.product(*lists.values())]
    most, _ = portions(most)
    sequence = qmc.Halton(len(space), scramble=True, rng=np.random.default_rng(0))
    places = (row for _ in itertools.count() for row in sequence.random(most))
    return _different((_at(space, row) for row in places), most, [])


def near(space: Space, best: Setting, half: float, most: int, tried: Sequence[Setting]) -> list[Setting]:
    """Settings in a box around one, none of which has been tried; fewer than `most` where there are no more.

    Args:
        space: that is searched.
        best: setting at the centre of the box; words of a list are drawn from the whole list.
        half: half the width of the box, in units of the starting interval, or of the length of a list of numbers.
        most: how many.
        tried: settings that are left out.
    """
    if not space:
        return []
    low, high = np.array([_box(space[name], best[name], half) for name in space]).T
    sequence = qmc.Halton(len(space), scramble=True, rng=np.random.default_rng(len(tried)))
    return _different((_at(space, low + row * (high - low)) for row in sequence.random(PATIENCE * most)), most, tried)


def _different(drawn: Iterator[Setting], most: int, tried: Collection[Setting]) -> list[Setting]:
    """The first that differ from each other and from what has been tried."""
    known, new = {_key(setting) for setting in tried}, []
    for setting in drawn:
        if _key(setting) not in known:
            known.add(_key(setting))
            new.append(setting)
        if len(new) == most:
            break
    return new


def _key(setting: Setting) -> tuple:
    return tuple(map(repr, setting.values()))


def _at(space: Space, row: np.ndarray) -> Setting:
    """The setting at a place in the cube; beyond it on intervals that allow it."""
    return {name: _value(choices, float(u)) for (name, choices), u in zip(space.items(), row, strict=True)}


def _value(choices: Choices, place: float) -> Any:
    if isinstance(choices, Interval):
        return choices.at(place)
    return choices[min(max(math.floor(place * len(choices)), 0), len(choices) - 1)]


def _box(choices: Choices, centre: Any, half: float) -> tuple[float, float]:
    """Ends of the box along one argument, as places."""
    if isinstance(choices, Interval):
        place = choices.place(centre)
        return place - half, place + half
    if not all(isinstance(choice, int | float) for choice in choices):
        return 0.0, 1.0
    place = (list(choices).index(centre) + 0.5) / len(choices)
    half = max(half, 1.0 / len(choices))  # the neighbours on either side at least
    return place - half, place + half
