"""Smooth approximations of a convex loss that is Lipschitz but not smooth, one example at a time.

Both keep the gradient of every example within the Lipschitz bound of the loss, so noise calibrated for the loss is
calibrated for its smoothing: replacing an example moves no message by more than before.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, PRNGKeyArray


def uniform_ball(key: PRNGKeyArray, shape: tuple[int, ...]) -> Float[Array, "*shape"]:
    """Draw vectors uniformly in the unit ball of the last axis' dimension d: a uniform direction, times U^(1/d)."""
    key_direction, key_length = jax.random.split(key)
    direction = jax.random.normal(key_direction, shape)
    length = jax.random.uniform(key_length, (*shape[:-1], 1)) ** (1 / shape[-1])
    return length * direction / jnp.linalg.norm(direction, axis=-1, keepdims=True)


def moreau_slopes(
    link: Callable,
    scores: Float[Array, " example"],
    targets: Float[Array, " example"],
    stretch: Float[Array, " example"],
    num_steps: int,
) -> Float[Array, " example"]:
    """Return slopes a of the Moreau envelopes of linear examples: the envelope's gradient is a x.

    With f(w) = link(<w, x>, y), the prox of f / beta at w moves along x alone, prox = w - (a / beta) x, where a is
    the link's slope at the score of prox,

        a = link'(<w, x> - a |x|^2 / beta, y)    (at a kink: one of the subgradients there).

    The minimiser is never overshot, so a lies between 0 and link'(<w, x>). In this interval the difference of the two
    sides is monotone, and the interval is halved `num_steps` times: |error| <= 2^-num_steps |link'|. So the gradient is
    within 2^-num_steps L of the envelope's, and no longer than L.

    Args:
        link: (score, target) -> loss, convex in the score.
        scores: <w, x>.
        targets: y.
        stretch: |x|^2 / beta.
        num_steps: halvings.
    """
    slope = jax.vmap(jax.grad(link))
    steepest = slope(scores, targets)

    def halve(_, bounds):
        low, high = bounds  # shares of the steepest slope
        middle = (low + high) / 2
        a = middle * steepest
        too_long = a * jnp.sign(steepest) > slope(scores - a * stretch, targets) * jnp.sign(steepest)
        return jnp.where(too_long, low, middle), jnp.where(too_long, middle, high)

    share = jax.lax.fori_loop(0, num_steps, halve, (jnp.zeros_like(scores), jnp.ones_like(scores)))
    return (share[0] + share[1]) / 2 * steepest
