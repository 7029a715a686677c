"""Ditto (Li, Hu, Beirami, Smith, ICML 2021), private for users: w, and own models w + theta_i that are held near it.

User i minimises its loss at w + theta_i plus lambda / 2 |theta_i|^2 and never sends theta_i. w takes private steps.
"""

import jax
import jax.numpy as jnp

from bench import Algorithm, Method, Scalar, State
from bench.algorithms.parts.participation import check_participation, noisy_sums, participation
from bench.kernels.gradient import clipped_sum, gaussian_like
from bench.models.additive import Additive


def ditto(task, *, num_sampled: int, batch_size: int, sampler: str, step_size: Scalar, local_step_size: Scalar,
          regularization: Scalar, clip_norm: Scalar, noise_multiplier: Scalar) -> Algorithm:  # fmt: skip
    who = participation(task, num_sampled=num_sampled, batch_size=batch_size, sampler=sampler)

    def gradient(model, examples, weight):
        return jax.grad(lambda v: weight @ jax.vmap(lambda e: task.loss(v, 0 * v, e))(examples))(model)

    def one_round(key, state):
        (key_draw, key_noise), (w, theta) = jax.random.split(key), state.variables
        drawn, schedule = who.draw(key_draw, state.schedule)
        clients, (examples, weight) = drawn.batch.clients, (drawn.batch.examples, drawn.batch.weight)
        total, _ = clipped_sum(jax.vmap(gradient, (None, 0, 0))(w, examples, weight), clip_norm)
        noise = noise_multiplier * clip_norm * gaussian_like(key_noise, w)
        there = (weight.sum(1) > 0).astype(w.dtype).reshape(-1, *[1] * w.ndim)  # a Poisson sample has empty places
        pull = jax.vmap(gradient)(w + theta[clients], examples, weight) + regularization * theta[clients]
        theta = theta.at[clients].add(-local_step_size * there * pull)
        return State(schedule, (w - step_size * (total + noise) / drawn.divisor, theta)), {}

    start = task.init_params, jnp.zeros((task.num_clients, *task.init_params.shape))
    params, public = (lambda state: Additive(*state.variables)), (lambda state: state.variables[0])
    return Algorithm(lambda key: State(who.init(key), start), one_round, params, public)


TRIED = {"local_step_size": [3e-5, 1e-4, 3e-4], "regularization": [0.1, 1.0]}  # for inputs as long as those of digits
METHOD = Method(ditto, noisy_sums("all other users together"), version=1, check=check_participation, space=TRIED)
