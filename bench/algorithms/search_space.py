"""The values that tuning tries for an argument of a method: a list, or an interval."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.errors import InputError, shown

OWN_STEP, OWN_STEPS, OWN_EPOCHS = "local_step_size", "total_steps", "own_epochs"  # roles in learning alone
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
        """Return the number at a position, 0 at `low` and 1 at `high`, to four digits and within `lowest` and
        `highest`."""
        ratio, span = self.high / self.low if self.log else 1.0, self.high - self.low
        number = self.low * ratio**place if self.log else self.low + span * place
        return min(max(float(f"{number:.4g}"), self.lowest), self.highest)

    def place(self, number: float) -> float:
        """Return the position of a number: the inverse of `at`."""
        if self.log:
            return math.log(number / self.low) / math.log(self.high / self.low)
        return (number - self.low) / (self.high - self.low)


def check_space(owner: str, space: Mapping[str, Any]) -> None:
    """Check that every argument of a search space has values to try, or an interval.

    Raises:
        InputError: naming the owner and the argument.
    """
    for argument, values in space.items():
        is_list = isinstance(values, Sequence) and not isinstance(values, str | bytes) and len(values) > 0
        if not (is_list or isinstance(values, Interval)):
            raise InputError(
                f"{owner} has {shown(values)} for {argument}: give a list of values, or a bench.parts.Interval"
            )
