"""DP-SCAFFOLD for networks (Noble, Bellet, Dieuleveut 2022, Algorithm 1): DP-SGD at clients, with control variates.

Every client takes E epochs of steps on its own examples (`parts.local_dpsgd`), each along the noisy mean g of clipped
gradients, and keeps c_i:

    theta <- theta - eta (g - c_i + c)
    c_i   <- the mean of the g of this round,    c <- c + mean_i (change of c_i),    w <- mean_i theta

This is `dp_scaffold` with all clients in every round, as the other methods for networks have them, and a server's step
of 1. Control variates start from 0. With one step in a round they cancel in the mean, and w is that of `dpsgd_fedavg`.

What is private is one example of one client, against the server. c_i and c follow from noisy sums, so that they are
post-processing, and releases are those of `dpsgd_fedavg`.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from bench.algorithms.base import Algorithm, Cost, Method
from bench.algorithms.parts.local_dpsgd import LocalDpsgdArguments, LocalOptimizer, check, local_dpsgd, releases
from bench.algorithms.parts.local_dpsgd import cost as cost_of_epoch
from bench.algorithms.parts.shared_arguments import sharing
from bench.data.task import Network, Task


class Variates(NamedTuple):
    """What a client keeps: c_i, c, the sum of this round's noisy gradients, and their number."""

    own: Any
    shared: Any
    total: Any
    steps: jax.Array


@sharing(LocalDpsgdArguments, fixed={"momentum": 0.0}, num_epochs=1.0)
def dpsgd_scaffold(task: Task, shared: LocalDpsgdArguments) -> Algorithm:
    """DP-SGD at every client with control variates, and averaging.

    Args:
        task: with a network and equally many examples for every client.
        shared: see LocalDpsgdArguments; there is no momentum.
    """

    def init(theta):
        zeros = jax.tree.map(jnp.zeros_like, theta)
        return Variates(zeros, zeros, zeros, jnp.float32(0))

    def update(g, variates, theta, server_state):
        def change(g, own, common):
            return -shared.step_size * (g - own + common)

        total = jax.tree.map(jnp.add, variates.total, g)
        new_variates = jax.tree.map(change, g, variates.own, variates.shared)
        return new_variates, variates._replace(total=total, steps=variates.steps + 1)

    def restart(theta, variates, average):
        number = variates.steps[0]  # the same for all clients
        own = jax.tree.map(lambda total: total / number, variates.total)
        mean_change = average(jax.tree.map(jnp.subtract, own, variates.own))
        new_variates = jax.tree.map(lambda c, change: c + change[None], variates.shared, mean_change)
        return Variates(own, new_variates, *jax.tree.map(jnp.zeros_like, variates[2:]))

    return local_dpsgd(task, shared, optimizer=LocalOptimizer(init, update, restart))


def cost(task: Task, *, num_epochs: float, **args) -> Cost:
    """Return the cost of a local epoch; clients send the change of c_i beside their model."""
    total = cost_of_epoch(task, num_epochs=num_epochs, **args)
    return total._replace(uploads=2 * total.uploads)


METHOD = Method(dpsgd_scaffold, releases, version=1, check=check, needs=(Network,), cost=cost, divides=True)
