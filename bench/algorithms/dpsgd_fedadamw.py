"""DP-FedAdamW (Liu, Miao, Xi, Liu, CVPR 2026, arXiv 2602.19945): AdamW at every client, on noisy gradients.

Every client takes E epochs of steps on its own examples (`parts.local_dpsgd`), each along the noisy mean g of clipped
gradients, whose noise has standard deviation s = sigma C / B:

    m <- beta_1 m + (1 - beta_1) g,    v <- beta_2 v + (1 - beta_2) g^2
    theta <- theta - eta (m' / (sqrt(max(v' - s^2, 0)) + tau) + gamma Delta + lambda theta)

m' = m / (1 - beta_1^k) and v' = v / (1 - beta_2^t) correct for the start, with k steps of the round and t of the run.
s^2 is what the noise adds to v' on average. m starts from 0 in every round, and v, for each array of the model, from
the mean over its numbers and over all clients. Delta = (w - mean theta) / (eta K) is the mean step of the round before,
of K steps, and the server takes the mean of all models.

What is private is one example of one client, against the server. All but g follows from noisy sums and from public
numbers, the moments too, so releases are those of `dpsgd_fedavg`.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from bench.algorithms.base import Algorithm, Cost, Method, Role, Scalar
from bench.algorithms.parts.local_dpsgd import (
    LocalDpsgdArguments,
    LocalOptimizer,
    check,
    divisor_of_sums,
    local_dpsgd,
    releases,
    steps_of_epoch,
)
from bench.algorithms.parts.local_dpsgd import cost as cost_of_epoch
from bench.algorithms.parts.shared_arguments import sharing
from bench.algorithms.ranges import BelowOne, NonNegative, Positive
from bench.algorithms.search_space import Interval
from bench.data.task import Network, Task
from bench.kernels import gradient


class Moments(NamedTuple):
    """The moments m and v of a client, and its numbers of steps k and t."""

    first: Any
    second: Any
    of_round: jax.Array
    of_run: jax.Array


@sharing(LocalDpsgdArguments, fixed={"momentum": 0.0}, num_epochs=1.0)
def dpsgd_fedadamw(
    task: Task,
    shared: LocalDpsgdArguments,
    *,
    beta1: BelowOne = 0.9,
    beta2: BelowOne = 0.999,
    tau: Positive = 1e-3,
    alignment: NonNegative = 0.5,
    decay: NonNegative = 0.01,
) -> Algorithm:
    """DP-SGD at every client with the steps of AdamW, and averaging.

    Args:
        task: with a network and equally many examples for every client.
        shared: see LocalDpsgdArguments; there is no momentum beside beta1.
        beta1, beta2: in [0, 1).
        tau: > 0, prevents division by zero.
        alignment: gamma >= 0, of the mean step of the round before.
        decay: lambda >= 0, of the weights.
    """
    steps, divisor = steps_of_epoch(task, shared.batch_size), divisor_of_sums(task, shared.batch_size)
    std = gradient.noise_scale(shared.noise_multiplier, shared.clip_norm) / divisor

    def init(theta):
        zeros = jax.tree.map(jnp.zeros_like, theta)
        return Moments(zeros, zeros, jnp.float32(0), jnp.float32(0))

    def update(g, moments, theta, server_state):
        _, mean_step = server_state
        of_round, of_run = moments.of_round + 1, moments.of_run + 1
        first = jax.tree.map(lambda m, g: beta1 * m + (1 - beta1) * g, moments.first, g)
        second = jax.tree.map(lambda v, g: beta2 * v + (1 - beta2) * jnp.square(g), moments.second, g)

        def change(m, v, z, step):
            unbiased = jnp.maximum(v / (1 - beta2**of_run) - jnp.square(std), 0.0)
            direction = m / (1 - beta1**of_round) / (jnp.sqrt(unbiased) + tau)
            return -shared.step_size * (direction + alignment * step + decay * z)

        return jax.tree.map(change, first, second, theta, mean_step), Moments(first, second, of_round, of_run)

    def restart(theta, moments, average):
        means = average(jax.tree.map(lambda v: jnp.mean(v, axis=range(1, v.ndim)), moments.second))
        second = jax.tree.map(jnp.full_like, moments.second, means)
        first, zeros = jax.tree.map(jnp.zeros_like, (moments.first, moments.of_round))
        return Moments(first, second, zeros, moments.of_run)

    def server(w, memory, change):
        scale: Scalar = shared.step_size * steps * shared.num_epochs
        return jax.tree.map(jnp.subtract, w, change), jax.tree.map(lambda leaf: leaf / scale, change)

    zeros = jax.tree.map(jnp.zeros_like, task.init_params)
    return local_dpsgd(task, shared, optimizer=LocalOptimizer(init, update, restart), server=server, memory=zeros)


def cost(task: Task, *, num_epochs: float, **args) -> Cost:
    """Return the cost of a local epoch; clients also send a number for each array of the model."""
    total, arrays = cost_of_epoch(task, num_epochs=num_epochs, **args), len(jax.tree.leaves(task.init_params))
    return total._replace(uploads=total.uploads + task.num_clients * arrays / float(num_epochs))


METHOD = Method(
    dpsgd_fedadamw,
    releases,
    version=1,
    check=check,
    space={
        "step_size": Interval(1e-4, 0.1),
        "tau": Interval(1e-6, 0.1),
        "alignment": (0.0, 0.5),
    },
    needs=(Network,),
    cost=cost,
    divides=True,
    roles=lambda **_: {"step_size": Role("adaptive_step_size")},  # in units of the model
)
