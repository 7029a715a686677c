"""Who takes part in a round and with which examples: the part that user-level methods share.

Everything here depends on the key and the data alone, never on a hyper-parameter that a sweep varies.
"""

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


class Participation(NamedTuple):
    """init: key -> schedule. draw: (key, schedule) -> (Draw, schedule)."""

    init: Callable
    draw: Callable


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

    def examples_of(key, clients, blocks):
        """Rows of the stored examples (None for a stream), the examples, and which of them are real."""
        if task.train is None:
            assert task.sample is not None
            taken = sizes if clients is None else sizes[clients]
            return None, task.sample(key, task, clients, batch_size), jnp.arange(batch_size)[None] < taken[:, None]
        if clients is None:
            everything = jnp.broadcast_to(jnp.arange(batch_size), (num_clients, batch_size))
            if batch_size == _capacity(task):  # everybody uses all it has: nothing to draw, nothing to move
                return everything, task.train, everything < sizes[:, None]
            clients = jnp.arange(num_clients)
        if blocks is None:
            rows, real = sampling.distinct_rows(key, task.num_examples[clients], _capacity(task), batch_size)
        else:
            rows = blocks[:, None] * batch_size + jnp.arange(batch_size)[None]
            real = jnp.ones(rows.shape, bool)
        return rows, jax.tree.map(lambda leaf: leaf[clients[:, None], rows], task.train), real

    def draw(key, schedule):
        key_clients, key_examples = jax.random.split(key)
        clients, present, blocks, schedule = clients_of(key_clients, schedule)
        rows, examples, real = examples_of(key_examples, clients, blocks)
        weight = (real & present[:, None]).astype(jnp.float32)
        if reduce == "mean":
            weight = weight / jnp.maximum(jnp.sum(real, axis=1, keepdims=True, dtype=jnp.float32), 1.0)
        count = jnp.sum(present, dtype=jnp.float32)
        queued = sampler == "queue"
        divisor = jnp.maximum(count, 1.0) * (batch_size if reduce == "sum" else 1) if queued else expected
        released = count > 0 if queued else jnp.ones((), bool)
        return Draw(Batch(clients, rows, examples, weight), divisor, count, released), schedule

    return Participation(init, draw)


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
