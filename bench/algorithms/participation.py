"""Who takes part in a round and with which examples: the part that user-level methods share.

Everything here depends on the key and the data alone, never on a hyper-parameter that a sweep varies.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from bench.algorithms.base import check_noise_has_a_scale
from bench.data.task import Task
from bench.errors import InputError, unknown_name
from bench.kernels import sampling
from bench.kernels.personal import Batch
from bench.privacy.events import gaussian_readings

SAMPLERS = ("all", "fixed", "poisson", "queue")


class Draw(NamedTuple):
    """One round's participants.

    batch: their minibatches.
    divisor: what the sum over users is divided by.
    count: users that take part.
    released: whether the server publishes anything: not when the queue is empty; a Poisson round in which
        nobody takes part still publishes its noise.
    """

    batch: Batch
    divisor: float | Array
    count: Array
    released: Array


class Round(NamedTuple):
    """A round's `Draw` without the minibatches, which were used block by block."""

    divisor: float | Array
    count: Array
    released: Array


class Participation(NamedTuple):
    """Who takes part, all at once or in blocks of users; with the same key they are the same.

    init: key -> schedule.
    draw: (key, schedule) -> (Draw, schedule).
    in_blocks: (key, schedule, work, kept, numbers) -> (kept, sums, Round, schedule). It folds
        work: (kept, Batch) -> (kept, sums) over blocks of the round's users, adding up the sums, so that memory grows
        with a block and not with the round. `kept` is what users keep; a block changes that of its own users alone.
        `numbers`: how many a user brings beside its examples, such as those of its gradient.
    """

    init: Callable
    draw: Callable
    in_blocks: Callable


# Rounds of so many users are one block: as they were, to the last bit, before there were blocks.
WHOLE = 1024
BLOCK_BYTES = 2**24  # of examples and gradients of the users of a block


def block_size(num_users: int, bytes_a_user: int) -> int:
    """Users that are worked on together in a round of `num_users`."""
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
            remainder is not used), and Q random users with blocks left use one each.
        num_epochs: passes, read by "queue" only.
        reduce: "mean" or "sum" of a user's example gradients. The divisor is the number of users that take
            part ("queue") or its expectation q N (else), times their mean minibatch size for "sum".
    """
    num_clients = task.num_clients
    rate = num_sampled / num_clients
    sizes = jnp.minimum(task.num_examples, batch_size)
    num_blocks = task.num_examples // batch_size
    expected = rate * (jnp.sum(sizes, dtype=jnp.float32) if reduce == "sum" else num_clients)

    def init(key):
        if sampler != "queue":
            return ()
        return sampling.queue_start(key, num_blocks, num_epochs, _capacity(task) // batch_size)

    def clients_of(key, schedule):
        """Clients (None for all, in order), which of the places are taken, their blocks, the schedule."""
        if sampler == "queue":
            queue, clients, blocks, present = sampling.queue_draw(key, schedule, num_blocks, num_sampled)
            return clients, present, blocks, queue
        if sampler == "poisson":
            bound = sampling.poisson_bound(num_clients, rate)
            return *sampling.poisson(key, num_clients, rate, bound), None, schedule
        clients = None if sampler == "all" else sampling.fixed_size(key, num_clients, num_sampled)
        return clients, jnp.ones(num_sampled, bool), None, schedule

    def examples_of(key, clients, blocks, first):
        """Rows of the stored examples (None for a stream), the examples, and which of them are real."""
        if task.train is None:
            assert task.sample is not None
            taken = sizes if clients is None else sizes[clients]
            key = key if first is None else jax.random.fold_in(key, first)
            return None, task.sample(key, task, clients, batch_size), jnp.arange(batch_size)[None] < taken[:, None]
        if clients is None:
            everything = jnp.broadcast_to(jnp.arange(batch_size), (num_clients, batch_size))
            if batch_size == _capacity(task):  # everybody uses all it has: nothing to draw, nothing to move
                return everything, task.train, everything < sizes[:, None]
            clients = jnp.arange(num_clients)
        if blocks is None:
            rows, real = sampling.distinct_rows(key, task.num_examples[clients], _capacity(task), batch_size, first)
        else:
            rows = blocks[:, None] * batch_size + jnp.arange(batch_size)[None]
            real = jnp.ones(rows.shape, bool)
        return rows, jax.tree.map(lambda leaf: leaf[clients[:, None], rows], task.train), real

    def batch_of(key, clients, present, blocks, first=None):
        """The minibatches of these users; `first`: the place in the round of the first of them, where not of all."""
        rows, examples, real = examples_of(key, clients, blocks, first)
        weight = (real & there(clients, present)[:, None]).astype(jnp.float32)
        if reduce == "mean":
            weight = weight / jnp.maximum(jnp.sum(real, axis=1, keepdims=True, dtype=jnp.float32), 1.0)
        return Batch(clients, rows, examples, weight)

    def there(clients, present):
        """The places that are taken by a client that is there; see `Task.present`."""
        if task.present is None:
            return present
        return present & (task.present if clients is None else task.present[clients])

    def round_of(clients, present):
        # The schedule is public, and so is what follows from it, whether or not a client of it is there.
        scheduled = jnp.sum(present, dtype=jnp.float32)
        queued = sampler == "queue"
        divisor = jnp.maximum(scheduled, 1.0) * (batch_size if reduce == "sum" else 1) if queued else expected
        released = scheduled > 0 if queued else jnp.ones((), bool)
        return Round(divisor, jnp.sum(there(clients, present), dtype=jnp.float32), released)

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
        # Empty places at the end, of no weight, make the blocks equal.
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
    """Of one user's minibatch."""
    one, sample = task.train, task.sample
    if one is None:
        assert sample is not None
        one = jax.eval_shape(lambda key: sample(key, task, jnp.zeros(1, jnp.int32), 1), jax.random.key(0))
    return batch_size * sum(math.prod(leaf.shape[2:]) * leaf.dtype.itemsize for leaf in jax.tree.leaves(one))


def _capacity(task: Task) -> int:
    """Length of the padded example axis."""
    return jax.tree.leaves(task.train)[0].shape[1]


def readings(
    task: Task,
    *,
    noise_multiplier: float,
    num_sampled: int,
    batch_size: int,
    sampler: str,
    num_epochs: int,
    delta: float,
    protects_against: str,
) -> dict:
    """What noisy sums of clipped user messages reveal, in the readings of `gaussian_readings`.

    "sampler" assumes a fresh uniform sample each round, which the queue is not: its rounds depend on each
    other, and only "worst_case" is sound for it. There a user takes part in at most as many rounds as it has
    blocks to use.

    Args:
        task: for its numbers of clients and examples, which count as public.
        noise_multiplier: sigma; noise on the sum of clipped messages has std sigma C.
        num_sampled, batch_size, sampler, num_epochs: as for `participation`.
        delta: at which epsilon is stated.
        protects_against: in words.
    """
    most = None
    if sampler == "queue":
        most = int(np.max(np.asarray(task.num_examples))) // batch_size * num_epochs
    return gaussian_readings(
        noise_multiplier=noise_multiplier,
        num_clients=task.num_clients,
        num_sampled=num_sampled,
        sampler=sampler,
        max_participations=lambda rounds: rounds if most is None else min(rounds, most),
        delta=delta,
        privacy_unit="user",
        protects_against=protects_against,
    )


def noisy_sums(protects_against: str) -> Callable[..., dict]:
    """`releases` of a method that makes public noisy sums of clipped user messages, one a round, and nothing else.

    Its factory has the arguments noise_multiplier, num_sampled, batch_size, sampler, and num_epochs if it has a queue.

    Args:
        protects_against: in words.
    """

    def releases(task: Task, *, delta: float, noise_multiplier: float, num_epochs: int = 1, **args) -> dict:
        return readings(
            task,
            noise_multiplier=noise_multiplier,
            num_epochs=num_epochs,
            delta=delta,
            protects_against=protects_against,
            **{name: args[name] for name in ("num_sampled", "batch_size", "sampler")},
        )

    return releases


def check_participation(
    task: Task,
    *,
    num_sampled: int,
    batch_size: int,
    sampler: str,
    clip_norm: float,
    noise_multiplier: float,
    **_,
) -> None:
    """Refuse values of a private user-level method that do not go together, before anything is compiled.

    Raises:
        InputError: naming the value and what to do.
    """
    if sampler not in SAMPLERS:
        raise unknown_name("sampler", sampler, SAMPLERS)
    if num_sampled > task.num_clients:
        raise InputError(
            f"num_sampled is {num_sampled}, more than the {task.num_clients} clients of {task.name}: sample fewer"
        )
    if sampler == "all" and num_sampled != task.num_clients:
        raise InputError(f"sampler 'all' means num_sampled = {task.num_clients}, not {num_sampled}")
    if sampler == "queue" and task.train is None:
        raise InputError(f"task {task.name} is a stream: the queue needs stored examples, use sampler='fixed'")
    if task.train is None and batch_size > (most := int(np.max(np.asarray(task.num_examples)))):
        raise InputError(f"batch_size is {batch_size}, but no client of {task.name} draws more than {most} examples")
    if task.train is not None and batch_size > _capacity(task):
        raise InputError(
            f"batch_size is {batch_size}, more than any client of {task.name} has: use at most {_capacity(task)}"
        )
    check_noise_has_a_scale(noise_multiplier, clip_norm)
