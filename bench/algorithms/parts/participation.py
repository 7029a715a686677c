"""The participants of a round and their examples, shared by the user-level methods.

Everything here depends on the key and the data alone, never on a hyper-parameter that a sweep varies. Who takes part is
drawn by `samplers`. The releases of such rounds and the checks of their arguments are in `user_level`, and are imported
from here.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from bench.algorithms.parts.samplers import SAMPLERS, Rounds, sampler_of
from bench.algorithms.parts.user_level import (
    check_participation,
    cost_of_sums,
    noisy_sums,
    num_groups,
    readings,
    separation,
)
from bench.data.task import Task
from bench.errors import InputError
from bench.kernels import sampling
from bench.kernels.personal import Batch
from bench.kernels.platforms import by_platform

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
BLOCK_BYTES = 2**24, 2**30  # of examples and gradients of the users of a block, on a CPU and on an accelerator


def block_size(num_users: int, bytes_a_user: int) -> int:
    """Return the number of users that are processed together in a round of `num_users`."""
    if num_users <= WHOLE:
        return num_users
    return min(num_users, 2 ** (max(by_platform(*BLOCK_BYTES) // bytes_a_user, 1).bit_length() - 1))


def participation(
    task: Task,
    *,
    num_sampled: int,
    batch_size: int,
    sampler: str,
    num_epochs: int = 1,
    num_bands: int = 0,
    reduce: str = "mean",
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
            group would be large.) "cyclic_poisson": all users are divided in the same way into fewer groups, and in the
            turn of its group a user takes part with the probability with which Q are expected in a round.
            "balls_in_bins": every user draws one of floor(N / Q) bins at the start, independently of all others, and
            takes part in every round of its bin; bins take turns. "random_allocation": the same, but every user draws
            its bin anew for each turn of all bins.
        num_epochs: passes, used by "queue" only.
        num_bands: the number of groups of "cyclic_poisson"; 0 chooses it. See `samplers.Kind`.
        reduce: "mean" or "sum" of a user's example gradients. With "mean" the divisor is the number of participants
            ("queue", "cyclic"), or its expectation: N over the number of bins, or q N (the others).
            With "sum" it is this number times the mean minibatch size of the users; with "queue", times `batch_size`.
    """
    if task.division is not None and task.train is None:
        raise InputError(
            f"task {task.name} is a stream, which draws the examples of all users at once: leave out --devices"
        )
    groups = num_groups(task, num_sampled, sampler, num_bands)
    drawn_bins = SAMPLERS[sampler].turn == "bin"
    participants = task.num_clients / groups if drawn_bins else float(num_sampled)  # that are expected
    rate = participants / task.num_clients
    sizes = jnp.minimum(task.num_examples, batch_size)
    num_blocks = task.num_examples // batch_size
    most_blocks = task.capacity // batch_size if sampler == "queue" else 0
    rounds = Rounds(task.num_clients, num_sampled, groups, num_blocks, most_blocks, num_epochs)
    init, draw_users = sampler_of(sampler, rounds, task.division)

    def examples_of(key, clients, blocks, first):
        """Return rows of the stored examples (None for a stream), the examples, and which of them are real."""
        if task.train is None:
            assert task.sample is not None
            used_sizes = sizes if clients is None else sizes[clients]
            key = key if first is None else jax.random.fold_in(key, first)
            return None, task.sample(key, task, clients, batch_size), jnp.arange(batch_size)[None] < used_sizes[:, None]
        if clients is None:
            all_rows = jnp.broadcast_to(jnp.arange(batch_size), (task.num_held, batch_size))
            if batch_size == task.capacity:  # every user uses all its examples, so nothing is drawn or copied
                return all_rows, task.train, all_rows < sizes[:, None]
            clients = jnp.arange(task.num_held)
        if blocks is None:
            rows, real = sampling.distinct_rows(key, task.num_examples[clients], task.capacity, batch_size, first)
        else:
            rows = blocks[:, None] * batch_size + jnp.arange(batch_size)[None]
            real = jnp.ones(rows.shape, bool)
        return rows, jax.tree.map(lambda leaf: leaf[clients[:, None], rows], task.train), real

    def batch_of(key, clients, present, blocks, first=None):
        """Return the minibatches of these users; `first` is the position in the round of the first of them, or of each,
        and None for all.
        """
        rows, examples, real = examples_of(key, clients, blocks, first)
        weight = (real & presence(clients, present)[:, None]).astype(jnp.float32)
        if reduce == "mean":
            weight = weight / jnp.maximum(jnp.sum(real, axis=1, keepdims=True, dtype=jnp.float32), 1.0)
        return Batch(clients, rows, examples, weight)

    def presence(clients, present):
        """Return which places are taken by a client that is present; see `Task.present`."""
        if task.present is None:
            return present
        return present & (task.present if clients is None else task.present[clients])

    def round_totals(sample, sums):
        """Return the sums over the users of all devices, and the round; this is all that devices exchange."""
        count = jnp.sum(presence(sample.clients, sample.present), dtype=jnp.float32)
        examples = jnp.sum(sizes, dtype=jnp.float32) if reduce == "sum" else jnp.float32(0)
        sums, count, examples = task.total((sums, count, examples))
        expected = rate * (examples if reduce == "sum" else task.num_clients)
        if sampler not in ("queue", "cyclic"):
            return sums, Round(expected, count, jnp.ones((), bool), participants)
        # The schedule is public, and so is what follows from it, whether or not a scheduled client is present.
        scheduled = sample.scheduled.astype(jnp.float32)
        users = jnp.maximum(scheduled, 1.0)
        user_divisor = 1 if reduce == "mean" else batch_size if sampler == "queue" else expected / num_sampled
        return sums, Round(users * user_divisor, count, scheduled > 0, users)

    def draw(key, schedule):
        key_clients, key_examples = jax.random.split(key)
        sample, schedule = draw_users(key_clients, schedule)
        batch = batch_of(key_examples, sample.clients, sample.present, sample.blocks, sample.in_round)
        return Draw(batch, *round_totals(sample, ())[1]), schedule

    def in_blocks(key, schedule, work, kept, numbers):
        key_clients, key_examples = jax.random.split(key)
        sample, schedule = draw_users(key_clients, schedule)
        clients, present, blocks, in_round, _ = sample
        places = present.shape[0]
        size = block_size(places, 4 * numbers + _example_bytes(task, batch_size))
        if size == places:
            kept, sums = work(kept, batch_of(key_examples, clients, present, blocks, in_round))
            return kept, *round_totals(sample, sums), schedule
        # Empty places of weight 0 at the end make the blocks equal.
        users = jnp.arange(places) if clients is None else clients, present, blocks, in_round
        users = jax.tree.map(lambda leaf: jnp.pad(leaf, (0, -places % size)), users)

        def batch_at(first):
            block = jax.tree.map(lambda leaf: jax.lax.dynamic_slice_in_dim(leaf, first, size), users)
            clients, present, blocks, place = block
            return batch_of(key_examples, clients, present, blocks, first if place is None else place)

        def one_block(carry, first):
            kept, totals = carry
            kept, sums = work(kept, batch_at(first))
            return (kept, jax.tree.map(jnp.add, totals, sums)), None

        shapes = jax.eval_shape(lambda kept: work(kept, batch_at(0))[1], kept)
        zeros = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
        (kept, sums), _ = jax.lax.scan(one_block, (kept, zeros), jnp.arange(0, places, size))
        return kept, *round_totals(sample, sums), schedule

    return Participation(init, draw, in_blocks)


def _example_bytes(task: Task, batch_size: int) -> int:
    """Return the bytes of one user's minibatch."""
    example, sample = task.train, task.sample
    if example is None:
        assert sample is not None
        example = jax.eval_shape(lambda key: sample(key, task, jnp.zeros(1, jnp.int32), 1), jax.random.key(0))
    return batch_size * sum(math.prod(leaf.shape[2:]) * leaf.dtype.itemsize for leaf in jax.tree.leaves(example))
