"""Descriptions of what a run releases, from which the accountants in `accounting` compute an epsilon.

A run can be accounted for in several ways, called its readings, which differ in sampler, neighbouring relation or
accountant. Each states what is protected, against whom and under which relation, so that an epsilon always comes with
its meaning.

`release`: the type of a release, and its known words. `gaussian_sums`, `laplace_sums`: noisy sums. `schedules`: sums
in public schedules. `samplings`: sums by name. `combined`: runs made of several releases. All names are imported from
here.
"""

from bench.privacy.events.combined import (
    ParallelDpEvent,
    at_once,
    in_parallel,
    in_sequence,
    nothing_released,
    preceded_by,
)
from bench.privacy.events.gaussian_sums import (
    MOST_IN_GROUP,
    bounded_participation_gaussian,
    fixed_size_gaussian,
    full_gaussian,
    gaussian_readings,
    poisson_gaussian,
)
from bench.privacy.events.laplace_sums import laplace
from bench.privacy.events.release import (
    ACCOUNTANTS,
    ADD_OR_REMOVE,
    EVERYBODY,
    PRIVACY_UNITS,
    REPLACE,
    SENSITIVITY,
    Release,
    check_delta,
    checked,
    require,
)
from bench.privacy.events.samplings import SAMPLINGS, gaussian
from bench.privacy.events.schedules import (
    BallsInBinsDpEvent,
    balls_in_bins_gaussian,
    balls_in_bins_readings,
    correlated_gaussian,
    cyclic_poisson_readings,
    cyclic_readings,
    sums_in_one_round,
)

__all__ = [
    "ACCOUNTANTS",
    "ADD_OR_REMOVE",
    "EVERYBODY",
    "MOST_IN_GROUP",
    "PRIVACY_UNITS",
    "REPLACE",
    "SAMPLINGS",
    "SENSITIVITY",
    "BallsInBinsDpEvent",
    "ParallelDpEvent",
    "Release",
    "at_once",
    "balls_in_bins_gaussian",
    "balls_in_bins_readings",
    "bounded_participation_gaussian",
    "check_delta",
    "checked",
    "correlated_gaussian",
    "cyclic_poisson_readings",
    "cyclic_readings",
    "fixed_size_gaussian",
    "full_gaussian",
    "gaussian",
    "gaussian_readings",
    "in_parallel",
    "in_sequence",
    "laplace",
    "nothing_released",
    "poisson_gaussian",
    "preceded_by",
    "require",
    "sums_in_one_round",
]
