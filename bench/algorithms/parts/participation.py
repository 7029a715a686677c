"""Sampling of the users of a round and of their examples, shared by the user-level methods.

Everything here depends on the key and the data alone, never on a hyper-parameter that a sweep varies. The releases of
such rounds and the checks of their arguments are in `user_level`, and are imported from here.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from bench.algorithms.parts.user_level import (
    SAMPLERS,
    check_participation,
    cost_of_sums,
    noisy_sums,
    num_groups,
    readings,
    separation,
)
from bench.data.task import Task
from bench.kernels import sampling
from bench.kernels.personal import Batch

__all__ = [
    "SAMPLERS",
    "Draw",
    "Participation",
    "Round",
    "check_participation",
    "cost_of_sums",
    "noisy_sums",
    "participation",
    "readings",
    "separation",
]


class Draw(NamedTuple):
    """The participants of one round.

    batch: their minibatches.
    divisor: the divisor of the sum over users.
    count: the number of users that take part.
    released: whether the server publishes anything. It publishes nothing when the queue is empty; a Poisson round in
        which nobody takes part still publishes its noise.
    expected: the number of participants that is public, actual or expected; at least 1.
    """

    batch: Batch
    divisor: float | Array
    count: Array
    released: Array
    expected: float | Array


class Round(NamedTuple):
    """A round's `Draw` without the minibatches, which were used block by block."""

    divisor: float | Array
    count: Array
    released: Array
    expected: float | Array


class Participation(NamedTuple):
    """The draw of participants, all at once or in blocks of users; both draw the same users from the same key.

    init: key -> schedule.
    draw: (key, schedule) -> (Draw, schedule).
    in_blocks: (key, schedule, work, kept, numbers) -> (kept, sums, Round, schedule). It folds
        work: (kept, Batch) -> (kept, sums) over blocks of the round's users, adding up the sums, so that memory grows
        with a block and not with the round. `kept` is what users keep; a block changes that of its own users alone.
        `numbers` is the number of values that a user holds in addition to its examples, such as those of its gradient.
    """

    init: Callable
    draw: Callable
    in_blocks: Callable


# Rounds of at most this many users are one block, so that their results stay bitwise as they were without blocks.
WHOLE = 1024
BLOCK_BYTES = 2**24  # of examples and gradients of the users of a block


def block_size(num_users: int, bytes_a_user: int) -> int:
    """Return the number of users that are processed together in a round of `num_users`."""
    if num_users <= WHOLE:
        return num_users
    return min(num_users, 2 ** (max(BLOCK_BYTES // bytes_a_user, 1).bit_length() - 1))


def participation(
    task: Task, *, num_sampled: int, batch_size: int, sampler: str, num_epochs: int = 1, reduce: str = "mean"
) -> Participation:
    """Draw users and their minibatches.

    Args:
        task: stored examples or a stream.
        num_sampled: Q, users in a round; with "poisson" the expected number, q = Q / N.
        batch_size: m, examples of a user in a round; a user with fewer uses all it has, except with "queue".
        sampler: "all" users; "fixed" size without replacement; "poisson", each with probability q; "queue":
            each user holds `num_epochs` passes over its blocks of `batch_size` consecutive examples (the
            remainder is not used), and Q random users with blocks left use one each; "cyclic": all users are randomly
            divided at the start into ceil(N / Q) groups of nearly equal size, which take turns, so that the number of
            rounds between two rounds of a user is constant. (With unequal groups, the noise on the mean of a small
            group would be large.)
        num_epochs: passes, used by "queue" only.
        reduce: "mean" or "sum" of a user's example gradients. With "mean" the divisor is the number of participants
            ("queue", "cyclic") or its expectation q N (other samplers). With "sum" it is this number times the mean
            minibatch size of the users; with "queue", times `batch_size`.
    """
    num_clients = task.num_clients
    rate = num_sampled / num_clients
    sizes = jnp.minimum(task.num_examples, batch_size)
    num_blocks = task.num_examples // batch_size
    expected = rate * (jnp.sum(sizes, dtype=jnp.float32) if reduce == "sum" else num_clients)

    def init(key):
        if sampler == "cyclic":
            return jnp.int32(0), *sampling.dealt(key, num_clients, num_groups(task, num_sampled))
        if sampler != "queue":
            return ()
        return sampling.queue_start(key, num_blocks, num_epochs, task.capacity // batch_size)

    def clients_of(key, schedule):
        """Return the clients (None for all, in order), which places are taken, their blocks, and the schedule."""
        if sampler == "queue":
            queue, clients, blocks, present = sampling.queue_draw(key, schedule, num_blocks, num_sampled)
            return clients, present, blocks, queue
        if sampler == "cyclic":
            t, groups, taken = schedule
            turn = t % groups.shape[0]
            return groups[turn], taken[turn], None, (t + 1, groups, taken)
        if sampler == "poisson":
            bound = sampling.poisson_bound(num_clients, rate)
            return *sampling.poisson(key, num_clients, rate, bound), None, schedule
        clients = None if sampler == "all" else sampling.fixed_size(key, num_clients, num_sampled)
        return clients, jnp.ones(num_sampled, bool), None, schedule

    def examples_of(key, clients, blocks, first):
        """Return rows of the stored examples (None for a stream), the examples, and which of them are real."""
        if task.train is None:
            assert task.sample is not None
            taken = sizes if clients is None else sizes[clients]
            key = key if first is None else jax.random.fold_in(key, first)
            return None, task.sample(key, task, clients, batch_size), jnp.arange(batch_size)[None] < taken[:, None]
        if clients is None:
            everything = jnp.broadcast_to(jnp.arange(batch_size), (num_clients, batch_size))
            if batch_size == task.capacity:  # every user uses all its examples, so nothing is drawn or copied
                return everything, task.train, everything < sizes[:, None]
            clients = jnp.arange(num_clients)
        if blocks is None:
            rows, real = sampling.distinct_rows(key, task.num_examples[clients], task.capacity, batch_size, first)
        else:
            rows = blocks[:, None] * batch_size + jnp.arange(batch_size)[None]
            real = jnp.ones(rows.shape, bool)
        return rows, jax.tree.map(lambda leaf: leaf[clients[:, None], rows], task.train), real

    def batch_of(key, clients, present, blocks, first=None):
        """Return the minibatches of these users; `first` is the position in the round of the first, None for all."""
        rows, examples, real = examples_of(key, clients, blocks, first)
        weight = (real & there(clients, present)[:, None]).astype(jnp.float32)
        if reduce == "mean":
            weight = weight / jnp.maximum(jnp.sum(real, axis=1, keepdims=True, dtype=jnp.float32), 1.0)
        return Batch(clients, rows, examples, weight)

    def there(clients, present):
        """Return which places are taken by a client that is present; see `Task.present`."""
        if task.present is None:
            return present
        return present & (task.present if clients is None else task.present[clients])

    def round_of(clients, present):
        # The schedule is public, and so is what follows from it, whether or not a scheduled client is present.
        scheduled = jnp.sum(present, dtype=jnp.float32)
        count = jnp.sum(there(clients, present), dtype=jnp.float32)
        if sampler not in ("queue", "cyclic"):
            return Round(expected, count, jnp.ones((), bool), float(num_sampled))
        users = jnp.maximum(scheduled, 1.0)
        each = 1 if reduce == "mean" else batch_size if sampler == "queue" else expected / num_sampled
        return Round(users * each, count, scheduled > 0, users)

    def draw(key, schedule):
        key_clients, key_examples = jax.random.split(key)
        clients, present, blocks, schedule = clients_of(key_clients, schedule)
        return Draw(batch_of(key_examples, clients, present, blocks), *round_of(clients, present)), schedule

    def in_blocks(key, schedule, work, kept, numbers):
        key_clients, key_examples = jax.random.split(key)
        clients, present, blocks, schedule = clients_of(key_clients, schedule)
        places = present.shape[0]
        size = block_size(places, 4 * numbers + _example_bytes(task, batch_size))
        if size == places:
            kept, sums = work(kept, batch_of(key_examples, clients, present, blocks))
            return kept, sums, round_of(clients, present), schedule
        # Empty places of weight 0 at the end make the blocks equal.
        users = jnp.arange(places) if clients is None else clients, present, blocks
        users = jax.tree.map(lambda leaf: jnp.pad(leaf, (0, -places % size)), users)

        def batch_at(first):
            who, there, theirs = jax.tree.map(lambda leaf: jax.lax.dynamic_slice_in_dim(leaf, first, size), users)
            return batch_of(key_examples, who, there, theirs, first)

        def one_block(carry, first):
            kept, totals = carry
            kept, sums = work(kept, batch_at(first))
            return (kept, jax.tree.map(jnp.add, totals, sums)), None

        shapes = jax.eval_shape(lambda kept: work(kept, batch_at(0))[1], kept)
        nothing = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
        (kept, sums), _ = jax.lax.scan(one_block, (kept, nothing), jnp.arange(0, places, size))
        return kept, sums, round_of(clients, present), schedule

    return Participation(init, draw, in_blocks)


def _example_bytes(task: Task, batch_size: int) -> int:
    """Return the bytes of one user's minibatch."""
    example, sample = task.train, task.sample
    if example is None:
        assert sample is not None
        example = jax.eval_shape(lambda key: sample(key, task, jnp.zeros(1, jnp.int32), 1), jax.random.key(0))
    return batch_size * sum(math.prod(leaf.shape[2:]) * leaf.dtype.itemsize for leaf in jax.tree.leaves(example))
