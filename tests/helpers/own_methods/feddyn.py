"""FedDyn (Acar et al., ICLR 2021) as a user of the suite writes it, private for users.

User i takes K steps on its loss - <h_i, z> + alpha / 2 |z - w|^2 from w, and then h_i <- h_i - alpha (z - w). The
server has the noisy mean change of the models, adds its share to h, and goes to the mean model - h / alpha.
"""

import jax
import jax.numpy as jnp

from bench import Algorithm, Method, Scalar, State
from bench.parts import check_participation, gaussian_like, noisy_sums, participation, user_changes


def feddyn(task, *, num_sampled: int, batch_size: int, sampler: str, step_size: Scalar, alpha: Scalar = 0.1,
           clip_norm: Scalar, noise_multiplier: Scalar, num_steps: int = 5) -> Algorithm:  # fmt: skip
    who = participation(task, num_sampled=num_sampled, batch_size=batch_size, sampler=sampler)

    def one_round(key, state):
        (key_draw, key_noise), (w, h, kept) = jax.random.split(key), state.variables
        (batch, divisor, *_), schedule = who.draw(key_draw, state.schedule)
        clients = jnp.arange(task.num_clients) if batch.clients is None else batch.clients
        towards = jax.tree.map(lambda own: -own[clients], kept)
        changes = user_changes(task, w, batch, num_steps, step_size, towards=towards, proximal=alpha)
        add = alpha * step_size
        kept = jax.tree.map(lambda own, delta: own.at[clients].add(add * delta), kept, changes.each())
        std, noise = noise_multiplier * clip_norm, gaussian_like(key_noise, w)
        mean = jax.tree.map(lambda g, n: (g + std * n) / divisor, changes.clipped_sum(clip_norm), noise)
        h = jax.tree.map(lambda shared, by: shared + num_sampled / task.num_clients * add * by, h, mean)
        w = jax.tree.map(lambda z, by, shared: z - step_size * by - shared / alpha, w, mean, h)
        return State(schedule, (w, h, kept)), {}

    nothing = jax.tree.map(jnp.zeros_like, task.init_params)
    kept = jax.tree.map(lambda leaf: jnp.zeros((task.num_clients, *leaf.shape)), nothing)
    return Algorithm(
        lambda key: State(who.init(key), (task.init_params, nothing, kept)),
        one_round,
        params=lambda state: state.variables[0],
    )


METHOD = Method(
    feddyn,
    noisy_sums("everybody who sees the shared model", kept=True),
    version=1,
    check=check_participation,
)
