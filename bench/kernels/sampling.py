"""Sampling of the clients of a round and of their examples.

Nothing here depends on a hyper-parameter that a sweep varies, so a draw is made once for all points.
"""

import math
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float32, Int, Int32, PRNGKeyArray
from scipy import stats

from bench.kernels import threefry


def fixed_size(key: PRNGKeyArray, num_clients: int, num_sampled: int) -> Int32[Array, " {num_sampled}"]:
    """Draw a uniformly random subset of exactly `num_sampled` clients, without replacement."""
    return jax.lax.top_k(threefry.uniform(key, (num_clients,)), num_sampled)[1]


def fixed_size_of(
    key: PRNGKeyArray, allowed: Bool[Array, " client"], num_sampled: int
) -> tuple[Int32[Array, " {num_sampled}"], Bool[Array, " {num_sampled}"]]:
    """Draw `num_sampled` of the allowed clients, or all of them where they are fewer.

    Returns:
        Clients, all different, and whether each place is taken.
    """
    draws = threefry.uniform(key, allowed.shape)
    best, clients = jax.lax.top_k(jnp.where(allowed, draws, -1.0), num_sampled)
    return clients, best >= 0


def poisson(
    key: PRNGKeyArray, num_clients: int, rate: float, bound: int
) -> tuple[Int32[Array, " {bound}"], Bool[Array, " {bound}"]]:
    """Draw every client independently with probability `rate`, padded to `bound` places.

    If more than `bound` clients are drawn, a uniformly random `bound` of them are kept; `poisson_bound` bounds the
    probability of this.

    Returns:
        Clients, all different, and whether each place is taken.
    """
    draws = threefry.uniform(key, (num_clients,))
    smallest, clients = jax.lax.top_k(-draws, bound)
    return clients, -smallest < rate


def poisson_in_order(
    key: PRNGKeyArray, num: int, rate: float, bound: int
) -> tuple[Int32[Array, " {bound}"], Int32[Array, ""]]:
    """Draw each of `num` items independently with probability `rate`, in increasing order, with `bound` random numbers.

    The gaps between the drawn items are geometric. If more than `bound` are drawn, the first are kept; `poisson_bound`
    bounds the probability of this.

    Returns:
        Numbers of items, the drawn ones first, and how many are drawn.
    """
    if rate == 1:
        return jnp.minimum(jnp.arange(bound), num - 1), jnp.asarray(num)
    tiny = float(jnp.finfo(jnp.float32).tiny)
    gaps = jnp.floor(jnp.log(threefry.uniform(key, (bound,), tiny)) / math.log1p(-rate))
    # Gaps beyond the end are cut to the end, so that their sums do not overflow.
    places = jnp.cumsum(jnp.minimum(gaps, num).astype(jnp.int32) + 1) - 1
    return jnp.minimum(places, num - 1), jnp.sum(places < num, dtype=jnp.int32)


def poisson_bound(num_clients: int, rate: float, failure: float = 1e-12) -> int:
    """Return the least number of places that a Poisson sample exceeds with probability at most `failure` >= 1e-15.

    The bound moves a round's output by at most `failure` in total variation: it adds at most
    (1 + e^epsilon) * rounds * failure to delta. With the default that is below 1e-6 in 20,000 rounds at epsilon 3.
    """
    return min(num_clients, int(stats.binom.isf(failure, num_clients, rate)))


def uniform_rows(
    key: PRNGKeyArray, first: int | Int[Array, ""], num_rows: int, width: int
) -> Float32[Array, "{num_rows} {width}"]:
    """Return rows first, first + 1, ... of `jax.random.uniform(key, (any number, width))`, without the other rows.

    JAX's default generator hashes the key with each number's place, counted row by row. With another generator, or with
    the default set to count in another way, the rows hold other independent numbers.

    Args:
        key: randomness.
        first: row; first + num_rows rows hold fewer than 2^32 numbers.
        num_rows, width: of the result.
    """
    if not threefry.counts_places(key):
        return jax.random.uniform(jax.random.fold_in(key, first), (num_rows, width))
    rows = jnp.asarray(first).astype(jnp.uint32) + jnp.arange(num_rows, dtype=jnp.uint32)
    places = rows[:, None] * jnp.uint32(width) + jnp.arange(width, dtype=jnp.uint32)[None]
    return threefry.fraction(threefry.at_places(key, places))


def distinct_rows(
    key: PRNGKeyArray,
    num_examples: Int[Array, " client"],
    capacity: int,
    batch_size: int,
    first: int | Int[Array, ""] | Int[Array, " client"] | None = None,
) -> tuple[Int32[Array, "client {batch_size}"], Bool[Array, "client {batch_size}"]]:
    """Draw `batch_size` different examples of each client, uniformly at random without replacement.

    Args:
        key: randomness.
        num_examples: how many of the `capacity` padded examples are real.
        capacity: length of the padded example axis, at least `batch_size`.
        batch_size: places in the minibatch.
        first: the number of clients before these, or the place of each of them, where these are part of all clients.
            Their rows are then the same as if all clients were given together.

    Returns:
        Rows, and which of them are real: a client with fewer examples than `batch_size` uses all of them.
    """
    count = num_examples.shape[0]
    if first is None:
        draws = threefry.uniform(key, (count, capacity))
    elif jnp.ndim(first) == 0:
        draws = uniform_rows(key, first, count, capacity)
    else:
        draws = threefry.uniform_at_rows(key, jnp.asarray(first), capacity)
    real = jnp.arange(capacity)[None] < num_examples[:, None]
    best, rows = jax.lax.top_k(jnp.where(real, draws, -1.0), batch_size)
    return rows, best >= 0


def deal(
    key: PRNGKeyArray, num_clients: int, num_groups: int
) -> tuple[Int32[Array, "{num_groups} place"], Bool[Array, "{num_groups} place"]]:
    """Divide all clients at random into groups whose sizes differ by one at most.

    Returns:
        Clients, and whether each place is taken; an empty place is the last of its group, and holds client 0.
    """
    places = -(-num_clients // num_groups)
    taken = jnp.arange(places * num_groups) < num_clients
    order = jnp.pad(jax.random.permutation(key, num_clients), (0, places * num_groups - num_clients))
    return order.astype(jnp.int32).reshape(places, num_groups).T, taken.reshape(places, num_groups).T


def bins(key: PRNGKeyArray, num_clients: int, num_bins: int) -> Int32[Array, " {num_clients}"]:
    """Draw a bin for every client, uniformly and independently."""
    return jax.random.randint(key, (num_clients,), 0, num_bins)


class Queue(NamedTuple):
    """Every client's blocks in the order in which it will use them, and its position in this order.

    order: block numbers; an independent permutation per epoch.
    position: the number of blocks that each client has used.
    """

    order: Int32[Array, "client epoch block"]
    position: Int32[Array, " client"]


def queue_start(
    key: PRNGKeyArray,
    num_blocks: Int32[Array, " client"],
    num_epochs: int,
    max_blocks: int,
    numbers: Int32[Array, " client"] | None = None,
) -> Queue:
    """Return queues of `num_epochs` passes over each client's blocks.

    Args:
        key: randomness.
        num_blocks: blocks of each client; at most `max_blocks`.
        num_epochs: passes.
        max_blocks: length of the padded block axis.
        numbers: of the clients among all clients, where these are part of them. Their queues are then the same as if
            all clients were given together.
    """
    shape = num_blocks.shape[0], num_epochs, max_blocks
    if numbers is None:
        draws = threefry.uniform(key, shape)
    else:
        draws = threefry.uniform_at_rows(key, numbers, num_epochs * max_blocks).reshape(shape)
    real = jnp.arange(max_blocks)[None, None] < num_blocks[:, None, None]
    order = jnp.argsort(jnp.where(real, draws, jnp.inf), axis=-1)
    return Queue(order.astype(jnp.int32), jnp.zeros_like(num_blocks))


def queue_draw(
    key: PRNGKeyArray, queue: Queue, num_blocks: Int32[Array, " client"], num_sampled: int
) -> tuple[Queue, Int32[Array, " {num_sampled}"], Int32[Array, " {num_sampled}"], Bool[Array, " {num_sampled}"]]:
    """Draw `num_sampled` random clients among those that still have blocks, and the next block of each.

    Fewer take part when fewer are left. The rounds are not independent: a client takes part in exactly
    num_epochs * num_blocks of them.

    Returns:
        The queue, clients, their blocks, and whether each place is taken.
    """
    clients, present = fixed_size_of(key, queue.position < queue.order.shape[1] * num_blocks, num_sampled)
    blocks = queued_blocks(queue.order, clients, queue.position[clients], num_blocks[clients])
    return queue._replace(position=queue.position.at[clients].add(present.astype(jnp.int32))), clients, blocks, present


def queued_blocks(
    order: Int32[Array, "client epoch block"],
    clients: Int32[Array, " sampled"],
    position: Int32[Array, " sampled"],
    num_blocks: Int32[Array, " sampled"],
) -> Int32[Array, " sampled"]:
    """Return the next block of each of these clients.

    Args:
        order: as in `Queue`.
        clients: rows of `order`.
        position: the number of blocks that each of them has used.
        num_blocks: blocks of each of them.
    """
    epoch, place = jnp.divmod(position, jnp.maximum(num_blocks, 1))
    return order[clients, jnp.minimum(epoch, order.shape[1] - 1), place]


def queue_rounds(
    num_blocks: Sequence[int] | Int[Array, " client"] | Int[np.ndarray, " client"],
    num_epochs: int,
    num_sampled: int,
    seed: int = 0,
) -> int:
    """Return the number of rounds until `queue_draw` has emptied every queue, by simulating one schedule.

    The number depends on the draw only through the tail in which fewer than `num_sampled` clients are left.

    Args:
        num_blocks: blocks of each client.
        num_epochs: passes.
        num_sampled: clients in a round.
        seed: of the simulated schedule.
    """
    return _play_queue(tuple(np.asarray(num_blocks).tolist()), num_epochs, num_sampled, seed)[1]


def full_queue_rounds(
    num_blocks: Sequence[int] | Int[Array, " client"] | Int[np.ndarray, " client"],
    num_epochs: int,
    num_sampled: int,
    seed: int = 0,
) -> int:
    """Return the number of rounds in which `queue_draw` draws all `num_sampled` clients, by simulating one schedule.

    The rounds after these are the tail. The arguments are those of `queue_rounds`.
    """
    return _play_queue(tuple(np.asarray(num_blocks).tolist()), num_epochs, num_sampled, seed)[0]


@cache
def _play_queue(num_blocks: tuple[int, ...], num_epochs: int, num_sampled: int, seed: int) -> tuple[int, int]:
    """Return the number of rounds in which `num_sampled` clients take part, and of rounds in which any client does."""
    rng = np.random.default_rng(seed)
    remaining = np.array(num_blocks) * num_epochs
    full_rounds = rounds = 0
    while (available := np.flatnonzero(remaining)).size:
        remaining[rng.permutation(available)[:num_sampled]] -= 1
        rounds += 1
        full_rounds += available.size >= num_sampled
    return full_rounds, rounds
