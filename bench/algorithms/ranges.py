"""The values that an argument of a method may have: stated by the method, in the annotation of the argument.

    def dp_sgdm(task: Task, *, momentum: Annotated[Scalar, Range(lambda v: 0 <= v < 1, "at least 0 and below 1")], ...)

The ranges that several methods state have names here. An argument without a range takes any number.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from bench.algorithms.base import Scalar
from bench.errors import InputError


@dataclass(frozen=True)
class Range:
    """The values that an argument may have.

    Attributes:
        has: value -> whether it may; never NaN.
        words: what it must be, in words: "positive and finite".
    """

    has: Callable[[float], bool]
    words: str

    def check(self, name: str, value: Any) -> None:
        """Refuse a value that is no number of the range.

        Raises:
            InputError: with this name, and what the value must be.
        """
        if not (isinstance(value, int | float) and value == value and self.has(value)):
            raise InputError(f"{name} is {value}: it must be {self.words}")


Positive = Annotated[Scalar, Range(lambda v: 0 < v < math.inf, "positive and finite")]
NonNegative = Annotated[Scalar, Range(lambda v: 0 <= v < math.inf, "at least 0 and finite")]
BelowOne = Annotated[Scalar, Range(lambda v: 0 <= v < 1, "at least 0 and below 1")]
ClipNorm = Annotated[Scalar, Range(lambda v: v > 0, "positive (inf does not clip)")]
Radius = Annotated[Scalar, Range(lambda v: v > 0, "positive (inf is the whole space)")]
Count = Annotated[int, Range(lambda v: v >= 1, "at least 1")]
Ticks = Annotated[int, Range(lambda v: 1 <= v <= 10**7, "at least 1 and at most ten million")]
