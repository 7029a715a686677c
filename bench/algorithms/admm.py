"""Gossip ADMM for personal models on a graph (Vanhaesebrouck, Bellet, Tommasi 2017, section 4.2). Not private.

Q is split into one function an agent, of its own model and its copies of its neighbours' models,

    Q_i = 1/4 sum_j W_ij |theta_i - copy_ij|^2 + mu D_ii c_i L_i(theta_i),

and for each edge both ends must agree on both models, through secondary variables Z with multipliers A. When an
edge (i, j) wakes up, both of its ends

    1. lower their augmented Lagrangian in their model and their copies, by a few gradient steps,
    2. exchange models and multipliers, and set the Z of this edge, for i's model:
       Z <- ((A_ij + A_ji) / rho + theta_i + copy_ji) / 2,
    3. update the multipliers of this edge: A_ij <- A_ij + rho (theta_i - Z), A_ji <- A_ji + rho (copy_ji - Z).

`lower_lagrangian` is step 1, `exchange` steps 2 and 3.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from bench.algorithms.base import Algorithm, Cost, Method, Scalar, State
from bench.algorithms.parts import peers
from bench.algorithms.parts.counting import num_parameters
from bench.algorithms.parts.peers import LOCAL_STARTS, Agent, check_choice, check_peers
from bench.algorithms.ranges import Count, Positive, Ticks
from bench.data.task import Linear, Peers, Task
from bench.kernels.graph import Graph, confidence
from bench.models.linear import Personal

VECTORS_PER_EDGE = 8.0  # in one activation each end sends its two models and two multipliers


class AgentFunction(NamedTuple):
    """Q_i and the constants of its augmented Lagrangian, of one agent, or of all with a leading axis."""

    examples: Agent
    weights: Array  # W_ij, [slot]
    mask: Array  # 1 for a neighbour, 0 for an empty slot, [slot]
    pull: Array  # mu D_ii c_i
    step_size: Array  # of the gradient steps: 1 / (bound on the curvature)


class AgentVariables(NamedTuple):
    """The variables that every agent keeps; [client, slot, feature] has a slot for each neighbour.

    Z and A enter the gradients only as A - rho Z, here called the shift, which is therefore kept beside the multipliers
    A.
    """

    model: Array  # [client, feature]
    own_shift_sum: Array  # the shifts of its own model, summed over its neighbours, [client, feature]
    copy: Array  # this agent's copy of the neighbour's model
    own_shift: Array  # of its own model
    other_shift: Array  # of the neighbour's model
    own_multiplier: Array  # A of its own model
    other_multiplier: Array  # A of the neighbour's model


class Edge(NamedTuple):
    """An edge that is awake: its two ends, and the slots in which they list each other."""

    ends: tuple[Array, Array]
    slots: tuple[Array, Array]

    def of_ends(self, tree: Any) -> Any:
        """Return the rows of the two ends, leaves [end, ...] of leaves [client, ...]."""
        return jax.tree.map(lambda leaf: jnp.stack([peers.row(leaf, end) for end in self.ends]), tree)

    def of_slots(self, leaf: Array) -> Array:
        """Return the entry of each end for the other, [end, feature] of [client, slot, feature]."""
        return jnp.stack([peers.row(peers.row(leaf, i), slot) for i, slot in zip(self.ends, self.slots, strict=True)])

    def put_ends(self, leaf: Array, rows: Array) -> Array:
        """Return [client, ...] with new rows of the two ends."""
        for end in range(2):
            leaf = jax.lax.dynamic_update_index_in_dim(leaf, rows[end], self.ends[end], 0)
        return leaf

    def put_slots(self, leaf: Array, rows: Array) -> Array:
        """Return [client, slot, feature] with new entries of each end for the other."""
        for end in range(2):
            place = (self.ends[end], self.slots[end], 0)
            leaf = jax.lax.dynamic_update_slice(leaf, rows[end][None, None], place)
        return leaf


def lower_lagrangian(
    task: Task,
    penalty: Scalar,
    num_steps: int,
    function: AgentFunction,
    model: Array,
    own_shift_sum: Array,
    copy: Array,
    other_shift: Array,
) -> tuple[Array, Array]:
    """Return an agent's model [feature] and copies [slot, feature] after the gradient steps.

    In slot s the copy takes the steps  copy <- a_s copy + length (w_s model / 2 - other_shift_s). Their sum needs no
    loop over copies: it is computed from the powers of a_s, with one product before the steps of the model and one
        after them.
    """
    agent, weights, mask, own_pull, length = function
    shrink = 1 - length * (0.5 * weights + penalty * mask)  # a_s, from 0 to 1
    powers = shrink[None] ** jnp.arange(num_steps, dtype=jnp.float32)[:, None]  # a_s^t, [step, slot]
    sums = jnp.cumsum(powers, axis=0) - powers  # of the powers below t
    pulled = (weights[None] * powers) @ copy - length * (weights[None] * sums) @ other_shift  # [step, feature]
    past = 0.5 * length * jnp.sum(jnp.square(weights)[None] * powers, axis=1)
    lag = jnp.arange(num_steps)[:, None] - jnp.arange(num_steps)[None] - 1
    memory = jnp.where(lag >= 0, past[lag], 0.0)  # of step t for the model at step u
    stiffness = 0.5 * jnp.sum(weights) + penalty * jnp.sum(mask)

    def step(carry, inputs):
        model, models = carry
        t, pulled_t, memory_t = inputs
        models = jax.lax.dynamic_update_index_in_dim(models, model, t, 0)
        loss_gradient = own_pull * peers.own_gradient(task, agent, model, jnp.inf, 2)
        gradient = loss_gradient + stiffness * model + own_shift_sum - 0.5 * (pulled_t + memory_t @ models)
        return (model - length * gradient, models), None

    start = (model, jnp.zeros((num_steps, model.shape[-1])))
    (model, models), _ = jax.lax.scan(step, start, (jnp.arange(num_steps), pulled, memory))
    last, total = powers[-1] * shrink, sums[-1] + powers[-1]
    copy = last[:, None] * copy - length * total[:, None] * other_shift
    return model, copy + (0.5 * length * weights[None] * powers[::-1]).T @ models


def exchange(edge: Edge, penalty: Scalar, before: AgentVariables, model: Array, copy: Array) -> AgentVariables:
    """Return all agents' variables after both ends have sent the results of `lower_lagrangian`; Z and A of this edge
    change.

    Args:
        edge: the edge that is awake.
        penalty: rho.
        before: of all agents, from before the tick.
        model, copy: of the two ends, [end, feature] and [end, slot, feature].
    """
    own_shift_sum, own_shift = edge.of_ends(before.own_shift_sum), edge.of_slots(before.own_shift)
    own_multiplier, other_multiplier = edge.of_slots(before.own_multiplier), edge.of_slots(before.other_multiplier)
    other_model = jnp.stack([peers.row(copy[end], edge.slots[end]) for end in range(2)])
    # Z of an end's own model is the mean of the two ends' values of it, multipliers included.
    own_z = 0.5 * ((own_multiplier + other_multiplier[::-1]) / penalty + model + other_model[::-1])
    other_z = own_z[::-1]
    own_multiplier = own_multiplier + penalty * (model - own_z)
    other_multiplier = other_multiplier + penalty * (other_model - other_z)
    # The written values must depend on the values read, or else XLA copies all of `own_shift` in every tick.
    change = own_multiplier - penalty * own_z - own_shift
    return AgentVariables(
        model=edge.put_ends(before.model, model),
        own_shift_sum=edge.put_ends(before.own_shift_sum, own_shift_sum + change),
        copy=edge.put_ends(before.copy, copy),
        own_shift=edge.put_slots(before.own_shift, own_shift + change),
        other_shift=edge.put_slots(before.other_shift, other_multiplier - penalty * other_z),
        own_multiplier=edge.put_slots(before.own_multiplier, own_multiplier),
        other_multiplier=edge.put_slots(before.other_multiplier, other_multiplier),
    )


def agent_functions(task: Task, mu: Scalar, penalty: Scalar) -> AgentFunction:
    """Return the functions of all agents, leaves [client, ...]."""
    graph, examples = task.need(Peers).graph, peers.agents(task)
    trust, degrees = confidence(task.num_examples), graph.degrees
    mask = (graph.weights > 0).astype(jnp.float32)
    pull = mu * degrees * trust
    # The graph's part of Q_i is half a star's Laplacian, whose largest eigenvalue is at most D_ii + max_j W_ij.
    curvature = 0.5 * (degrees + jnp.max(graph.weights, axis=1)) + pull * task.need(Peers).smoothness
    step_size = 1 / (curvature + penalty * graph.num_neighbors.astype(jnp.float32))
    return AgentFunction(examples, graph.weights, mask, pull, step_size)


def first_variables(graph: Graph, mask: Array, penalty: Scalar, models: Array) -> AgentVariables:
    """Return variables with copies and Z equal to the models, and A at 0."""
    copies = models[graph.neighbors]
    own_shift = -penalty * jnp.broadcast_to(models[:, None], copies.shape) * mask[:, :, None]
    other_shift = -penalty * copies * mask[:, :, None]
    zero = jnp.zeros_like(copies)
    return AgentVariables(models, own_shift.sum(1), copies, own_shift, other_shift, zero, zero)


def edges_awake(key: Array, graph: Graph, num_ticks: int) -> tuple[Array, Array]:
    """Return an agent a tick, drawn uniformly, and the slot of one of its neighbours, drawn uniformly; int32 [tick]."""
    key_agent, key_slot = jax.random.split(key)
    agents = jax.random.randint(key_agent, (num_ticks,), 0, graph.weights.shape[0], dtype=jnp.int32)
    share = jax.random.uniform(key_slot, (num_ticks,))
    return agents, (share * graph.num_neighbors[agents].astype(jnp.float32)).astype(jnp.int32)


def admm(
    task: Task,
    *,
    mu: Positive,
    penalty: Positive,
    num_steps: Count = 10,
    num_ticks: Ticks = 1,
    start: str = "local",
    start_step_size: Positive = 1.0,
) -> Algorithm:
    """Gossip ADMM; a round is `num_ticks` ticks, in each of which one agent and one of its neighbours wake up.

    Args:
        task: as for coordinate_descent.
        mu: weight of the agents' own objectives, > 0.
        penalty: rho > 0 of the augmented Lagrangian.
        num_steps: gradient steps for the primal variables, of length 1 / (bound on their curvature).
        num_ticks: ticks in a round; their draws are made together.
        start: "zero"; "local", the exact minimisers of L_i; "descent", 100 gradient steps of length
            `start_step_size` towards them. Copies and Z start equal to the models, A at 0.
    """
    graph, functions = task.need(Peers).graph, agent_functions(task, mu, penalty)
    lower = jax.vmap(partial(lower_lagrangian, task, penalty, num_steps))

    def init(key):
        models = peers.local_start(task, start, start_step_size)
        return State((), first_variables(graph, functions.mask, penalty, models))

    def tick(variables: AgentVariables, agent_and_slot: tuple[Array, Array]):
        i, slot = agent_and_slot
        edge = Edge((i, graph.neighbors[i, slot]), (slot, graph.reverse[i, slot]))
        function = edge.of_ends(functions)
        primal = (variables.model, variables.own_shift_sum, variables.copy, variables.other_shift)
        model, copy = lower(function, *edge.of_ends(primal))
        return exchange(edge, penalty, variables, model, copy), None

    def one_round(key, state):
        variables, _ = jax.lax.scan(tick, state.variables, edges_awake(key, graph, num_ticks))
        sent, updates = jnp.float32(VECTORS_PER_EDGE * num_ticks), jnp.float32(2 * num_ticks)
        return State((), variables), {"vectors_sent": sent, "updates": updates}

    return Algorithm(init, one_round, lambda state: Personal(state.variables.model, mu))


def releases(task: Task, *, delta: float, **_) -> dict:
    """Return releases without privacy, since exact models are sent."""
    return peers.exposed_releases(delta)


def cost(task: Task, *, num_steps: int, num_ticks: int, start: str, **_) -> Cost:
    """Return the cost of `num_ticks` edges that wake up; each end takes `num_steps` gradients of its own objective."""
    graph, sizes = task.need(Peers).graph, np.asarray(task.num_examples)
    shares = (np.asarray(graph.weights) > 0) / np.maximum(np.asarray(graph.num_neighbors), 1)[:, None]
    chance = np.bincount(np.asarray(graph.neighbors).ravel(), shares.ravel(), task.num_clients)  # drawn by a neighbour
    awake = (1 + chance) / task.num_clients  # as the first or the second of a tick's two ends
    return Cost(
        VECTORS_PER_EDGE * num_ticks * num_parameters(task),
        float(awake @ sizes) * num_steps * num_ticks,
        float((1 - (1 - awake) ** num_ticks) @ sizes),
        once=peers.cost_of_start(task, start),
    )


def check(task: Task, *, start: str, **_) -> None:
    """Refuse a task without a graph, and unknown names."""
    check_peers(task)
    check_choice("start", start, LOCAL_STARTS)


METHOD = Method(admm, releases, version=1, check=check, needs=(Peers, Linear), cost=cost)
