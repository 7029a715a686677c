"""Who wakes up when in a peer-to-peer run, and how many updates everybody has made."""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from bench.algorithms import peers
from bench.algorithms.base import Scalar
from bench.data.task import Peers, Task


class WakeUp(NamedTuple):
    """A tick, or all ticks of a round with a leading axis."""

    agents: Array  # int32 [awake]
    rings: Array  # whether their clock rings, bool [awake]: not after the last of a fixed order
    noise: Array  # of unit scale, [awake, feature]
    tick: Array  # its number, counted from the start of the run


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
        """State.schedule before the first tick."""
        zero, counts = jnp.int32(0), jnp.zeros(self.task.num_clients, jnp.int32)
        schedule = {"step": zero, "counts": counts, "most": jnp.int32(0)}
        if self.max_updates:
            schedule["order"] = peers.ring_order(key, self.task, self.max_updates)
        return schedule

    def wake_ups(self, key: Array, schedule: dict[str, Array]) -> tuple[Array, Array]:
        """Agents of a round's ticks, int32 [tick, awake], and whether their clocks ring, bool [tick, awake]."""
        shape = (self.num_ticks, self.num_awake)
        if not self.max_updates:
            return peers.awake(key, self.task, *shape), jnp.ones(shape, bool)
        places = schedule["step"] * self.num_awake + jnp.arange(self.num_ticks * self.num_awake).reshape(shape)
        last = self.task.num_clients * self.max_updates - 1
        return schedule["order"][jnp.minimum(places, last)], places <= last

    def may_update(self, wake_up: WakeUp) -> Array:
        """Which agents have a budget and, if several are awake, come before their neighbours, bool [awake]."""
        allowed = wake_up.rings & (self.task.need(Peers).budget[wake_up.agents] > 0)
        return allowed & peers.before_neighbors(self.task, wake_up.agents) if self.num_awake > 1 else allowed


class Updates(NamedTuple):
    """How many updates the clocks have allowed so far.

    counts: of each agent, int32 [client].
    most: of the agent with most; epsilon is that agent's, so it rises when this does.
    """

    counts: Array
    most: Array

    def remain(self, agents: Array, num_updates: Scalar) -> Array:
        """Whether the agents have any of their `num_updates` left, bool [awake]."""
        return self.counts[agents].astype(jnp.float32) < num_updates

    def counted(self, agents: Array, may_update: Array) -> "Updates":
        """After a tick in which these may update."""
        most = jnp.maximum(self.most, jnp.max(jnp.where(may_update, self.counts[agents] + 1, 0)))
        return Updates(self.counts.at[agents].add(may_update.astype(jnp.int32)), most)

    def released_since(self, before: "Updates", num_updates: Scalar) -> Array:
        """1.0 where the largest count rose, and its agent still spoke; else 0.0."""
        return ((self.most > before.most) & (before.most.astype(jnp.float32) < num_updates)).astype(jnp.float32)
