"""The search space of a method, and the search: first over the whole space, then near the best setting.

The first settings follow a Halton sequence, which covers the space more evenly than random points, and each single
argument as evenly as a grid with as many values. Later settings lie in shrinking boxes around the best one so far. A
box may extend beyond the initial interval, so the search continues outward where the best value lies at an end. Without
noise the best settings are run with further seeds at the end (`bench.comparison.stages`).
"""

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import qmc

from bench.algorithms.search_space import Interval
from bench.errors import InputError
from bench.inputs.values import values

Choices = Sequence[Any] | Interval  # values to try, or an interval of them
Space = Mapping[str, Choices]  # by argument
Setting = dict[str, Any]  # argument -> value

FEWEST = 8  # with at least this many settings, some are kept for later
CLOSER = (0.25, 0.125)  # half the width of the box around the best setting, in units of the initial interval
FINALISTS = 3  # settings that are run with further seeds without noise
FURTHER_SEEDS = 2  # of each of them
PATIENCE = 50  # draws per requested setting, since draws from lists repeat


def portions(most: int) -> tuple[int, list[int]]:
    """Return the number of settings tried first, and then in each refinement near the best."""
    closer = most // 4 if most >= FEWEST else 0
    return most - closer * len(CLOSER), [closer] * len(CLOSER) if closer else []


def size(space: Space) -> float:
    """Return the number of combinations of values."""
    return math.prod(math.inf if isinstance(choices, Interval) else len(choices) for choices in space.values())


def first_of(space: Space) -> Setting:
    """Return a setting for checking a method: the first value of each list, and the lower end of each interval."""
    return {name: choices.low if isinstance(choices, Interval) else choices[0] for name, choices in space.items()}


def first_settings(space: Space, most: int) -> list[Setting]:
    """Return the settings tried first: all combinations where there are at most `most`, else points that cover the
    space.

    They are deterministic, and those for a smaller number are among those for a larger one.
    """
    if size(space) <= most:
        lists = {name: list(choices) for name, choices in space.items() if not isinstance(choices, Interval)}
        return [dict(zip(lists, chosen, strict=True)) for chosen in itertools.product(*lists.values())]
    most, _ = portions(most)
    sequence = qmc.Halton(len(space), scramble=True, rng=np.random.default_rng(0))
    places = (row for _ in itertools.count() for row in sequence.random(most))
    return _different((_at(space, row) for row in places), most, [])


def near(space: Space, best: Setting, half: float, most: int, tried: Sequence[Setting]) -> list[Setting]:
    """Untried settings in a box around a setting; fewer than `most` where there are not enough.

    Args:
        space: the search space.
        best: the setting at the centre of the box; words are drawn from their whole list.
        half: half the width of the box, in units of the initial interval, or of the length of a list of numbers.
        most: the number of settings wanted.
        tried: settings to leave out.
    """
    if not space:
        return []
    low, high = np.array([_box(space[name], best[name], half) for name in space]).T
    sequence = qmc.Halton(len(space), scramble=True, rng=np.random.default_rng(len(tried)))
    return _different((_at(space, low + row * (high - low)) for row in sequence.random(PATIENCE * most)), most, tried)


def _different(drawn: Iterator[Setting], most: int, tried: Collection[Setting]) -> list[Setting]:
    """Return the first settings that differ from each other and from those tried."""
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
    """Return the setting at a position in the unit cube, or outside it on intervals that allow this."""
    return {name: _value(choices, float(u)) for (name, choices), u in zip(space.items(), row, strict=True)}


def _value(choices: Choices, place: float) -> Any:
    if isinstance(choices, Interval):
        return choices.at(place)
    return choices[min(max(math.floor(place * len(choices)), 0), len(choices) - 1)]


def _box(choices: Choices, centre: Any, half: float) -> tuple[float, float]:
    """Return the ends of the box along one argument, as positions."""
    if isinstance(choices, Interval):
        place = choices.place(centre)
        return place - half, place + half
    if not all(isinstance(choice, int | float) for choice in choices):
        return 0.0, 1.0
    place = (list(choices).index(centre) + 0.5) / len(choices)
    half = max(half, 1.0 / len(choices))  # at least the neighbours on both sides
    return place - half, place + half


def written(choices: Choices, form: str = "") -> str:
    """Return what to search as text that `searched` reads, the ends of an interval in a format; "" has all digits."""
    if isinstance(choices, Interval):
        return ":".join(["log" if choices.log else "lin", format(choices.low, form), format(choices.high, form)])
    return ",".join(map(str, choices))


def searched(text: str) -> list[Any] | Interval:
    """Parse what to search: the interval "log:LOW:HIGH" or "lin:LOW:HIGH", or a list as in `values`.

    Raises:
        InputError: for an invalid interval, or an empty list.
    """
    kind, *rest = text.split(":")
    if kind not in ("log", "lin") or len(rest) > 2:
        return values(text)
    try:
        low, high = map(float, rest)
    except ValueError:
        raise InputError(
            f"{text!r} is not an interval: write {kind}:LOW:HIGH, such as log:1e-4:1e-1, or {kind}:LOW:HIGH:COUNT for "
            "so many values"
        ) from None
    try:
        return Interval(low, high, log=kind == "log")
    except InputError:
        raise InputError(f"{text!r} is not an interval: LOW must be below HIGH, and both above 0 for log") from None
