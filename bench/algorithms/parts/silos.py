"""The parts shared by private methods on silos: disjoint batches, noisy messages, and the mean over answering silos.

A silo keeps its records and answers a query w with

    m_l = (1 / K) sum over its batch of clip(gradient of f(w; x), C)  +  N(0, (sigma C / K)^2 I).

What is protected is one record of one silo, replaced by any other, against the server and all other silos, who see
every message and know who answers when (inter-silo record-level DP). Because of clipping this holds for any record.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from bench.algorithms.base import Cost, check_noise_has_a_scale
from bench.algorithms.parts.counting import num_parameters
from bench.algorithms.parts.phases import Phases, num_records, plan_phases
from bench.algorithms.parts.samplers import drawn_clients, sum_over, uniform_of_clients
from bench.algorithms.parts.silo_arguments import SMOOTHINGS, SiloArguments
from bench.data.task import Linear, Task
from bench.errors import InputError, check_name
from bench.kernels import draws, gradient, linear, sampling, smoothing
from bench.privacy import events

PROX_STEPS = 12  # halvings in a proximal step: the error of an envelope's gradient is at most 2^-12 C
AGAINST = "the server and the other silos"


class Silos(NamedTuple):
    """The silos' side of a method.

    shuffle: key -> the records in the order in which the silos use them, for State.schedule.
    messages: (key, records, t, w) -> the message of each answering silo of this device for the query w in round
        t = 0, 1, ..., [silo, feature].
    mean: likewise -> the mean of the messages of all answering silos, [feature].
    """

    shuffle: Callable[[Array], Any]
    messages: Callable[[Array, Any, Array, Array], Array]
    mean: Callable[[Array, Any, Array, Array], Array]


def silos(task: Task, phases: Phases, shared: SiloArguments) -> Silos:
    """Return silos that answer with clipped and noisy gradients, M of N in each round.

    Args:
        task: linear, with train = (inputs, targets), or any `loss`.
        phases: the phases of the run.
        shared: the arguments of the silos' messages.
    """
    length, draw_batches = num_records(task), _batches(task, phases, shared.sampler)
    std = gradient.noise_scale(shared.noise_multiplier, shared.clip_norm)
    std_by_round = _noise_by_round(phases, shared.sampler)
    mean_gradient = _mean_gradient(task, shared)

    def shuffle(key):
        keys = jax.random.split(key, task.num_clients)[task.numbers()]
        order = jax.vmap(lambda key: jax.random.permutation(key, length))(keys)
        inputs, targets = task.train if task.linear is None else (linear.finite_rows(task.train[0]), task.train[1])
        return jax.tree.map(lambda leaf: _rows(leaf, order), (inputs, targets))

    def answers(key, records, t, w):
        """Return who answers, and the messages."""
        key_silos, key_batch, key_smoothing, key_noise = jax.random.split(key, 4)
        examples, weight = draw_batches(key_batch, records, t)
        drawn = drawn_clients(task, key_silos, shared.num_sampled)
        if shared.num_sampled < task.num_clients:
            examples, weight = jax.tree.map(lambda leaf: leaf[drawn.clients], (examples, weight))
        keys = jax.random.split(key_smoothing, shared.num_sampled)
        keys = keys if drawn.in_round is None else keys[drawn.in_round]
        # One silo after the other: with many points, only the scores of a single silo fit in a CPU's cache.
        means = jax.lax.map(lambda silo: mean_gradient(silo[0], w, *silo[1:]), (keys, examples, weight))
        if drawn.in_round is None:
            noise = draws.normal(key_noise, means.shape)
        else:
            noise = draws.normal_rows(key_noise, drawn.in_round, means.shape[1])
        return drawn, means + std * jnp.asarray(std_by_round, jnp.float32)[t] * noise

    def mean(key, records, t, w):
        drawn, messages = answers(key, records, t, w)
        return task.total(sum_over(task, drawn, messages)) / shared.num_sampled

    return Silos(shuffle, lambda *query: answers(*query)[1], mean)


def _rows(leaf: Array, rows: Array) -> Array:
    """Return leaf[silo, rows[silo]] of every silo, [silo, place, ...]."""
    return jax.vmap(lambda silo_rows, rows_of_silo: silo_rows[rows_of_silo])(leaf, rows)


def _noise_by_round(phases: Phases, sampler: str) -> np.ndarray:
    """Return the standard deviation of the noise on a silo's mean in units of sigma C, [round]."""
    rounds, batches = np.repeat(phases.rounds, phases.rounds), np.repeat(phases.batches, phases.rounds)
    return (np.ones(phases.total) if sampler == "once" else np.sqrt(rounds / phases.rounds[0])) / batches


def _batches(task: Task, phases: Phases, sampler: str) -> Callable[[Array, Any, Array], tuple[Any, Array]]:
    """Return (key, records, t) -> all silos' records [silo, place, ...], and weights in the silo's mean [silo, place].

    Records of a round are adjacent, since they are used in the order in which they are stored.
    """
    phase, rounds = np.repeat(np.arange(len(phases.rounds)), phases.rounds), np.array(phases.rounds)
    sizes, batches = np.array(phases.sizes)[phase], np.array(phases.batches)[phase]  # indexed by round from here on
    begins = np.cumsum(phases.sizes)[phase] - sizes  # the first record that a round may use
    if sampler == "once":
        round_in_phase = np.arange(phases.total) - (np.cumsum(rounds) - rounds)[phase]
        begins, sizes = begins + round_in_phase * batches, batches
    length, most = num_records(task), int(sizes.max())

    def batch(key, records, t):
        begin, size = jnp.asarray(begins)[t], jnp.asarray(sizes)[t]
        weight = 1 / jnp.asarray(batches, jnp.float32)[t]
        if sampler == "fixed":
            available = jnp.full(task.num_held, size)
            rows = begin + sampling.distinct_rows(key, available, most, phases.batches[0], task.rows_drawn())[0]
            return jax.tree.map(lambda leaf: _rows(leaf, rows), records), jnp.broadcast_to(weight, rows.shape)
        start = jnp.minimum(begin, length - most)  # a window of one length for all phases, within the records
        window = jax.tree.map(lambda leaf: jax.lax.dynamic_slice_in_dim(leaf, start, most, 1), records)
        place = jnp.broadcast_to(start + jnp.arange(most), (task.num_held, most))
        present = (place >= begin) & (place < begin + size)
        if sampler == "poisson":
            present &= uniform_of_clients(task, key, most) * size.astype(jnp.float32) < 1 / weight
        return window, jnp.where(present, weight, 0.0)

    return batch


def _mean_gradient(task: Task, shared: SiloArguments) -> Callable[[Array, Array, Any, Array], Array]:
    """Return (key, w, examples, weight) -> weighted sum of clipped gradients of a silo's records, [feature]."""
    kind, radius, clip_norm = shared.smoothing, shared.smoothing_radius, shared.clip_norm

    def linear_model(key, w, examples, weight):
        link = task.need(Linear).link
        inputs, targets = examples
        scores = jnp.matmul(inputs, w, precision="highest")
        if kind == "convolution":
            scores = scores + radius * jnp.sum(inputs * smoothing.uniform_ball(key, inputs.shape), -1)
        if kind == "moreau":
            stretch = jnp.sum(jnp.square(inputs), -1) / shared.moreau_smoothness
            slopes = smoothing.moreau_slopes(link, scores, targets, stretch, PROX_STEPS)
        else:
            slopes = jax.vmap(jax.grad(link))(scores, targets)
        return linear.clipped_combination(slopes, inputs, weight, clip_norm)

    def any_model(key, w, examples, weight):
        shift = jnp.zeros((weight.shape[0], *w.shape))
        if kind == "convolution":
            shift = radius * smoothing.uniform_ball(key, shift.shape)
        assert task.loss is not None
        gradient_of = jax.grad(task.loss)
        gradients = jax.vmap(lambda y, example: gradient_of(w + y, jnp.zeros_like(w), example))(shift, examples)
        norms = jnp.linalg.norm(gradients, axis=-1)
        return gradient.weighted_sum(gradients, norms, gradient.clip_factor(norms, clip_norm) * weight)

    return any_model if task.linear is None else linear_model


def phases_of(task: Task, arguments: Mapping[str, Any]) -> Phases:
    """Return the phases of a run with these arguments of a method."""
    return plan_phases(num_records(task), SiloArguments.of(arguments))


def total_rounds(task: Task, arguments: Mapping[str, Any]) -> int:
    """Return the communication rounds of a run with these arguments of a method, for a sweep's `num_rounds`."""
    return phases_of(task, arguments).total


def cost(task: Task, **arguments: Any) -> Cost:
    """Return the cost of a round, on average over the phases of a run. A gradient of a Moreau envelope takes one
    gradient of the loss at the start and one for every halving.
    """
    shared = SiloArguments.of(arguments)
    phases = plan_phases(num_records(task), shared)
    records = shared.num_sampled * float(np.average(phases.batches, weights=phases.rounds))
    slopes = 1 + PROX_STEPS if shared.smoothing == "moreau" else 1
    return Cost(float(shared.num_sampled * num_parameters(task)), records * slopes, records)


def releases(task: Task, *, delta: float, **arguments: Any) -> dict[str, events.Release]:
    """Return what the messages of one silo reveal of one of its records, in three ways of accounting.

    paper: as the authors' programs count, rho = sum 2 / sigma^2 and epsilon = 2 sqrt(rho log(1 / delta)); they leave
        the term rho out, so this is too small. With "fixed", a round counts (K / n)^2 of a full one, which no
        theorem gives.
    theorem: by the closed form of the paper's theorems (factor 256); NaN outside its range.
    exact: the epsilon of the actual noise. For full batches, and for records that are used once, this is the exact
        composition of Gaussians. For "fixed" it is an upper bound by RDP. For "poisson" every record is counted in
        every message, which is an upper bound for any sample.

    Every record belongs to one phase, so the epsilon of the run is that of its most expensive phase. Drawing M of N
    silos amplifies nothing, because everybody sees which silos answer, and a silo may be asked in every round.
    """
    shared = SiloArguments.of(arguments)
    phases = plan_phases(num_records(task), shared)
    phase_releases = [
        (_release_of_a_message(size, rounds / phases.rounds[0], batch, shared, delta), rounds)
        for size, rounds, batch in zip(*phases, strict=True)
    ]
    release = events.in_parallel(phase_releases)
    return {
        "paper": release._replace(accountant="zcdp_as_published", sound=False),
        "theorem": release._replace(accountant="moments_as_published", sound=False),
        "exact": release,
    }


def _release_of_a_message(
    size: int, relative_rounds: float, batch: int, shared: SiloArguments, delta: float
) -> events.Release:
    """Return the release of one round of a phase.

    Args:
        size: records of a silo in the phase.
        relative_rounds: rounds of the phase over those of the first phase.
        batch: records of a silo in a message.
        shared: the arguments of the silos' messages.
        delta: the delta at which epsilon is stated.
    """
    statement: dict = {"delta": delta, "privacy_unit": "record", "protects_against": AGAINST}
    sigma = float(shared.noise_multiplier)
    if shared.sampler == "once":
        return events.bounded_participation_gaussian(sigma, max_participations=1, **statement)
    sigma = sigma * float(np.sqrt(relative_rounds))
    if shared.sampler == "fixed":
        return events.fixed_size_gaussian(sigma, sampling_rate=batch / size, **statement)
    release = events.full_gaussian(sigma, neighbors=events.REPLACE, **statement)
    if shared.sampler == "poisson":
        return release._replace(mechanism=f"{release.mechanism} (or fewer: a Poisson sample, not amplified)")
    return release


def check(task: Task, **arguments: Any) -> None:
    """Refuse incompatible values before anything is compiled.

    Raises:
        InputError: naming the value and what to do.
    """
    shared = SiloArguments.of(arguments)
    if task.train is None or not np.all(np.asarray(task.num_examples) == num_records(task)):
        raise InputError(f"task {task.name}: methods on silos need stored records, as many in every silo: take another")
    if shared.num_sampled > task.num_clients:
        raise InputError(
            f"num_sampled is {shared.num_sampled}, but task {task.name} has {task.num_clients} silos: take fewer"
        )
    check_name("smoothing", shared.smoothing, SMOOTHINGS)
    if shared.smoothing == "moreau" and task.linear is None:
        raise InputError(f"task {task.name} is no linear model: smooth it by convolution")
    check_noise_has_a_scale(float(shared.noise_multiplier), float(shared.clip_norm))
    plan_phases(num_records(task), shared)
