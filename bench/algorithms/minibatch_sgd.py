"""Noisy minibatch SGD on silos (Lowy and Razaviyayn 2023; the baseline of Gao et al. 2024, section 4).

Every round M of the N silos send a noisy mean of clipped gradients, and the server takes a step:

    w <- w - eta mean_l m_l,    answer: the mean of the last iterates.

With sampler "once" every record is used in one round: the one-pass method. With "all" it is used in every round.
What is protected, and against whom: see `silos`.
"""

import jax.numpy as jnp

from bench.algorithms import silos
from bench.algorithms.base import Algorithm, Method, Scalar
from bench.algorithms.solver import Solver, on_silos, one_ball
from bench.data.task import Task
from bench.kernels.proximal import project_ball

NUM_AVERAGED = 8  # the authors' programs average the last eight iterates


def sgd(step_size) -> Solver:
    """Projected gradient steps of length min(eta, 1 / lambda); answers with the mean of the last iterates."""

    def averaged(place):
        """How many of the last iterates the answer holds so far; 0 before the last eight rounds."""
        return jnp.clip(place.round - place.rounds + NUM_AVERAGED, 0, jnp.minimum(place.round, NUM_AVERAGED))

    def step(iterate, gradient, place, problem):
        eta = jnp.minimum(step_size, 1 / problem.strength)
        w = project_ball(iterate["w"] - eta * gradient, problem.center, problem.radius)
        return {"w": w, "total": iterate["total"] + jnp.where(averaged(place) > 0, w, 0.0)}

    def answer(iterate, place):
        count = averaged(place)
        return jnp.where(count > 0, iterate["total"] / jnp.maximum(count, 1.0), iterate["w"])

    return Solver(
        start=lambda w: {"w": w, "total": jnp.zeros_like(w)},
        query=lambda iterate, place, problem: iterate["w"],
        step=step,
        answer=answer,
    )


def minibatch_sgd(
    task: Task,
    *,
    num_sampled: int,
    phase_rounds: int,
    step_size: Scalar,
    clip_norm: Scalar,
    noise_multiplier: Scalar,
    sampler: str = "once",
    batch_size: int = 1,
    smoothing: str = "none",
    smoothing_radius: Scalar = 0.0,
    moreau_smoothness: Scalar = 1.0,
) -> Algorithm:
    """Noisy minibatch SGD from w = 0, without regulariser or constraint.

    Args:
        task: stored records, as many in every silo.
        num_sampled: M, silos that answer in a round.
        phase_rounds: R, communication rounds.
        step_size: eta > 0.
        clip_norm, noise_multiplier, smoothing, smoothing_radius, moreau_smoothness: see `silos.silos`.
        sampler, batch_size: see `silos.phases`.
    """
    return on_silos(
        task,
        sgd(step_size),
        one_ball(0.0, float("inf")),
        sampler=sampler,
        cut={"phase_rounds": phase_rounds, "batch_size": batch_size},
        num_sampled=num_sampled,
        clip_norm=clip_norm,
        noise_multiplier=noise_multiplier,
        smoothing=smoothing,
        smoothing_radius=smoothing_radius,
        moreau_smoothness=moreau_smoothness,
    )


METHOD = Method(minibatch_sgd, silos.releases, version=1, check=silos.check)
