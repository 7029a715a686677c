"""Accelerated noisy minibatch SGD on silos (Gao et al. 2024, Algorithm 2; in stages, Algorithm 5).

The AC-SA method of Ghadimi and Lan 2012: with a_r = 2 / (r + 1) and eta_r = 4 v / (r (r + 1)) in round r,

    w_md <- [(1 - a)(mu + eta) w_ag + a ((1 - a) mu + eta) w] / (eta + (1 - a^2) mu)      (the silos' query)
    w    <- argmin a [<g, u> + mu / 2 |w_md - u|^2] + ((1 - a) mu + eta) / 2 |w - u|^2    (g: of the whole objective)
    w_ag <- a w + (1 - a) w_ag                                                            (the answer)

In stages (Ghadimi and Lan 2013) the method restarts from its answer, with each stage twice as long as the one before,
as the theorem's second term of R_k doubles. `silos` describes what is protected, and against whom.
"""

import itertools

import jax.numpy as jnp

from bench.algorithms.base import Algorithm, Method, Scalar
from bench.algorithms.parts import silos
from bench.algorithms.parts.shared_arguments import sharing
from bench.algorithms.parts.silo_arguments import ONE_PHASE, SiloArguments
from bench.algorithms.parts.solver import Solver, run_phases, same_subproblem
from bench.algorithms.ranges import Count, NonNegative, Positive, Radius
from bench.data.task import Task
from bench.kernels.proximal import proximal_step


def stage_rounds(rounds: int, num_stages: int | None) -> list[int]:
    """Return the rounds of S stages: about R / (2^S - 1) times 1, 2, 4, ..., at least one each, and R together.

    Where R is too small there are fewer stages. None takes the largest number of stages that fit, of 1, 2, 4, ...
    rounds.
    """
    num_stages = (rounds + 1).bit_length() - 1 if num_stages is None else min(num_stages, rounds)
    ends = [max(k, round(rounds * (2**k - 1) / (2**num_stages - 1))) for k in range(num_stages + 1)]
    return [end - begin for begin, end in itertools.pairwise(ends)]


def ac_sa(step_size: Scalar, num_stages: int | None = 1, variance: Scalar = 0.0, gap: Scalar = 1.0) -> Solver:
    """Return the solver AC-SA, with v = max(1 / eta + 2 mu, sqrt(mu V^2 / (3 Delta 2^(1-k) R (R + 1) (R + 2)))) in
    stage k.

    The theorem's first term is 2 (beta + mu), twice the smoothness of the regularised objective: eta = 1 / (2 beta).

    Args:
        step_size: eta.
        num_stages: S; None for the largest number that fits.
        variance: V^2, of the mean message; 0 leaves the second term out.
        gap: Delta, of the objective at the start.
    """

    def weights(place, mu):
        """Return a_r and eta_r."""
        r, R = place.round, place.rounds
        against_noise = jnp.sqrt(mu * variance / (3 * gap * 2 ** (1 - place.stage) * R * (R + 1) * (R + 2)))
        v = jnp.maximum(1 / step_size + 2 * mu, against_noise)
        return 2 / (r + 1), 4 * v / (r * (r + 1))

    def query(iterate, place, subproblem):
        mu = subproblem.strength
        a, eta = weights(place, mu)
        mixed = (1 - a) * (mu + eta) * iterate["ag"] + a * ((1 - a) * mu + eta) * iterate["w"]
        return mixed / (eta + (1 - a**2) * mu)

    def step(iterate, gradient, place, subproblem):
        mu = subproblem.strength
        a, eta = weights(place, mu)
        anchors = (query(iterate, place, subproblem), iterate["w"])
        w = proximal_step(a * gradient, anchors, (a * mu, (1 - a) * mu + eta), subproblem.center, subproblem.radius)
        return {"w": w, "ag": a * w + (1 - a) * iterate["ag"]}

    return Solver(
        start=lambda w: {"w": w, "ag": w},
        query=query,
        step=step,
        answer=lambda iterate, place: iterate["ag"],
        stages=lambda rounds: stage_rounds(rounds, num_stages),
    )


@sharing(SiloArguments, fixed=ONE_PHASE)
def accelerated(
    task: Task,
    shared: SiloArguments,
    *,
    step_size: Positive,
    regularization: NonNegative = 0.0,
    radius: Radius = float("inf"),
    variance: NonNegative = 0.0,
    gap: Positive = 1.0,
    num_stages: Count = 1,
) -> Algorithm:
    """Accelerated noisy minibatch SGD from w = 0.

    Args:
        task: stored records, equally many in every silo.
        shared: the arguments of the silos' messages; see SiloArguments.
        step_size, variance, gap, num_stages: see `ac_sa`.
        regularization: mu >= 0; adds mu / 2 |w|^2 to the objective.
        radius: radius of the ball around 0 to which w is constrained.
    """
    solver = ac_sa(step_size, num_stages, variance, gap)
    return run_phases(task, shared, solver, same_subproblem(regularization, radius))


METHOD = Method(accelerated, silos.releases, version=1, check=silos.check, cost=silos.cost, divides=True)
