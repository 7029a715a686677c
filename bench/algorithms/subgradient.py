"""Noisy minibatch subgradient method on silos, for losses without a smooth gradient (Gao et al. 2024, Algorithm 3).

    w_{r+1} <- Proj[w_r - eta_r g_r],  eta_r = 2 eta / (r + 1);    answer: sum_r 2 r / (R (R + 1)) w_r.

With eta = 1 / lambda for a lambda-strongly convex objective this is Theorem 6.2 of Bubeck 2015. What is protected,
and against whom: see `silos`.
"""

import jax.numpy as jnp

from bench.algorithms import silos
from bench.algorithms.base import Algorithm, Method, Scalar
from bench.algorithms.solver import Solver, on_silos, one_ball
from bench.data.task import Task
from bench.kernels.proximal import project_ball


def decreasing_steps(step_size) -> Solver:
    """Projected steps min(eta, 1 / lambda) 2 / (r + 1); answers with the iterates weighted by r."""

    def step(iterate, gradient, place, problem):
        eta = jnp.minimum(step_size, 1 / problem.strength) * 2 / (place.round + 1)
        w = project_ball(iterate["w"] - eta * gradient, problem.center, problem.radius)
        return {"w": w, "total": iterate["total"] + place.round * iterate["w"]}

    def answer(iterate, place):
        r = place.round
        return jnp.where(r > 0, iterate["total"] * 2 / jnp.maximum(r * (r + 1), 1.0), iterate["w"])

    return Solver(
        start=lambda w: {"w": w, "total": jnp.zeros_like(w)},
        query=lambda iterate, place, problem: iterate["w"],
        step=step,
        answer=answer,
    )


def subgradient(
    task: Task,
    *,
    num_sampled: int,
    phase_rounds: int,
    step_size: Scalar,
    clip_norm: Scalar,
    noise_multiplier: Scalar,
    regularization: Scalar = 0.0,
    radius: Scalar = float("inf"),
    sampler: str = "all",
    batch_size: int = 1,
    smoothing: str = "none",
    smoothing_radius: Scalar = 0.0,
    moreau_smoothness: Scalar = 1.0,
) -> Algorithm:
    """The noisy subgradient method from w = 0.

    Args:
        task: stored records, as many in every silo.
        num_sampled: M, silos that answer in a round.
        phase_rounds: R, communication rounds.
        step_size: eta; min(eta, 1 / regularization) is used.
        regularization: lambda >= 0; adds lambda / 2 |w|^2 to the objective.
        radius: of the ball around 0 that w stays in.
        clip_norm, noise_multiplier, smoothing, smoothing_radius, moreau_smoothness: see `silos.silos`.
        sampler, batch_size: see `silos.phases`.
    """
    return on_silos(
        task,
        decreasing_steps(step_size),
        one_ball(regularization, radius),
        sampler=sampler,
        cut={"phase_rounds": phase_rounds, "batch_size": batch_size},
        num_sampled=num_sampled,
        clip_norm=clip_norm,
        noise_multiplier=noise_multiplier,
        smoothing=smoothing,
        smoothing_radius=smoothing_radius,
        moreau_smoothness=moreau_smoothness,
    )


METHOD = Method(subgradient, silos.releases, version=1, check=silos.check)
