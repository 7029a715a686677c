"""FedExP (Jhunjhunwala, Wang, Joshi, ICLR 2023), private for users: the server's step follows from what users send.

User i takes K local steps and sends its change Delta_i, clipped, and its squared length. The server releases a noisy
sum of each, S and T, and goes by max(1, D T / (2 |S|^2)) times the mean change.
"""

import jax
import jax.numpy as jnp

from bench import Algorithm, Method, Scalar, State
from bench.parts import check_participation, gaussian_like, noisy_sums, participation, sums_in_one_round, user_changes

OF_SQUARES = 3.0  # times the noise of the changes, for their squared lengths


def fedexp(task, *, num_sampled: int, batch_size: int, sampler: str, step_size: Scalar, clip_norm: Scalar,
           noise_multiplier: Scalar, num_steps: int = 5) -> Algorithm:  # fmt: skip
    who = participation(task, num_sampled=num_sampled, batch_size=batch_size, sampler=sampler)

    def one_round(key, state):
        (key_draw, key_sum, key_squares), w = jax.random.split(key, 3), state.variables
        drawn, schedule = who.draw(key_draw, state.schedule)
        changes = user_changes(task, w, drawn.batch, num_steps, step_size)
        noise, std = gaussian_like(key_sum, w), noise_multiplier * clip_norm
        total = jax.tree.map(lambda g, n: g + std * n, changes.clipped_sum(clip_norm), noise)
        squares = jnp.sum(jnp.square(jnp.minimum(changes.norms / clip_norm, 1.0)))  # a user adds at most 1
        squares = squares + OF_SQUARES * noise_multiplier * jax.random.normal(key_squares)
        length = sum(jnp.sum(jnp.square(g / clip_norm)) for g in jax.tree.leaves(total))
        factor = jnp.maximum(1.0, drawn.divisor * squares / (2 * length + 1e-6))
        w = jax.tree.map(lambda z, g: z - factor * step_size * g / drawn.divisor, w, total)
        return State(schedule, w), {}

    return Algorithm(lambda key: State(who.init(key), task.init_params), one_round, lambda state: state.variables)


def releases(task, *, delta, noise_multiplier, **args):
    both = sums_in_one_round(noise_multiplier, OF_SQUARES * noise_multiplier)
    return noisy_sums("everybody who sees the shared model")(task, delta=delta, noise_multiplier=both, **args)


METHOD = Method(fedexp, releases, version=1, check=check_participation)
