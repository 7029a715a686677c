"""DP-FTRL's tree of partial sums, with as much of the noise as is asked for."""

import math

import jax
import jax.numpy as jnp

from bench import Algorithm, Method, Scalar, State
from bench.kernels.gradient import clip
from bench.privacy.events import full_gaussian

LEVELS = 4  # of the tree, at most


def ftrl(
    task, *, step_size: Scalar, clip_norm: Scalar, noise_multiplier: Scalar, takes_part: str = "once"
) -> Algorithm:
    """One user a round, in order; or everybody in every round."""

    def noise(key, t, shape):
        """Of the first t gradients: from the nodes that make up t in binary."""

        def of_level(level):
            node = jax.random.normal(jax.random.fold_in(jax.random.fold_in(key, level), t >> level), shape)
            return ((t >> level) & 1).astype(jnp.float32) * node

        return noise_multiplier * clip_norm * jax.vmap(of_level)(jnp.arange(LEVELS)).sum(0)

    def params(state):
        tree, total, t = state.variables
        return task.init_params - step_size * (total + noise(tree, t, total.shape))

    def one_round(key, state):
        tree, total, t = state.variables
        w = params(state)

        def message(examples):
            each = jax.vmap(lambda one: jax.grad(task.loss)(w, 0 * w, one))(examples)
            return clip(each.mean(0), clip_norm)

        messages = jax.vmap(message)(task.train)
        new = messages.sum(0) if takes_part == "always" else messages[t % task.num_clients]
        return State((), (tree, total + new, t + 1)), {}

    start = jnp.zeros_like(task.init_params), jnp.int32(0)
    return Algorithm(lambda key: State((), (key, *start)), one_round, params)


def method(noise_is: float) -> Method:
    """It adds so much of the noise that it declares."""

    def releases(task, *, delta, noise_multiplier, takes_part, **_):
        def event(rounds):
            # A leaf is in one node of every level. In 2^h rounds the nodes of a level hold 2^h leaves, 2^l in each.
            height = rounds.bit_length()
            assert rounds <= task.num_clients
            moved = sum(2**level * rounds for level in range(height)) if takes_part == "always" else height
            return full_gaussian(noise_multiplier / noise_is / math.sqrt(moved), delta=delta).event(1)

        return full_gaussian(noise_multiplier, delta=delta)._replace(event=event)

    return Method(ftrl, releases, version=1)
