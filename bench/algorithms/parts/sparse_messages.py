"""Messages with few numbers: the largest of each user, or the same random ones of all users."""

import math
from typing import Any

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from bench.errors import InputError
from bench.kernels import threefry
from bench.kernels.messages import Messages
from bench.kernels.order import kth_largest


def number_kept(kept: float, size: int) -> int:
    """Return k, the number that a share of `size` numbers is, at least 1."""
    return max(1, round(kept * size))


def check_kept(kept: float) -> None:
    """Refuse a share that is none."""
    if not 0 < kept <= 1 or math.isnan(kept):
        raise InputError(
            f"kept is {kept:g}: it is the share of a message's numbers that is sent, above 0 and at most 1"
        )


def largest(messages: Messages, kept: float) -> Messages:
    """Return the k largest numbers of every message in absolute value, and 0 elsewhere; of several alike all are kept.

    Which they are differs by user and is private, so the server's noise stays as it is.

    Args:
        messages: of the users.
        kept: k / d; 1 changes nothing.
    """

    def of_user(delta: Any) -> Any:
        sizes = jnp.abs(ravel_pytree(delta)[0])
        least = kth_largest(sizes, number_kept(kept, sizes.shape[0]))
        return jax.tree.map(lambda leaf: jnp.where(jnp.abs(leaf) >= least, leaf, 0), delta)

    return messages if kept == 1 else messages.map(of_user)


def random_mask(key: Any, w: Any, kept: float) -> Any:
    """Return 1 at k of the d numbers of w, uniformly at random, and 0 elsewhere.

    Args:
        key: of public randomness.
        w: the model.
        kept: k / d.
    """
    numbers, shaped = ravel_pytree(w)
    draws = threefry.uniform(key, numbers.shape)
    _, places = jax.lax.top_k(draws, number_kept(kept, numbers.shape[0]))
    return shaped(jnp.zeros_like(numbers).at[places].set(1))
