"""The sizes that the formulas of Gao et al. 2024 use, and the checks of their values."""

import math
from typing import NamedTuple

from bench.errors import InputError


class Setting(NamedTuple):
    """The sizes that every formula uses.

    silos: N.
    answering: M.
    records: n.
    features: d.
    lipschitz: L.
    diameter: D.
    smoothness: beta.
    """

    silos: int
    answering: int
    records: int
    features: int
    epsilon: float
    delta: float
    lipschitz: float = 1.0
    diameter: float = 1.0
    smoothness: float = 1.0


def check(setting: Setting) -> None:
    """Refuse sizes that no theorem allows.

    Raises:
        InputError: naming the value and what to do.
    """
    s = setting
    if not 1 <= s.answering <= s.silos:
        raise InputError(f"answering is {s.answering}: of {s.silos} silos, 1 to {s.silos} can answer")
    for name in ("records", "features"):
        if getattr(s, name) < 1:
            raise InputError(f"{name} is {getattr(s, name)}: it must be at least 1")
    for name in ("lipschitz", "diameter", "smoothness"):
        if not 0 < getattr(s, name) < math.inf:
            raise InputError(f"{name} is {getattr(s, name)}: it must be positive and finite")
    check_budget(s.epsilon, s.delta)


def check_budget(epsilon: float, delta: float, rounds: int = 1) -> None:
    """Refuse a privacy target, or a number of rounds, that no formula allows.

    Raises:
        InputError: naming the value and its range.
    """
    if rounds < 1:
        raise InputError(f"rounds is {rounds}: it must be at least 1")
    if not 0 < delta < 1:
        raise InputError(f"delta is {delta}: it must be above 0 and below 1")
    if not 0 < epsilon < math.inf:
        raise InputError(f"epsilon is {epsilon}: it must be positive and finite")
