"""The parts that methods, tasks and sweeps of your own are made of; with `bench`, the one address to import from.

The names here stay, wherever the suite keeps what they name. docs/adding-a-method.md and docs/adding-a-dataset.md use
them; docs/api.md describes each.
"""

from bench.algorithms import ALGORITHMS
from bench.algorithms.base import Role
from bench.algorithms.parts.averaging import AveragingArguments, averaging, descent
from bench.algorithms.parts.noise import noise_of
from bench.algorithms.parts.participation import (
    check_participation,
    cost_of_sums,
    noisy_sums,
    participation,
    separation,
)
from bench.algorithms.parts.shared_arguments import sharing
from bench.algorithms.parts.then_alone import cost_then_alone, then_alone
from bench.algorithms.parts.user_changes import clipped_sum, user_changes, user_gradients
from bench.algorithms.ranges import ClipNorm, Count, NonNegative, Positive, Range
from bench.algorithms.search_space import Interval
from bench.comparison.problems import own_clients
from bench.data.task import Head, Linear, Network, Peers, Task
from bench.errors import InputError
from bench.execution.run import run_sweep
from bench.kernels.gradient import clip, gaussian_like
from bench.kernels.per_example import Affine
from bench.models.additive import Additive, scores, squared_loss
from bench.privacy.accounting import epsilon, epsilons, noise_multiplier, rdp_curves
from bench.privacy.events import (
    Release,
    at_once,
    bounded_participation_gaussian,
    correlated_gaussian,
    cyclic_readings,
    fixed_size_gaussian,
    full_gaussian,
    gaussian_readings,
    in_parallel,
    laplace,
    nothing_released,
    poisson_gaussian,
    preceded_by,
    sums_in_one_round,
)
from bench.privacy.selection import epsilon_of_best
from bench.sweeps.spec import Entry, Sweep, grid

__all__ = [
    "ALGORITHMS",
    "Additive",
    "Affine",
    "AveragingArguments",
    "ClipNorm",
    "Count",
    "Entry",
    "Head",
    "InputError",
    "Interval",
    "Linear",
    "Network",
    "NonNegative",
    "Peers",
    "Positive",
    "Range",
    "Release",
    "Role",
    "Sweep",
    "Task",
    "at_once",
    "averaging",
    "bounded_participation_gaussian",
    "check_participation",
    "clip",
    "clipped_sum",
    "correlated_gaussian",
    "cost_of_sums",
    "cost_then_alone",
    "cyclic_readings",
    "descent",
    "epsilon",
    "epsilon_of_best",
    "epsilons",
    "fixed_size_gaussian",
    "full_gaussian",
    "gaussian_like",
    "gaussian_readings",
    "grid",
    "in_parallel",
    "laplace",
    "noise_multiplier",
    "noise_of",
    "noisy_sums",
    "nothing_released",
    "own_clients",
    "participation",
    "poisson_gaussian",
    "preceded_by",
    "rdp_curves",
    "run_sweep",
    "scores",
    "separation",
    "sharing",
    "squared_loss",
    "sums_in_one_round",
    "then_alone",
    "user_changes",
    "user_gradients",
]
