"""SCAFFOLD (Karimireddy et al., ICML 2020) as a user of the suite writes it, private for users.

User i takes K steps z <- z - eta (g_i(z) - c_i + c) and then has c_i <- the mean of its K gradients. Its message is the
change D_i of c_i, clipped, from which the server also has the mean of the users' models: w - eta K (mean D_i + c).
"""

import jax
import jax.numpy as jnp

from bench import Algorithm, Method, Scalar, State
from bench.parts import check_participation, clipped_sum, gaussian_like, noisy_sums, participation, user_changes


def scaffold(task, *, num_sampled: int, batch_size: int, sampler: str, step_size: Scalar, clip_norm: Scalar,
             noise_multiplier: Scalar, num_steps: int = 5) -> Algorithm:  # fmt: skip
    who = participation(task, num_sampled=num_sampled, batch_size=batch_size, sampler=sampler)

    def one_round(key, state):
        (key_draw, key_noise), (w, c, kept) = jax.random.split(key), state.variables
        (batch, divisor, *_), schedule = who.draw(key_draw, state.schedule)
        clients = jnp.arange(task.num_clients) if batch.clients is None else batch.clients
        towards = jax.tree.map(lambda shared, own: shared[None] - own[clients], c, kept)
        each = user_changes(task, w, batch, num_steps, step_size, towards=towards).each()
        there = batch.weight.sum(1) > 0

        def change(delta, shared):
            return jnp.where(there.reshape(-1, *[1] * shared.ndim), delta / num_steps - shared[None], 0.0)

        changes = jax.tree.map(change, each, c)
        kept = jax.tree.map(lambda own, by: own.at[clients].add(by), kept, changes)
        std, noise = noise_multiplier * clip_norm, gaussian_like(key_noise, w)
        mean = jax.tree.map(lambda g, n: (g + std * n) / divisor, clipped_sum(changes, clip_norm), noise)
        w = jax.tree.map(lambda z, by, shared: z - step_size * num_steps * (by + shared), w, mean, c)
        c = jax.tree.map(lambda shared, by: shared + num_sampled / task.num_clients * by, c, mean)
        return State(schedule, (w, c, kept)), {}

    nothing = jax.tree.map(jnp.zeros_like, task.init_params)
    kept = jax.tree.map(lambda leaf: jnp.zeros((task.num_clients, *leaf.shape)), nothing)
    return Algorithm(
        lambda key: State(who.init(key), (task.init_params, nothing, kept)),
        one_round,
        params=lambda state: state.variables[0],
    )


METHOD = Method(
    scaffold,
    noisy_sums("everybody who sees the shared model", kept=True),
    version=1,
    check=check_participation,
)
