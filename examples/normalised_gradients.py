"""The form of a method, nothing more: private SGD in which every user's gradient is scaled to the length C.

python -m bench compare examples/normalised_gradients.py --task synthetic
"""

import jax
import jax.numpy as jnp

from bench import Algorithm, Method, Scalar, State
from bench.parts import check_participation, cost_of_sums, gaussian_like, noisy_sums, participation, user_gradients


def normalised_gradients(
    task,
    *,
    num_sampled: int,
    batch_size: int,
    sampler: str,
    step_size: Scalar,
    clip_norm: Scalar,
    noise_multiplier: Scalar,
) -> Algorithm:
    who = participation(task, num_sampled=num_sampled, batch_size=batch_size, sampler=sampler)

    def one_round(key, state):
        key_draw, key_noise = jax.random.split(key)
        w, (drawn, schedule) = state.variables, who.draw(key_draw, state.schedule)
        gradients = user_gradients(task, w, drawn.batch)
        total = gradients.weighted_sum(clip_norm / jnp.maximum(gradients.norms, 1e-12))  # an absent user's is 0
        std, noise = noise_multiplier * clip_norm, gaussian_like(key_noise, w)
        w = jax.tree.map(lambda z, g, n: z - step_size * (g + std * n) / drawn.divisor, w, total, noise)
        return State(schedule, w), {}

    return Algorithm(lambda key: State(who.init(key), task.init_params), one_round, lambda state: state.variables)


METHOD = Method(
    normalised_gradients,
    noisy_sums("everybody who sees the shared model"),
    version=1,
    check=check_participation,
    cost=cost_of_sums,
)
