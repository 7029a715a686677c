"""What private methods on silos share: disjoint batches, a silo's noisy message, the mean over those that answer.

A silo keeps its records and answers a query w with

    m_l = (1 / K) sum over its batch of clip(gradient of f(w; x), C)  +  N(0, (sigma C / K)^2 I).

What is protected is one record of one silo, replaced by any other, against the server and all other silos, who see
every message and know who answers when (inter-silo record-level DP). Clipping makes this true for whatever record.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bench.algorithms.base import check_noise_has_a_scale
from bench.data.task import Task
from bench.errors import InputError, unknown_name
from bench.kernels import gradient, linear, sampling, smoothing
from bench.privacy import events

SAMPLERS = ("all", "once", "fixed", "poisson")
SMOOTHINGS = ("none", "convolution", "moreau")
PROX_STEPS = 12  # halvings in a proximal step: gradients of an envelope are exact within 2^-12 C
AGAINST = "the server and the other silos"


class Phases(NamedTuple):
    """How a run is cut into phases on disjoint records of every silo; all tuples have one entry a phase.

    sizes: n_i, records of a silo that belong to the phase.
    rounds: R_i.
    batches: K_i, records of a silo in a message (with "poisson" on average).
    """

    sizes: tuple[int, ...]
    rounds: tuple[int, ...]
    batches: tuple[int, ...]

    @property
    def total(self) -> int:
        """Communication rounds of the whole run."""
        return sum(self.rounds)


def num_records(task: Task) -> int:
    """n, the stored records of a silo."""
    return jax.tree.leaves(task.train)[0].shape[1]


def phases(
    records: int,
    *,
    phase_rounds: int,
    sampler: str,
    batch_size: int,
    num_phases: int = 1,
    share: float = 1.0,
    rounds_ratio: float = 1.0,
) -> Phases:
    """n_i = floor(share n / 2^(i-1)) records and R_i = R ratio^(i-1) rounds in phase i = 1, 2, ...

    Args:
        records: n, of a silo.
        phase_rounds: R, of the first phase.
        sampler: "all" records of the phase in every round; "once", every record in one round, K_i = n_i / R_i;
            "fixed", K different records drawn afresh every round; "poisson", each with probability K / n_i.
        batch_size: K, read by "fixed" and "poisson".
        num_phases: tau.
        share: of a silo's records in the first phase.
        rounds_ratio: of the rounds of a phase to those of the phase before.

    Raises:
        InputError: for values that leave a phase without records or a batch larger than its phase.
    """
    if sampler not in SAMPLERS:
        raise unknown_name("sampler", sampler, SAMPLERS)
    if phase_rounds < 1:
        raise InputError(f"phase_rounds is {phase_rounds}: it must be at least 1")
    if not (0 < share <= 1 and 0 < rounds_ratio <= 1):
        raise InputError(f"share is {share:g} and rounds_ratio {rounds_ratio:g}: each must be above 0 and at most 1")
    most = max(1, int(np.log2(records)))
    if not 1 <= num_phases <= most:
        raise InputError(
            f"num_phases is {num_phases}, but halving {records} records a silo gives at most {most}: take 1 to {most}, "
            "or a task with more records"
        )
    sizes = tuple(int(share * records) // 2**i for i in range(num_phases))
    rounds = tuple(max(1, round(phase_rounds * rounds_ratio**i)) for i in range(num_phases))
    if sizes[-1] < 1:
        raise InputError(
            f"{num_phases} phases with share {share:g} of {records} records leave the last one without any: "
            "take fewer phases or a larger share"
        )
    if sum(sizes) > records:
        raise InputError(
            f"{num_phases} phases with share {share:g} of {records} records take {sizes}: take a share of at most 1/2"
        )
    if sampler == "once" and (short := [(n, R) for n, R in zip(sizes, rounds, strict=True) if n < R]):
        raise InputError(f"a phase of {short[0][0]} records cannot fill {short[0][1]} rounds once: take fewer rounds")
    if sampler in ("fixed", "poisson") and batch_size > min(sizes):
        raise InputError(
            f"batch_size is {batch_size}, but the last phase has {min(sizes)} records: take at most so many, "
            "or fewer phases"
        )
    per_round = {"all": sizes, "once": tuple(n // R for n, R in zip(sizes, rounds, strict=True))}
    return Phases(sizes, rounds, per_round.get(sampler, (batch_size,) * num_phases))


class Silos(NamedTuple):
    """deal: key -> the records in the order in which the silos use them, for State.schedule.
    messages: (key, records, t, w) -> what each silo that answers says of w in round t = 0, 1, ..., [silo, feature].
    """

    deal: Callable
    messages: Callable


def silos(
    task: Task,
    cut: Phases,
    *,
    num_sampled: int,
    sampler: str,
    clip_norm,
    noise_multiplier,
    smoothing: str = "none",
    smoothing_radius=0.0,
    moreau_smoothness=1.0,
) -> Silos:
    """Silos that answer with clipped and noisy gradients, M of N in each round.

    Args:
        task: linear, with train = (inputs, targets), or any `loss`.
        cut: the phases.
        num_sampled: M, silos that answer, a uniformly random subset in every round.
        sampler: of `phases`.
        clip_norm: C > 0 on every record's gradient; inf does not clip.
        noise_multiplier: sigma >= 0 of the first phase: noise of std sigma C / K on a silo's mean. A phase of R_i
            rounds has sigma sqrt(R_i / R_1), so that all phases cost the same; with "once", sigma.
        smoothing: "none"; "convolution", each record at its own w + y, y uniform in a ball; "moreau", the gradient
            of each record's Moreau envelope (linear models).
        smoothing_radius: of that ball.
        moreau_smoothness: beta of the envelope.
    """
    phase, rounds = np.repeat(np.arange(len(cut.rounds)), cut.rounds), np.array(cut.rounds)
    sizes, batches = np.array(cut.sizes)[phase], np.array(cut.batches)[phase]  # by round from here on
    begins = np.cumsum(cut.sizes)[phase] - sizes  # where the records begin that a round may use
    if sampler == "once":
        within = np.arange(cut.total) - (np.cumsum(rounds) - rounds)[phase]
        begins, sizes = begins + within * batches, batches
    most, loudness = int(sizes.max()), np.sqrt(rounds[phase] / rounds[0])
    per_record = (np.ones(cut.total) if sampler == "once" else loudness) / batches
    std, length = gradient.noise_scale(noise_multiplier, clip_norm), num_records(task)
    gradients = _gradients(task, smoothing, smoothing_radius, moreau_smoothness, clip_norm)

    def deal(key):
        keys = jax.random.split(key, task.num_clients)
        order = jax.vmap(lambda key: jax.random.permutation(key, length))(keys)
        return jax.tree.map(lambda leaf: jax.vmap(lambda one, rows: one[rows])(leaf, order), task.train)

    def batch(key, records, t):
        """Records of all silos, and their weights in the silo's mean."""
        begin, size = jnp.asarray(begins)[t], jnp.asarray(sizes)[t]
        weight = 1 / jnp.asarray(batches, jnp.float32)[t]
        if sampler == "fixed":
            available = jnp.full(task.num_clients, size)
            rows = begin + sampling.distinct_rows(key, available, most, cut.batches[0])[0]
            taken = jax.tree.map(lambda leaf: jax.vmap(lambda one, row: one[row])(leaf, rows), records)
            return taken, jnp.broadcast_to(weight, rows.shape)
        start = jnp.minimum(begin, length - most)  # a window of one length for all phases, within the records
        window = jax.tree.map(lambda leaf: jax.lax.dynamic_slice_in_dim(leaf, start, most, 1), records)
        place = jnp.broadcast_to(start + jnp.arange(most), (task.num_clients, most))
        present = (place >= begin) & (place < begin + size)
        if sampler == "poisson":
            present &= jax.random.uniform(key, place.shape) * size.astype(jnp.float32) < 1 / weight
        return window, jnp.where(present, weight, 0.0)

    def messages(key, records, t, w):
        key_silos, key_batch, key_smoothing, key_noise = jax.random.split(key, 4)
        examples, weight = batch(key_batch, records, t)
        if num_sampled < task.num_clients:
            answering = sampling.fixed_size(key_silos, task.num_clients, num_sampled)
            examples, weight = jax.tree.map(lambda leaf: leaf[answering], (examples, weight))
        keys = jax.random.split(key_smoothing, num_sampled)
        # One silo after the other: with many points, the scores of one at a time stay in a CPU's cache.
        means = jax.lax.map(lambda silo: gradients(silo[0], w, *silo[1:]), (keys, examples, weight))
        noise = jax.random.normal(key_noise, means.shape)
        return means + std * jnp.asarray(per_record, jnp.float32)[t] * noise

    return Silos(deal, messages)


def _gradients(task: Task, kind: str, radius, beta, clip_norm) -> Callable:
    """(key, w, examples, weight) -> a silo's weighted sum of clipped gradients of its records."""
    link = task.linear.link if task.linear else None

    def linear_model(key, w, examples, weight):
        inputs, targets = examples
        scores = inputs @ w
        if kind == "convolution":
            scores = scores + radius * jnp.sum(inputs * smoothing.uniform_ball(key, inputs.shape), -1)
        if kind == "moreau":
            stretch = jnp.sum(jnp.square(inputs), -1) / beta
            slopes = smoothing.moreau_slopes(link, scores, targets, stretch, PROX_STEPS)
        else:
            slopes = jax.vmap(jax.grad(link))(scores, targets)
        return linear.clipped_combination(slopes, inputs, weight, clip_norm)

    def any_model(key, w, examples, weight):
        shift = jnp.zeros((weight.shape[0], *w.shape))
        if kind == "convolution":
            shift = radius * smoothing.uniform_ball(key, shift.shape)
        each = jax.vmap(lambda y, one: jax.grad(task.loss)(w + y, jnp.zeros_like(w), one))(shift, examples)
        factor = gradient.clip_factor(jnp.linalg.norm(each, axis=-1), clip_norm)
        return (factor * weight) @ each

    return any_model if task.linear is None else linear_model


def cut_of(task: Task, args: Mapping[str, Any]) -> Phases:
    """The phases that a method's arguments describe; see `phases`."""
    names = inspect.signature(phases).parameters
    return phases(num_records(task), **{name: value for name, value in args.items() if name in names})


def total_rounds(task: Task, args: Mapping[str, Any]) -> int:
    """Communication rounds of a run, for a sweep's `num_rounds`."""
    return cut_of(task, args).total


def releases(task: Task, *, delta: float, **args) -> dict[str, events.Release]:
    """What the messages of one silo reveal of one of its records, in three readings.

    paper: as the authors' programs count, rho = sum 2 / sigma^2 and epsilon = 2 sqrt(rho log(1 / delta)); they leave
        the term rho out, so this is too small. With "fixed", a round counts (K / n)^2 of a full one, which no
        theorem gives.
    theorem: by the closed form with 256 of the paper's theorems; NaN outside its range.
    exact: what the noise gives. Full batches, and records that are used once: composed Gaussians, exact. "fixed":
        RDP, an upper bound. "poisson": as if every record were in every message, an upper bound for any sample.

    Every record belongs to one phase, so the run costs what its most expensive phase costs. That only M of N silos
    answer amplifies nothing: everybody sees who does, and a silo may be asked in every round.
    """
    said: dict = {"delta": delta, "privacy_unit": "record", "protects_against": AGAINST}
    cut, sampler, parts = cut_of(task, args), args["sampler"], []
    for size, rounds, batch in zip(*cut, strict=True):
        sigma = args["noise_multiplier"] * (1.0 if sampler == "once" else float(np.sqrt(rounds / cut.rounds[0])))
        if sampler == "once":
            release = events.bounded_participation_gaussian(sigma, max_participations=1, **said)
        elif sampler == "fixed":
            release = events.fixed_size_gaussian(sigma, sampling_rate=batch / size, **said)
        else:
            release = events.full_gaussian(sigma, neighbors=events.REPLACE, **said)
            if sampler == "poisson":
                release = release._replace(mechanism=f"{release.mechanism} (or fewer: a Poisson sample, not amplified)")
        parts.append((release, rounds))
    whole = events.in_parallel(parts)
    return {
        "paper": whole._replace(accountant="zcdp_as_published", sound=False),
        "theorem": whole._replace(accountant="moments_as_published", sound=False),
        "exact": whole,
    }


def check(task: Task, *, num_sampled: int, clip_norm: float, noise_multiplier: float, smoothing: str, **args) -> None:
    """Refuse values that do not go together, before anything is compiled.

    Raises:
        InputError: naming the value and what to do.
    """
    if task.train is None or not np.all(np.asarray(task.num_examples) == num_records(task)):
        raise InputError(f"task {task.name}: methods on silos need stored records, as many in every silo: take another")
    if num_sampled > task.num_clients:
        raise InputError(f"num_sampled is {num_sampled}, but task {task.name} has {task.num_clients} silos: take fewer")
    if smoothing not in SMOOTHINGS:
        raise unknown_name("smoothing", smoothing, SMOOTHINGS)
    if smoothing == "moreau" and task.linear is None:
        raise InputError(f"task {task.name} is no linear model: smooth it by convolution")
    check_noise_has_a_scale(noise_multiplier, clip_norm)
    cut_of(task, args)
