"""Localized noisy learning on silos (Gao et al. 2024, Algorithms 1, 4 and 6, and the variant that was plotted).

Phase i = 1, 2, ..., tau uses n_i = n / 2^i records of every silo that no other phase uses, and minimises

    mean loss of the silos on them + lambda_i / 2 |w - w_{i-1}|^2   over   |w - w_{i-1}| <= D_i,
    lambda_i = lambda 2^((i-1) p),   D_i = 2 C / lambda_i,

from w_{i-1}, with one of these solvers:

    multistage      Algorithm 1
    accelerated     Algorithm 1 with one stage a phase; with "convolution" smoothing Algorithm 6, with "moreau" that of
                    Theorem 3.1
    subgradient     Algorithm 4
    minibatch_sgd   what the paper plots

`silos` describes what is protected, and against whom. Each record is in one phase, so every phase may spend the whole
budget.
"""

from collections.abc import Callable
from functools import partial
from typing import Annotated

import jax.numpy as jnp

from bench.algorithms.accelerated import ac_sa
from bench.algorithms.base import Algorithm, Method, Scalar
from bench.algorithms.minibatch_sgd import sgd
from bench.algorithms.parts import silos
from bench.algorithms.parts.shared_arguments import sharing
from bench.algorithms.parts.silo_arguments import SiloArguments
from bench.algorithms.parts.solver import Solver, Subproblem, run_phases
from bench.algorithms.ranges import NonNegative, Positive, Range
from bench.algorithms.subgradient import decreasing_steps
from bench.data.task import Task
from bench.errors import check_name

SOLVERS: dict[str, Callable[..., Solver]] = {
    "minibatch_sgd": sgd,
    "accelerated": ac_sa,
    "multistage": partial(ac_sa, num_stages=None),
    "subgradient": decreasing_steps,
}


@sharing(SiloArguments)
def localized(
    task: Task,
    shared: SiloArguments,
    *,
    step_size: Positive,
    regularization: NonNegative,
    growth: Scalar = 3.0,
    constraint: Annotated[Scalar, Range(lambda v: v > 0, "positive (inf does not constrain)")] = 1.0,
    solver: str = "minibatch_sgd",
) -> Algorithm:
    """Phases of regularised problems from w = 0.

    Args:
        task: stored records, equally many in every silo.
        shared: the arguments of the silos' messages; see SiloArguments.
        step_size: eta; the solvers never take a longer step than their lambda_i allows.
        regularization: lambda >= 0, of the first phase; 0 for none.
        growth: p; the theorems take max(log_n(M) / 2 + 1, 3).
        constraint: D_i in units of 2 C / lambda_i; inf for no constraint.
        solver: a name in SOLVERS.
    """

    def subproblem_of(phase, center):
        strength = regularization * 2 ** (growth * phase.astype(jnp.float32))
        return Subproblem(center, strength, constraint * (2 * shared.clip_norm / strength))

    return run_phases(task, shared, SOLVERS[solver](step_size), subproblem_of)


def check(task: Task, *, solver: str, **args) -> None:
    """Refuse incompatible values before anything is compiled."""
    silos.check(task, **args)
    check_name("solver", solver, SOLVERS)


METHOD = Method(localized, silos.releases, version=1, check=check, cost=silos.cost, divides=True)
