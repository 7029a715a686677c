"""Rounds of private sums over users, with one mistake by name."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from bench import Algorithm, Method, Scalar, State
from bench.algorithms.parts.participation import check_participation, participation
from bench.kernels.gradient import clip
from bench.privacy.events import poisson_gaussian


def sums(task, *, num_sampled: int, batch_size: int, sampler: str, step_size: Scalar, clip_norm: Scalar,
         noise_multiplier: Scalar, mistake: str = "none") -> Algorithm:  # fmt: skip
    """A noisy sum of clipped user gradients a round, with one mistake."""
    who = participation(task, num_sampled=num_sampled, batch_size=batch_size, sampler=sampler)
    flat, unravel = ravel_pytree(task.init_params)
    sizes = [leaf.size for leaf in jax.tree.leaves(task.init_params)]
    ends = np.cumsum(sizes)[:-1].tolist()

    def in_parts(g, ends):
        return jnp.concatenate([clip(part, clip_norm) for part in jnp.split(g, ends)])

    clips = {
        "by value": lambda g: jnp.clip(g, -clip_norm, clip_norm),
        "halves": lambda g: in_parts(g, [g.size // 2]),
        "leaves": lambda g: in_parts(g, ends),
        "after averaging": lambda g: g,
        "at the largest norm": lambda g: g,
    }

    def gradient(w, examples, weight):
        def loss(w):
            return weight @ jax.vmap(lambda e: task.loss(w, jax.tree.map(jnp.zeros_like, w), e))(examples)

        return ravel_pytree(jax.grad(loss)(w))[0]

    def one_round(key, state):
        key_draw, key_noise = jax.random.split(key)
        w, t, first, remainder = state.variables
        if mistake == "drawn once":
            key_draw = first
        again = {"noise of one key": 0 * t, "noise of every second round": t // 2, "noise of period 4": t % 4}
        if mistake in again:
            key_noise = jax.random.fold_in(first, again[mistake])
        drawn, schedule = who.draw(key_draw, state.schedule)
        gradients = jax.vmap(gradient, (None, 0, 0))(unravel(w), drawn.batch.examples, drawn.batch.weight)
        norms, users = jnp.linalg.norm(gradients, axis=1), drawn.count
        messages = jax.vmap(clips.get(mistake, lambda g: clip(g, clip_norm)))(gradients)
        total, bound = messages.sum(0), jnp.asarray(clip_norm)
        if mistake == "after averaging":
            total = num_sampled * clip(total / num_sampled, clip_norm)
        if mistake == "at the largest norm":
            bound = jnp.maximum(norms.max(), 1e-6)
        if mistake == "remainder":
            total, remainder = total + jax.vmap(lambda g: clip(g, clip_norm))(remainder).sum(0), gradients - messages
        noise = (
            noise_multiplier * bound * jax.random.normal(key_noise, () if mistake == "scalar noise" else total.shape)
        )
        shares = {
            "half": 0.5,
            "noise / 10 from the fifth round": jnp.where(t >= 4, 0.1, 1.0),
            "no noise without participants": jnp.where(users > 0, 1.0, 0.0),
        }
        steps = {
            "step frozen": jnp.where(norms.max() > clip_norm, 0.0, 1.0),
            "private divisor": 1 / (1 + norms.sum()),
            "private step": 1 / jnp.maximum(norms.max(), 1.0),
            "divided by the count": drawn.divisor / jnp.maximum(users, 1.0),
        }
        change = steps.get(mistake, 1.0) * (total + shares.get(mistake, 1.0) * noise) / drawn.divisor
        info = {"clipped": (norms > clip_norm).sum().astype(jnp.float32)}
        return State(schedule, (w - step_size * change, t + 1, first, remainder)), info

    def init(key):
        places = jax.eval_shape(who.draw, key, who.init(key))[0].batch.weight.shape[0]
        return State(who.init(key), (flat, jnp.int32(0), key, jnp.zeros((places, flat.size))))

    return Algorithm(init, one_round, lambda state: unravel(state.variables[0]))


def releases(task, *, delta, num_sampled, noise_multiplier, **_):
    rate = num_sampled / task.num_clients
    return poisson_gaussian(noise_multiplier, sampling_rate=rate, delta=delta, accountant="pld")


METHOD = Method(sums, releases, version=1, check=check_participation)
