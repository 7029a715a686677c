"""Mean-regularised multi-task learning (MR-MTL; Liu, Hu, Wu, Smith, NeurIPS 2022): every silo has a model of its own,
held near the mean of all.

A round is an epoch of DP-SGD on every silo i, on its loss + lambda / 2 |w_i - w|^2, in m_i = floor(n_i / b_i) steps
with b_i = min(b, n_i):

    B      the next b_i records of a shuffled epoch, or a Poisson sample of its records, rate q_i = b_i / n_i
    w_i <- w_i - eta (sum_{x in B} clip(grad loss(w_i; x) + lambda (w_i - w), C) + sigma_i C N(0, I)) / b_i

and then  w <- w + sum_i (n_i / n) (change of w_i in the round).  With lambda = 0 silos learn privately by
themselves. If they start every round from w, this is FedAvg (lambda = 0) or FedProx (lambda > 0), whose model is w.

What is protected is one record of one silo, added or removed, against the server and all other silos, who see every w_i
after every round. Every silo has its own noise, because the amplification of a step depends on the silo's size. A silo
that uses all its records in one step a round has noise sigma; every other silo i has the sigma_i that gives its round
the same privacy in the central limit of composition (`silo_noise`). Sizes count as public.

Source read: the authors' program (github.com/kenziyuliu/private-cross-silo-fl), which shuffles, and calibrates every
silo's noise as if its batches were Poisson samples.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from bench.algorithms.base import Algorithm, Cost, Method, Scalar, State, check_noise_has_a_scale
from bench.algorithms.parts.counting import num_parameters, used_at_least_once
from bench.algorithms.parts.samplers import uniform_of_clients
from bench.algorithms.ranges import ClipNorm, Count, NonNegative, Positive
from bench.algorithms.search_space import Interval
from bench.data.task import Task
from bench.errors import InputError, check_name
from bench.kernels import gradient, sampling
from bench.models.additive import Additive
from bench.privacy import events

SAMPLERS = ("shuffled", "poisson", "all")
STARTS = ("own", "mean")
AGAINST = "the server and the other silos"


def mr_mtl(
    task: Task,
    *,
    batch_size: Count,
    step_size: Positive,
    regularization: NonNegative,
    clip_norm: ClipNorm,
    noise_multiplier: NonNegative,
    sampler: str = "poisson",
    start: str = "own",
) -> Algorithm:
    """MR-MTL, private local learning, FedAvg and FedProx on stored records of silos, which may differ in size.

    Args:
        task: with loss(w, theta_i, example); theta_i is held at 0.
        batch_size: b; with "poisson" the expected size of a batch. A silo with fewer records uses all of them.
        step_size: eta > 0.
        regularization: lambda >= 0.
        clip_norm: C > 0, on the sum of one record's gradient and the regulariser's; inf does not clip.
        noise_multiplier: sigma >= 0 of a silo with at most b records; see `silo_noise`.
        sampler: "shuffled", disjoint batches, with the remainder of an epoch left out; "poisson"; "all" records in one
            step.
        start: the model from which a silo starts its round, its "own" or the "mean".
    """
    most_steps = 1 if sampler == "all" else max(task.capacity // batch_size, 1)
    draw = _batches(task, batch_size, sampler)
    sizes = task.num_examples.astype(jnp.float32)
    weights = sizes / jnp.sum(sizes) if task.division is None else sizes
    batches, steps = _epoch(sizes, batch_size, sampler, jnp)
    sigmas = silo_noise(noise_multiplier, sizes, batch_size, sampler)
    stds = jax.vmap(gradient.noise_scale, (0, None))(sigmas, clip_norm)
    example_loss = task.loss
    assert example_loss is not None

    def one_step(w, mean, examples, real, noise, std, batch, active):
        """Return a silo's model after one step, and how many of its gradients were clipped."""
        nothing_local = jax.tree.map(jnp.zeros_like, w)
        pull = jax.tree.map(lambda own, shared: regularization * (own - shared), w, mean)

        def gradient_of(example, real):
            g = jax.grad(example_loss)(w, nothing_local, example)
            return jax.tree.map(lambda data, towards: jnp.where(real, data + towards, 0.0), g, pull)

        total, norms = gradient.clipped_sum(jax.vmap(gradient_of)(examples, real), clip_norm)
        moved = jax.tree.map(lambda z, g, n: z - step_size * (g + std * n) / batch, w, total, noise)
        w = jax.tree.map(lambda new, old: jnp.where(active, new, old), moved, w)
        return w, jnp.where(active, jnp.sum(norms > clip_norm, dtype=jnp.float32), 0.0)

    def init(key):
        models = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (task.num_held, *leaf.shape)), task.init_params)
        return State((), {"own": models, "mean": task.init_params})

    def one_round(key, state):
        key_batches, key_noise = jax.random.split(key)
        own, mean = state.variables["own"], state.variables["mean"]
        if start == "mean":
            own = jax.tree.map(lambda w, leaf: jnp.broadcast_to(w, leaf.shape), mean, own)

        batch_at = draw(key_batches)

        def body(models, step):
            rows, real = batch_at(step)
            if task.present_examples is not None:
                real &= jnp.take_along_axis(task.present_examples, rows, axis=1)
            active = step.astype(jnp.float32) < steps
            examples = jax.tree.map(lambda leaf: jax.vmap(lambda one, row: one[row])(leaf, rows), task.train)
            noise = gradient.gaussian_rows_like(jax.random.fold_in(key_noise, step), models, task.rows_drawn())
            models, clipped = jax.vmap(one_step, (0, None, 0, 0, 0, 0, 0, 0))(
                models, mean, examples, real, noise, stds, batches, active
            )
            used = jnp.sum(jnp.where(active[:, None], real, False), dtype=jnp.float32)
            return models, (jnp.sum(clipped), used)

        moved, (clipped, used) = jax.lax.scan(body, own, jnp.arange(most_steps))
        change = jax.tree.map(lambda new, old: jnp.tensordot(weights, new - old, 1, precision="highest"), moved, own)
        change, records, clipped, used = task.total((change, jnp.sum(sizes), jnp.sum(clipped), jnp.sum(used)))
        if task.division is not None:
            change = jax.tree.map(lambda leaf: leaf / records, change)
        mean = jax.tree.map(jnp.add, mean, change)
        return State((), {"own": moved, "mean": mean}), {"clipped": clipped / jnp.maximum(used, 1.0)}

    def params(state):
        own, mean = state.variables["own"], state.variables["mean"]
        return Additive(mean) if start == "mean" else Additive(jax.tree.map(jnp.zeros_like, mean), own)

    return Algorithm(init, one_round, params, public=lambda state: state.variables)


def _epoch(sizes, batch_size: int, sampler: str, xp) -> tuple:
    """Return b_i and m_i of silos of these sizes. `xp`: numpy, or jax.numpy."""
    batches = sizes if sampler == "all" else xp.minimum(sizes, batch_size)
    return batches, sizes // xp.maximum(batches, 1)


def silo_noise(noise_multiplier: Scalar, sizes, batch_size: int, sampler: str, xp=jnp):
    """Return sigma_i of silos of these sizes.

    In the central limit of composition (Bu et al. 2020) a round of m_i Poisson samples of rate q_i < 1 is equivalent to
    one Gaussian mechanism with sigma where

        m_i q_i^2 (exp(1 / sigma_i^2) - 1) = 1 / sigma^2.

    At sizes from 17 to 200, batches of 32, 201 rounds and delta = 1e-3, the sigma that Renyi DP gives if every silo is
    calibrated by itself differ by 0.7 % at epsilon 6 and by 0.2 % at epsilon 1. `releases` accounts for the sigma_i.

    Args:
        sizes: n_i >= 1, float [silo].
        xp: numpy, or jax.numpy.
    """
    batches, steps = _epoch(sizes, batch_size, sampler, xp)
    rate = batches / sizes
    with np.errstate(divide="ignore"):  # without noise, 1 / 0 is inf and the result is 0
        inverse = 1.0 / (noise_multiplier**2 * steps * xp.square(rate))
        with_sampling = 1.0 / xp.sqrt(xp.log1p(inverse))
    return xp.where(rate < 1, with_sampling, noise_multiplier)


def _batches(task: Task, batch_size: int, sampler: str) -> Callable[[Array], Callable]:
    """Return key of a round -> step -> rows of every silo's batch [silo, place], and which places are real."""
    capacity = task.capacity
    sizes = task.num_examples[:, None]
    all_rows = jnp.broadcast_to(jnp.arange(capacity), (task.num_held, capacity))
    is_stored = all_rows < sizes
    length = min(batch_size, capacity)

    def whole_batches(key):
        return lambda step: (all_rows, is_stored)

    def poisson(key):
        # The number of places is fixed for silos of any size up to the largest, as sizes are not known at compile time.
        bound = max(sampling.poisson_bound(n, min(batch_size / n, 1.0)) for n in range(1, capacity + 1))

        def batch(step):
            draws = jnp.where(is_stored, uniform_of_clients(task, jax.random.fold_in(key, step), capacity), 2.0)
            smallest, rows = jax.lax.top_k(-draws, bound)
            return rows, -smallest * sizes.astype(jnp.float32) < jnp.minimum(sizes, batch_size).astype(jnp.float32)

        return batch

    def shuffled(key):
        order = jnp.argsort(jnp.where(is_stored, uniform_of_clients(task, key, capacity), 2.0), axis=1)
        real = jnp.broadcast_to(jnp.arange(length), (task.num_held, length)) < sizes
        return lambda step: (jax.lax.dynamic_slice_in_dim(order, step * length, length, 1), real)

    return {"all": whole_batches, "poisson": poisson, "shuffled": shuffled}[sampler]


def releases(
    task: Task, *, delta: float, noise_multiplier: float, batch_size: int, sampler: str = "poisson", **_
) -> dict[str, events.Release]:
    """Return what a run reveals of one record of a silo, in three ways of accounting. Each states the epsilon of the
    silo with the largest.

    paper: Renyi DP, with every step a Poisson sample, as the authors count; not proven for shuffled batches.
    tight: the same by privacy loss distributions; with "all", exactly.
    worst_case: one record replaced, without amplification. The record is used in one step of a round; with "poisson" it
        may be used in all.
    """
    sizes = np.unique(np.asarray(task.num_examples)).astype(float)
    sigmas = silo_noise(noise_multiplier, sizes, batch_size, sampler, np)
    batches, steps = _epoch(sizes, batch_size, sampler, np)
    silos = [(float(s), float(b / n), int(m)) for s, b, n, m in zip(sigmas, batches, sizes, steps, strict=True)]
    statement: dict = {"delta": delta, "privacy_unit": "example", "protects_against": AGAINST}

    def sampled(accountant: str) -> events.Release:
        if sampler == "all":
            return events.gaussian(float(noise_multiplier), sampling="none", accountant=accountant, **statement)
        parts = [
            (events.poisson_gaussian(sigma, sampling_rate=rate, accountant=accountant, **statement), count)
            for sigma, rate, count in silos
        ]
        return events.at_once(parts)._replace(sound=sampler == "poisson")

    unamplified = [
        (
            events.bounded_participation_gaussian(sigma, max_participations=lambda uses: uses, **statement),
            count if sampler == "poisson" else 1,
        )
        for sigma, _, count in silos
    ]
    return {"paper": sampled("rdp"), "tight": sampled("pld"), "worst_case": events.at_once(unamplified)}


def cost(task: Task, *, batch_size: int, sampler: str, **_) -> Cost:
    """Return the cost of a round. As in `releases`, every silo sends its model after a round, also with lambda = 0."""
    sizes = np.asarray(task.num_examples, float)
    batches, steps = _epoch(sizes, batch_size, sampler, np)
    examples = used_at_least_once(sizes, batches, steps) if sampler == "poisson" else batches * steps
    return Cost(float(task.num_clients * num_parameters(task)), float(np.sum(batches * steps)), float(np.sum(examples)))


def check(
    task: Task, *, batch_size: int, clip_norm: float, noise_multiplier: float, sampler: str, start: str, **_
) -> None:
    """Refuse incompatible values before anything is compiled.

    Raises:
        InputError: naming the value and what to do.
    """
    for kind, value, known in (("sampler", sampler, SAMPLERS), ("start of a round", start, STARTS)):
        check_name(kind, value, known)
    if task.train is None or task.loss is None or task.network is not None:
        raise InputError(f"task {task.name}: mr_mtl needs stored records and their loss: take one such as school")
    if np.min(np.asarray(task.num_examples)) < 1:
        raise InputError(f"a silo of {task.name} has no record: leave it out")
    check_noise_has_a_scale(noise_multiplier, clip_norm)


METHOD = Method(
    mr_mtl, releases, version=1, check=check, space={"regularization": Interval(0.03, 3.0)}, cost=cost, divides=True
)
