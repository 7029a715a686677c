"""Noisy minibatch subgradient method on silos, for losses without a smooth gradient (Gao et al. 2024, Algorithm 3).

    w_{r+1} <- Proj[w_r - eta_r g_r],  eta_r = 2 eta / (r + 1);    answer: sum_r 2 r / (R (R + 1)) w_r.

With eta = 1 / lambda for a lambda-strongly convex objective this is Theorem 6.2 of Bubeck 2015. `silos` describes what
is protected, and against whom.
"""

import jax.numpy as jnp

from bench.algorithms.base import Algorithm, Method, Scalar
from bench.algorithms.parts import silos
from bench.algorithms.parts.shared_arguments import sharing
from bench.algorithms.parts.silo_arguments import ONE_PHASE, SiloArguments
from bench.algorithms.parts.solver import Solver, run_phases, same_subproblem
from bench.algorithms.ranges import NonNegative, Positive, Radius
from bench.data.task import Task
from bench.kernels.proximal import project_ball


def decreasing_steps(step_size: Scalar) -> Solver:
    """Return the solver with projected steps of length min(eta, 1 / lambda) 2 / (r + 1), whose answer weights iterates
    by r.
    """

    def step(iterate, gradient, place, subproblem):
        eta = jnp.minimum(step_size, 1 / subproblem.strength) * 2 / (place.round + 1)
        w = project_ball(iterate["w"] - eta * gradient, subproblem.center, subproblem.radius)
        return {"w": w, "total": iterate["total"] + place.round * iterate["w"]}

    def answer(iterate, place):
        r = place.round
        return jnp.where(r > 0, iterate["total"] * 2 / jnp.maximum(r * (r + 1), 1.0), iterate["w"])

    return Solver(
        start=lambda w: {"w": w, "total": jnp.zeros_like(w)},
        query=lambda iterate, place, subproblem: iterate["w"],
        step=step,
        answer=answer,
    )


@sharing(SiloArguments, fixed=ONE_PHASE)
def subgradient(
    task: Task,
    shared: SiloArguments,
    *,
    step_size: Positive,
    regularization: NonNegative = 0.0,
    radius: Radius = float("inf"),
) -> Algorithm:
    """The noisy subgradient method from w = 0.

    Args:
        task: stored records, equally many in every silo.
        shared: the arguments of the silos' messages; see SiloArguments.
        step_size: eta; min(eta, 1 / regularization) is used.
        regularization: lambda >= 0; adds lambda / 2 |w|^2 to the objective.
        radius: radius of the ball around 0 to which w is constrained.
    """
    return run_phases(task, shared, decreasing_steps(step_size), same_subproblem(regularization, radius))


METHOD = Method(subgradient, silos.releases, version=1, check=silos.check, cost=silos.cost, divides=True)
