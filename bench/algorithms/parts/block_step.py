"""The update of one agent's model in coordinate descent (Bellet et al. 2018, equations 4 and 6), and its noise."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from bench.algorithms.base import Scalar
from bench.algorithms.parts import peers
from bench.algorithms.parts.peers import MECHANISMS, Agent
from bench.algorithms.parts.wake_ups import Clocks, WakeUp
from bench.data.task import Peers, Task
from bench.kernels.graph import Graph, confidence

ALLOCATIONS = {"equal": 0.0, "published": 1 / 3, "unrolled": -1 / 3}  # epsilon_i(t) grows as C^(t * this)


class Allocation(NamedTuple):
    """The division of an agent's budget between its updates: epsilon_i(t) is proportional to C^(exponent t).

    log_rate: log C, C = 1 - strong convexity / (n largest block smoothness).
    """

    exponent: float
    log_rate: Array

    def weight(self, tick: Array) -> Array:
        return jnp.exp(self.exponent * self.log_rate * tick.astype(jnp.float32))

    def mean_weights(self, order: Array, clocks: Clocks) -> Array:
        """Return the mean weight of each agent's updates, [client], when clocks ring in this order."""
        ticks = jnp.argsort(order, stable=True).reshape(clocks.task.num_clients, clocks.max_updates)
        used = jnp.arange(clocks.max_updates, dtype=jnp.float32) < clocks.num_updates
        return jnp.where(used, self.weight(ticks), 0.0).sum(1) / jnp.minimum(clocks.num_updates, clocks.max_updates)


class BlockStep(NamedTuple):
    """The update of theta_i, with the quantities of all agents that it uses, [client, ...]."""

    task: Task
    graph: Graph
    agents: Agent
    degrees: Array  # D_ii
    confidence: Array  # c_i
    noise_scales: Array  # s_i = sigma L0 / m_i
    curvature: Array  # 1 / a = 1 + mu c_i Lloc_i
    mu: Scalar
    clip_norm: Scalar
    order: int  # of the norm that is clipped
    allocation: Allocation

    def updated(
        self, i: Array, noise: Array, tick: Array, neighbor_mean: Array, models: Array, mean_weights: Array | None
    ) -> Array:
        """Return theta_i after its update, [feature].

        Args:
            i: the agent.
            noise: of unit scale, [feature].
            tick: the number of the tick, counted from the start of the run.
            neighbor_mean: sum_j (W_ij / D_ii) theta_j, [feature].
            models: the models of all agents.
            mean_weights: of the allocation; None where it is equal.
        """
        agent = jax.tree.map(lambda leaf: peers.row(leaf, i), self.agents)
        model, scale = peers.row(models, i), peers.row(self.noise_scales, i)
        pull = self.mu * peers.row(self.confidence, i)
        if mean_weights is not None:
            scale = scale * peers.row(mean_weights, i) / self.allocation.weight(tick)
        gradient = peers.own_gradient(self.task, agent, model, self.clip_norm, self.order) + scale * noise
        return model + (neighbor_mean - model - pull * gradient) / peers.row(self.curvature, i)

    def after_tick(self, models: Array, wake_up: WakeUp, speaks: Array, mean_weights: Array | None) -> Array:
        """Return all models after the updates of the agents that are awake and speak, [client, feature]."""
        agents, _, noise, tick = wake_up
        if agents.shape[0] == 1:  # slices are several times faster than gathers under vmap over points
            i = agents[0]
            result = self.updated(i, noise[0], tick, peers.neighbor_mean(self.graph, models, i), models, mean_weights)
            result = jnp.where(speaks[0], result, peers.row(models, i))
            return jax.lax.dynamic_update_index_in_dim(models, result, i, 0)
        neighbor_sums = jnp.einsum("bk,bkd->bd", self.graph.weights[agents], models[self.graph.neighbors[agents]])
        neighbor_means = neighbor_sums / self.degrees[agents][:, None]
        in_axes = (0, 0, None, 0, None, None)
        result = jax.vmap(self.updated, in_axes)(agents, noise, tick, neighbor_means, models, mean_weights)
        return models.at[agents].add(jnp.where(speaks[:, None], result - models[agents], 0.0))


def block_step(
    task: Task,
    *,
    mu: Scalar,
    noise_multiplier: Scalar,
    lipschitz: Scalar,
    clip_norm: Scalar,
    mechanism: str,
    allocation: str,
) -> BlockStep:
    """Return the update of equation 6; arguments as for `coordinate_descent`."""
    objectives, agents = task.need(Peers), peers.agents(task)
    trust, degrees = confidence(task.num_examples), objectives.graph.degrees
    noise_scales = peers.noise_scales(task, noise_multiplier, lipschitz)
    curvature = 1 + mu * trust * objectives.smoothness
    strong_convexity = mu * jnp.min(degrees * trust * 2 * objectives.regularization)
    log_rate = jnp.log1p(-strong_convexity / (task.num_clients * jnp.max(degrees * curvature)))
    return BlockStep(
        task=task,
        graph=objectives.graph,
        agents=agents,
        degrees=degrees,
        confidence=trust,
        noise_scales=noise_scales,
        curvature=curvature,
        mu=mu,
        clip_norm=clip_norm,
        order=MECHANISMS[mechanism][1],
        allocation=Allocation(ALLOCATIONS[allocation], log_rate),
    )
