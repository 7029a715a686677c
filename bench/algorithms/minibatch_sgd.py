"""Noisy minibatch SGD on silos (Lowy and Razaviyayn 2023; the baseline of Gao et al. 2024, section 4).

Every round M of the N silos send a noisy mean of clipped gradients, and the server takes a step:

    w <- w - eta mean_l m_l,    answer: the mean of the last A iterates.

With sampler "once" every record is used in one round: the one-pass method. With "all" it is used in every round.
`silos` describes what is protected, and against whom.
"""

import jax.numpy as jnp

from bench.algorithms.base import Algorithm, Method, Scalar
from bench.algorithms.parts import silos
from bench.algorithms.parts.shared_arguments import sharing
from bench.algorithms.parts.silo_arguments import ONE_PHASE, SiloArguments
from bench.algorithms.parts.solver import Solver, run_phases, same_subproblem
from bench.algorithms.ranges import Count, Positive
from bench.data.task import Task
from bench.kernels.proximal import project_ball

NUM_AVERAGED = 8  # the authors' programs average the last eight iterates


def sgd(step_size: Scalar, num_averaged: int = NUM_AVERAGED) -> Solver:
    """Return the solver with projected gradient steps of length min(eta, 1 / lambda), whose answer is the mean of the
    last A iterates, or of all where there are fewer.
    """

    def averaged(place):
        """Return how many of the last iterates the answer contains so far; 0 before the last A rounds."""
        return jnp.clip(place.round - place.rounds + num_averaged, 0, jnp.minimum(place.round, num_averaged))

    def step(iterate, gradient, place, subproblem):
        eta = jnp.minimum(step_size, 1 / subproblem.strength)
        w = project_ball(iterate["w"] - eta * gradient, subproblem.center, subproblem.radius)
        return {"w": w, "total": iterate["total"] + jnp.where(averaged(place) > 0, w, 0.0)}

    def answer(iterate, place):
        count = averaged(place)
        return jnp.where(count > 0, iterate["total"] / jnp.maximum(count, 1.0), iterate["w"])

    return Solver(
        start=lambda w: {"w": w, "total": jnp.zeros_like(w)},
        query=lambda iterate, place, subproblem: iterate["w"],
        step=step,
        answer=answer,
    )


@sharing(SiloArguments, fixed=ONE_PHASE, sampler="once")
def minibatch_sgd(
    task: Task, shared: SiloArguments, *, step_size: Positive, num_averaged: Count = NUM_AVERAGED
) -> Algorithm:
    """Noisy minibatch SGD from w = 0, without regulariser or constraint.

    Args:
        task: stored records, equally many in every silo.
        shared: the arguments of the silos' messages; see SiloArguments.
        step_size: eta > 0.
        num_averaged: A >= 1.
    """
    return run_phases(task, shared, sgd(step_size, num_averaged), same_subproblem(0.0, float("inf")))


METHOD = Method(minibatch_sgd, silos.releases, version=1, check=silos.check, cost=silos.cost, divides=True)
