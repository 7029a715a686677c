"""What a worker reports to the driver while it trains a unit.

    Compiling   it begins to compile the programs of the unit; not sent where they are compiled already
    Compiled    they are compiled, and the runs are started
    Resumed     it goes on after rounds that an earlier command has done; sent before it trains
    Trained     rounds are done, which took so long; sent after each evaluation, and every few seconds in between

So compiling and training are timed where they happen, and no time that one takes counts for the other.
"""

from collections.abc import Callable
from typing import NamedTuple


class Compiling(NamedTuple):
    """The worker begins to compile."""


class Compiled(NamedTuple):
    """The worker has compiled.

    seconds: that it took.
    """

    seconds: float


class Trained(NamedTuple):
    """Rounds are done.

    units: run-rounds since the last report.
    seconds: that these took.
    """

    units: int
    seconds: float


class Resumed(NamedTuple):
    """Rounds were done by an earlier command.

    units: run-rounds.
    said: a sentence about it for the user.
    """

    units: int
    said: str


Report = Callable[[Compiling | Compiled | Resumed | Trained], None]
