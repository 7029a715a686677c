"""Ditto (Li, Hu, Beirami, Smith, ICML 2021), private for users: w, and own models w + theta_i that are held near it.

User i minimises its loss at w + theta_i plus lambda / 2 |theta_i|^2 and never sends theta_i. w takes private steps.
"""

import jax
import jax.numpy as jnp

from bench import Algorithm, Method, Scalar, State
from bench.parts import Additive, check_participation, gaussian_like, noisy_sums, participation, user_gradients


def own_models(task, *, num_sampled: int, batch_size: int, sampler: str, step_size: Scalar, local_step_size: Scalar,
               regularization: Scalar, clip_norm: Scalar, noise_multiplier: Scalar) -> Algorithm:  # fmt: skip
    who = participation(task, num_sampled=num_sampled, batch_size=batch_size, sampler=sampler)

    def own_gradient(w, theta, examples, weight):
        model, nothing = jax.tree.map(jnp.add, w, theta), jax.tree.map(jnp.zeros_like, w)
        return jax.grad(lambda v: weight @ jax.vmap(lambda e: task.loss(v, nothing, e))(examples))(model)

    def one_round(key, state):
        (key_draw, key_noise), (w, theta) = jax.random.split(key), state.variables
        (batch, divisor, *_), schedule = who.draw(key_draw, state.schedule)
        clients = jnp.arange(task.num_clients) if batch.clients is None else batch.clients
        mine = jax.tree.map(lambda leaf: leaf[clients], theta)
        slopes = jax.vmap(own_gradient, (None, 0, 0, 0))(w, mine, batch.examples, batch.weight)
        there = batch.weight.sum(1) > 0  # a Poisson sample has empty places

        def stepped(leaf, own, g):
            step = -local_step_size * (g + regularization * own)
            return leaf.at[clients].add(jnp.where(there.reshape(-1, *[1] * (own.ndim - 1)), step, 0.0))

        theta = jax.tree.map(stepped, theta, mine, slopes)
        total = user_gradients(task, w, batch).clipped_sum(clip_norm)
        std, noise = noise_multiplier * clip_norm, gaussian_like(key_noise, w)
        w = jax.tree.map(lambda z, g, n: z - step_size * (g + std * n) / divisor, w, total, noise)
        return State(schedule, (w, theta)), {}

    nothing = jax.tree.map(lambda leaf: jnp.zeros((task.num_clients, *leaf.shape)), task.init_params)
    params, public = (lambda state: Additive(*state.variables)), (lambda state: state.variables[0])
    return Algorithm(lambda key: State(who.init(key), (task.init_params, nothing)), one_round, params, public)


TRIED = {"local_step_size": [3e-5, 1e-4, 3e-4], "regularization": [0.1, 1.0]}  # for inputs as long as those of digits
METHOD = Method(own_models, noisy_sums("all other users together"), version=1, check=check_participation, space=TRIED)
