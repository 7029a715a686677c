"""The agents that wake up in every tick of a peer-to-peer run, and the number of updates of each."""

import math
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from bench.algorithms.base import Scalar
from bench.algorithms.parts import peers
from bench.data.task import Peers, Task


class WakeUp(NamedTuple):
    """A tick, or all ticks of a round with a leading axis."""

    agents: Array  # int32 [awake]
    rings: Array  # whether their clocks ring, bool [awake]; False after the end of a fixed order
    noise: Array  # of unit scale, [awake, feature]
    tick: Array  # the number of the tick, counted from the start of the run


class Clocks(NamedTuple):
    """The agents' clocks, which wake `num_awake` of them in each of the `num_ticks` ticks of a round.

    max_updates: rings of a clock before it stops, in an order drawn before the first round; 0 draws without end.
    num_updates: T_i, updates before an agent falls silent; at most max_updates where that is not 0.
    """

    task: Task
    num_ticks: int
    num_awake: int
    max_updates: int
    num_updates: Scalar

    def start(self, key: Array) -> dict[str, Array]:
        """Return State.schedule before the first tick."""
        zero, counts = jnp.int32(0), jnp.zeros(self.task.num_clients, jnp.int32)
        schedule = {"step": zero, "counts": counts, "most": jnp.int32(0)}
        if self.max_updates:
            schedule["order"] = peers.ring_order(key, self.task, self.max_updates)
        return schedule

    def wake_ups(self, key: Array, schedule: dict[str, Array]) -> tuple[Array, Array]:
        """Return agents of a round's ticks, int32 [tick, awake], and which of their clocks ring, bool [tick, awake]."""
        shape = (self.num_ticks, self.num_awake)
        if not self.max_updates:
            return peers.agents_awake(key, self.task, *shape), jnp.ones(shape, bool)
        places = schedule["step"] * self.num_awake + jnp.arange(self.num_ticks * self.num_awake).reshape(shape)
        last = self.task.num_clients * self.max_updates - 1
        return schedule["order"][jnp.minimum(places, last)], places <= last

    def may_update(self, wake_up: WakeUp) -> Array:
        """Return which agents have a budget and, if several are awake, come before their neighbours, bool [awake]."""
        allowed = wake_up.rings & (self.task.need(Peers).budget[wake_up.agents] > 0)
        return allowed & peers.before_neighbors(self.task, wake_up.agents) if self.num_awake > 1 else allowed

    def expected(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the expected updates of every agent in a round, and the probability of at least one, [client] each.

        For clocks without end these hold for rounds before any agent falls silent. In a fixed order the updates of a
        run are divided evenly between the rounds in which clocks ring, and each of these rounds is equally likely to
        contain any ring. Several agents awake at once are treated as drawn independently, which is an approximation.
        Without a fixed order and with one agent awake at a time, both values are exact.
        """
        objectives, clients = self.task.need(Peers), self.task.num_clients
        speaks = np.asarray(objectives.budget) > 0
        graph = objectives.graph
        neighbors, is_edge = np.asarray(graph.neighbors), np.asarray(graph.weights) > 0
        pool = speaks if self.max_updates else np.ones(clients, bool)  # agents without a budget ring last
        blocked = (1 + np.sum(is_edge & pool[neighbors], axis=1)) / np.sum(pool)  # by an agent earlier in the tick
        share_first = np.mean((1 - np.minimum(blocked, 1.0))[:, None] ** np.arange(self.num_awake), axis=1) * speaks
        places = self.num_ticks * self.num_awake
        if not self.max_updates:
            in_a_tick = share_first * self.num_awake / clients
            return in_a_tick * self.num_ticks, 1 - (1 - in_a_tick) ** self.num_ticks
        updates = share_first * min(float(self.num_updates), self.max_updates)
        rounds = -(-clients * self.max_updates // places)
        rings = int(np.sum(speaks)) * self.max_updates
        in_a_round = min(places, rings)
        missed = np.array([_probability_of_none(number, in_a_round, rings) for number in updates])
        return updates / rounds, (1 - missed) * rings / (rounds * in_a_round)


def _probability_of_none(chosen: float, taken: int, rings: int) -> float:
    """Return the probability that none of `chosen` rings, at random among all `rings`, is among the `taken`."""
    if chosen + taken > rings:
        return 0.0
    log = math.lgamma
    return math.exp(log(rings - chosen + 1) - log(rings - chosen - taken + 1) + log(rings - taken + 1) - log(rings + 1))


class Updates(NamedTuple):
    """The number of updates that the clocks have allowed so far.

    counts: of each agent, int32 [client].
    most: the largest count; epsilon is that of the agent with this count, so it rises when the count does.
    """

    counts: Array
    most: Array

    def remain(self, agents: Array, num_updates: Scalar) -> Array:
        """Return whether the agents have any of their `num_updates` left, bool [awake]."""
        return self.counts[agents].astype(jnp.float32) < num_updates

    def counted(self, agents: Array, may_update: Array) -> "Updates":
        """Return the counts after a tick in which these agents may update."""
        most = jnp.maximum(self.most, jnp.max(jnp.where(may_update, self.counts[agents] + 1, 0)))
        return Updates(self.counts.at[agents].add(may_update.astype(jnp.int32)), most)

    def released_since(self, before: "Updates", num_updates: Scalar) -> Array:
        """Return 1.0 if the largest count rose while its agent still spoke, else 0.0."""
        return ((self.most > before.most) & (before.most.astype(jnp.float32) < num_updates)).astype(jnp.float32)
