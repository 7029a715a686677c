"""Sampling of the users of a round and of their examples, shared by the user-level methods.

Everything here depends on the key and the data alone, never on a hyper-parameter that a sweep varies. The releases of
such rounds and the checks of their arguments are in `user_level`, and are imported from here.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from bench.algorithms.parts.user_level import (
    BALLS_IN_BINS,
    CYCLIC_POISSON,
    SAMPLERS,
    check_participation,
    cost_of_sums,
    noisy_sums,
    num_groups,
    readings,
    separation,
)
from bench.data.task import Task
from bench.errors import InputError
from bench.kernels import sampling, threefry
from bench.kernels.division import Division, places_of
from bench.kernels.personal import Batch

__all__ = [
    "SAMPLERS",
    "Draw",
    "Drawn",
    "Participation",
    "Round",
    "check_participation",
    "cost_of_sums",
    "drawn_clients",
    "noisy_sums",
    "participation",
    "readings",
    "separation",
    "sum_over",
    "uniform_of_clients",
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
            takes part in every round of its bin; bins take turns.
        num_epochs: passes, used by "queue" only.
        num_bands: the number of groups of "cyclic_poisson"; 0 chooses it. See `num_groups`.
        reduce: "mean" or "sum" of a user's example gradients. With "mean" the divisor is the number of participants
            ("queue", "cyclic"), or its expectation: N over the number of bins ("balls_in_bins"), or q N (the others).
            With "sum" it is this number times the mean minibatch size of the users; with "queue", times `batch_size`.
    """
    if task.division is not None and task.train is None:
        raise InputError(
            f"task {task.name} is a stream, which draws the examples of all users at once: leave out --devices"
        )
    groups = num_groups(task, num_sampled, sampler, num_bands)
    participants = task.num_clients / groups if sampler == BALLS_IN_BINS else float(num_sampled)  # that are expected
    rate = participants / task.num_clients
    sizes = jnp.minimum(task.num_examples, batch_size)
    num_blocks = task.num_examples // batch_size
    drawing = _drawing if task.division is None else _drawing_of_a_device
    most_blocks = task.capacity // batch_size if sampler == "queue" else 0
    init, drawn_of = drawing(task, num_sampled, sampler, groups, num_blocks, num_epochs, most_blocks)

    def examples_of(key, clients, blocks, first):
        """Return rows of the stored examples (None for a stream), the examples, and which of them are real."""
        if task.train is None:
            assert task.sample is not None
            taken = sizes if clients is None else sizes[clients]
            key = key if first is None else jax.random.fold_in(key, first)
            return None, task.sample(key, task, clients, batch_size), jnp.arange(batch_size)[None] < taken[:, None]
        if clients is None:
            everything = jnp.broadcast_to(jnp.arange(batch_size), (task.num_held, batch_size))
            if batch_size == task.capacity:  # every user uses all its examples, so nothing is drawn or copied
                return everything, task.train, everything < sizes[:, None]
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
        weight = (real & there(clients, present)[:, None]).astype(jnp.float32)
        if reduce == "mean":
            weight = weight / jnp.maximum(jnp.sum(real, axis=1, keepdims=True, dtype=jnp.float32), 1.0)
        return Batch(clients, rows, examples, weight)

    def there(clients, present):
        """Return which places are taken by a client that is present; see `Task.present`."""
        if task.present is None:
            return present
        return present & (task.present if clients is None else task.present[clients])

    def of_all(drawn, sums):
        """Return the sums over the users of all devices, and the round; this is all that devices exchange."""
        count = jnp.sum(there(drawn.clients, drawn.present), dtype=jnp.float32)
        examples = jnp.sum(sizes, dtype=jnp.float32) if reduce == "sum" else jnp.float32(0)
        sums, count, examples = task.total((sums, count, examples))
        expected = rate * (examples if reduce == "sum" else task.num_clients)
        if sampler not in ("queue", "cyclic"):
            return sums, Round(expected, count, jnp.ones((), bool), participants)
        # The schedule is public, and so is what follows from it, whether or not a scheduled client is present.
        scheduled = drawn.scheduled.astype(jnp.float32)
        users = jnp.maximum(scheduled, 1.0)
        each = 1 if reduce == "mean" else batch_size if sampler == "queue" else expected / num_sampled
        return sums, Round(users * each, count, scheduled > 0, users)

    def draw(key, schedule):
        key_clients, key_examples = jax.random.split(key)
        drawn, schedule = drawn_of(key_clients, schedule)
        batch = batch_of(key_examples, drawn.clients, drawn.present, drawn.blocks, drawn.in_round)
        return Draw(batch, *of_all(drawn, ())[1]), schedule

    def in_blocks(key, schedule, work, kept, numbers):
        key_clients, key_examples = jax.random.split(key)
        drawn, schedule = drawn_of(key_clients, schedule)
        clients, present, blocks, in_round, _ = drawn
        places = present.shape[0]
        size = block_size(places, 4 * numbers + _example_bytes(task, batch_size))
        if size == places:
            kept, sums = work(kept, batch_of(key_examples, clients, present, blocks, in_round))
            return kept, *of_all(drawn, sums), schedule
        # Empty places of weight 0 at the end make the blocks equal.
        users = jnp.arange(places) if clients is None else clients, present, blocks, in_round
        users = jax.tree.map(lambda leaf: jnp.pad(leaf, (0, -places % size)), users)

        def batch_at(first):
            who, there, theirs, at = jax.tree.map(lambda leaf: jax.lax.dynamic_slice_in_dim(leaf, first, size), users)
            return batch_of(key_examples, who, there, theirs, first if at is None else at)

        def one_block(carry, first):
            kept, totals = carry
            kept, sums = work(kept, batch_at(first))
            return (kept, jax.tree.map(jnp.add, totals, sums)), None

        shapes = jax.eval_shape(lambda kept: work(kept, batch_at(0))[1], kept)
        nothing = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
        (kept, sums), _ = jax.lax.scan(one_block, (kept, nothing), jnp.arange(0, places, size))
        return kept, *of_all(drawn, sums), schedule

    return Participation(init, draw, in_blocks)


class Drawn(NamedTuple):
    """The users of a round that this device holds; all of them, where users are not divided.

    clients: their rows in arrays by client; None for all, in order.
    present: which places are taken.
    blocks: of their examples, to be used; None where examples are drawn.
    in_round: their places in the round of all devices; None where they are all users of the round, in order.
    scheduled: the number of users of the round, of all devices.
    """

    clients: Array | None
    present: Array
    blocks: Array | None
    in_round: Array | None
    scheduled: Array


def drawn_clients(task: Task, key: Array, num_sampled: int) -> Drawn:
    """Draw a uniformly random subset of the clients, or all of them, as far as this device holds them."""
    sampler = "all" if num_sampled == task.num_clients else "fixed"
    drawing = _drawing if task.division is None else _drawing_of_a_device
    drawn = drawing(task, num_sampled, sampler, 1)[1](key, ())[0]
    return drawn if drawn.clients is not None else drawn._replace(clients=jnp.arange(task.num_held))


def uniform_of_clients(task: Task, key: Array, width: int) -> Array:
    """Draw uniform numbers, [client, width], which do not depend on how clients are divided over devices."""
    if task.division is None:
        return threefry.uniform(key, (task.num_clients, width))
    return threefry.uniform_at_rows(key, task.division.numbers(), width)


def sum_over(task: Task, drawn: Drawn, tree: Any) -> Any:
    """Return the sum over the clients of this device, of leaves [place, ...]; see `Task.total`."""

    def one(leaf):
        if task.division is not None:  # some places may be empty
            leaf = jnp.where(drawn.present.reshape(-1, *[1] * (leaf.ndim - 1)), leaf, 0)
        return jnp.sum(leaf, axis=0)

    return jax.tree.map(one, tree)


def _drawing(
    task: Task,
    num_sampled: int,
    sampler: str,
    num_turns: int,
    num_blocks: Any = 0,
    num_epochs: int = 1,
    most_blocks: int = 0,
) -> tuple[Callable, Callable]:
    """Return key -> schedule, and (key, schedule) -> (Drawn, schedule), where one device holds all users."""
    num_clients = task.num_clients
    rate = num_sampled / num_clients

    def init(key):
        if sampler in ("cyclic", CYCLIC_POISSON):
            return jnp.int32(0), *sampling.dealt(key, num_clients, num_turns)
        if sampler == BALLS_IN_BINS:
            return jnp.int32(0), sampling.bins(key, num_clients, num_turns)
        if sampler != "queue":
            return ()
        return sampling.queue_start(key, num_blocks, num_epochs, most_blocks)

    def drawn_of(key, schedule):
        blocks = None
        if sampler == "queue":
            schedule, clients, blocks, present = sampling.queue_draw(key, schedule, num_blocks, num_sampled)
        elif sampler == "cyclic":
            t, dealt, taken = schedule
            turn = t % dealt.shape[0]
            clients, present, schedule = dealt[turn], taken[turn], (t + 1, dealt, taken)
        elif sampler == BALLS_IN_BINS:
            clients, present, schedule = _of_bin(schedule, num_turns)
        elif sampler == CYCLIC_POISSON:
            clients, present, schedule = _of_turn(key, schedule, rate)
        elif sampler == "poisson":
            clients, present = sampling.poisson(key, num_clients, rate, sampling.poisson_bound(num_clients, rate))
        else:
            clients = None if sampler == "all" else sampling.fixed_size(key, num_clients, num_sampled)
            present = jnp.ones(num_sampled, bool)
        return Drawn(clients, present, blocks, None, jnp.sum(present)), schedule

    return init, drawn_of


def _drawing_of_a_device(
    task: Task,
    num_sampled: int,
    sampler: str,
    num_turns: int,
    num_blocks: Any = 0,
    num_epochs: int = 1,
    most_blocks: int = 0,
) -> tuple[Callable, Callable]:
    """Return the same where users are laid over devices, with the draws of one device.

    Which users take part is drawn on every device for all of them, and nothing is exchanged for it. "cyclic" keeps the
    turns of this device's users, and "queue" the order of their blocks and, of all users, how many they have left.
    """
    assert task.division is not None
    division = task.division
    num_clients, held = division.users, division.held
    rate = num_sampled / num_clients

    def init(key):
        if sampler == CYCLIC_POISSON:  # every device knows the turns of all users, as it draws for all of them
            return jnp.int32(0), *sampling.dealt(key, num_clients, num_turns)
        if sampler == BALLS_IN_BINS:
            return jnp.int32(0), sampling.bins(key, num_clients, num_turns)
        if sampler == "cyclic":
            return jnp.int32(0), *_turns(division, *sampling.dealt(key, num_clients, num_turns))
        if sampler != "queue":
            return ()
        order = sampling.queue_start(key, num_blocks, num_epochs, most_blocks, division.numbers()).order
        return order, num_epochs * division.gathered(num_blocks)

    def drawn_of(key, schedule):
        numbers = division.numbers()
        if sampler == "all":
            return Drawn(None, numbers < num_clients, None, numbers, jnp.asarray(num_clients)), schedule
        if sampler == "cyclic":
            t, turns, in_round = schedule
            turn = t % num_turns
            clients, present = places_of(turns == turn, division.most(-(-num_clients // num_turns)))
            scheduled = (num_clients - turn + num_turns - 1) // num_turns
            return Drawn(clients, present, None, in_round[clients], scheduled), (t + 1, turns, in_round)
        if sampler == "queue":
            order, left = schedule
            users, taken = sampling.fixed_size_of(key, left > 0, num_sampled)
            bound, schedule = min(held, num_sampled), (order, left.at[users].add(-taken.astype(jnp.int32)))
        elif sampler == "poisson":
            users, taken = sampling.poisson(key, num_clients, rate, sampling.poisson_bound(num_clients, rate))
            bound = division.most_of(rate)
        elif sampler == CYCLIC_POISSON:
            # A random group, and chance within it, vary less than as much chance for everybody: the same bound holds.
            users, taken, schedule = _of_turn(key, schedule, rate)
            bound = division.most_of(rate)
        elif sampler == BALLS_IN_BINS:
            users, taken, schedule = _of_bin(schedule, num_turns)
            bound = division.most_of(1 / num_turns)
        else:
            users, taken = sampling.fixed_size(key, num_clients, num_sampled), jnp.ones(num_sampled, bool)
            bound = division.most(num_sampled)
        in_round, present = places_of(taken & (users // held == numbers[0] // held), bound)
        clients = jnp.where(present, users[in_round] - numbers[0], 0)
        blocks = None
        if sampler == "queue":
            used = num_epochs * num_blocks[clients] - left[users[in_round]]
            blocks = sampling.queued_blocks(order, clients, used, num_blocks[clients])
        return Drawn(clients, present, blocks, in_round, jnp.sum(taken)), schedule

    return init, drawn_of


def _of_turn(key: Array, schedule: tuple, rate: float) -> tuple[Array, Array, tuple]:
    """Return the users of a round of "cyclic_poisson", which of their places are taken, and the next schedule.

    Args:
        key: randomness.
        schedule: the round's number, and the groups of `sampling.dealt`.
        rate: Q / N; a member of the group whose turn it is takes part with this probability times the number of groups.
    """
    t, dealt, taken = schedule
    num_turns, size = dealt.shape
    turn, within = t % num_turns, min(num_turns * rate, 1.0)
    places, drawn = sampling.poisson(key, size, within, sampling.poisson_bound(size, within))
    return dealt[turn][places], drawn & taken[turn][places], (t + 1, dealt, taken)


def _of_bin(schedule: tuple, num_bins: int) -> tuple[Array, Array, tuple]:
    """Return the users of a round of "balls_in_bins", which of their places are taken, and the next schedule.

    There is room for all users of a bin but with the probability of `poisson_bound`, once for each bin of a run.

    Args:
        schedule: the round's number, and the bin of every user.
    """
    t, bins = schedule
    users, taken = places_of(bins == t % num_bins, sampling.poisson_bound(bins.shape[0], 1 / num_bins))
    return users, taken, (t + 1, bins)


def _turns(division: Division, groups: Array, taken: Array) -> tuple[Array, Array]:
    """Return the group of each of this device's users (-1 for rows without one), and its place there, [held]."""
    owners = jnp.where(taken, groups, division.users)
    held = []
    for of_place in (jnp.arange(groups.shape[0])[:, None], jnp.arange(groups.shape[1])[None]):
        everybody = jnp.full(division.devices * division.held, -1, jnp.int32)
        of_place = jnp.broadcast_to(of_place, owners.shape)
        everybody = everybody.at[owners].set(jnp.where(taken, of_place, -1), mode="drop")
        held.append(jax.lax.dynamic_slice_in_dim(everybody, division.numbers()[0], division.held))
    return held[0], held[1]


def _example_bytes(task: Task, batch_size: int) -> int:
    """Return the bytes of one user's minibatch."""
    example, sample = task.train, task.sample
    if example is None:
        assert sample is not None
        example = jax.eval_shape(lambda key: sample(key, task, jnp.zeros(1, jnp.int32), 1), jax.random.key(0))
    return batch_size * sum(math.prod(leaf.shape[2:]) * leaf.dtype.itemsize for leaf in jax.tree.leaves(example))
