"""Gossip ADMM for personal models on a graph (Vanhaesebrouck, Bellet, Tommasi 2017, section 4.2). Not private.

Q is split into one function an agent, of its own model and its copies of its neighbours' models,

    Q_i = 1/4 sum_j W_ij |theta_i - copy_ij|^2 + mu D_ii c_i L_i(theta_i),

and for each edge both ends must agree on both models, through secondary variables Z with multipliers A. When an
edge (i, j) wakes up, both ends lower their augmented Lagrangian by a few gradient steps, exchange, and update the
Z and A of this edge alone.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from bench.algorithms import peers
from bench.algorithms.base import Algorithm, Method, Scalar, State
from bench.algorithms.peers import check_choice, check_peers
from bench.data.task import Linear, Peers, Task
from bench.kernels.graph import confidence
from bench.models.linear import Personal

STARTS = ("zero", "local", "descent")
DESCENT_STEPS = 100
SENT = 8.0  # vectors an activation: each end sends its two models and two multipliers


class Ends(NamedTuple):
    """What every agent keeps; in [client, slot, feature] a slot for each neighbour.

    Z and A enter the gradients only as A - rho Z, so that is what is kept, beside the multipliers.
    """

    model: Array  # [client, feature]
    own_sum: Array  # A - rho Z of its own model, summed over its neighbours, [client, feature]
    copy: Array  # the neighbour's model as this agent would have it
    own: Array  # A - rho Z of its own model
    other: Array  # A - rho Z of the neighbour's model
    own_a: Array  # A of its own model
    other_a: Array  # A of the neighbour's model


def admm(
    task: Task,
    *,
    mu: Scalar,
    penalty: Scalar,
    num_steps: int = 10,
    num_ticks: int = 1,
    start: str = "local",
    start_step_size: Scalar = 1.0,
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
    graph, everybody = task.need(Peers).graph, peers.agents(task)
    trust, degrees = confidence(task.num_examples), graph.degrees
    real = (graph.weights > 0).astype(jnp.float32)
    pull = mu * degrees * trust
    # The graph's part of Q_i is half a star's Laplacian, whose largest eigenvalue is at most D_ii + max_j W_ij.
    curvature = 0.5 * (degrees + jnp.max(graph.weights, axis=1)) + pull * task.need(Peers).smoothness
    lengths = 1 / (curvature + penalty * graph.num_neighbors.astype(jnp.float32))

    def init(key):
        if start == "local":
            models = peers.local_minimizers(task)
        elif start == "descent":
            models = peers.local_descent(task, start_step_size, DESCENT_STEPS)
        else:
            models = peers.zeros(task)
        copies = models[graph.neighbors]
        own = -penalty * jnp.broadcast_to(models[:, None], copies.shape) * real[:, :, None]
        nothing = jnp.zeros_like(copies)
        return State((), Ends(models, own.sum(1), copies, own, -penalty * copies * real[:, :, None], nothing, nothing))

    def lowered(agent, weights, mask, own_pull, length, model, own, copy, other):
        """An agent's model and copies after the gradient steps.

        In slot s the copy takes the steps  copy <- a_s copy + length (w_s model / 2 - other_s), whose sum needs no
        loop over copies: with the powers of a_s it is one product before the steps of the model and one after them.
        """
        shrink = 1 - length * (0.5 * weights + penalty * mask)  # a_s, from 0 to 1
        powers = shrink[None] ** jnp.arange(num_steps, dtype=jnp.float32)[:, None]  # a_s^t, [step, slot]
        sums = jnp.cumsum(powers, axis=0) - powers  # of the powers below t
        pulled = (weights[None] * powers) @ copy - length * (weights[None] * sums) @ other  # [step, feature]
        past = 0.5 * length * jnp.sum(jnp.square(weights)[None] * powers, axis=1)
        lag = jnp.arange(num_steps)[:, None] - jnp.arange(num_steps)[None] - 1
        memory = jnp.where(lag >= 0, past[lag], 0.0)  # of step t for the model at step u
        stiffness = 0.5 * jnp.sum(weights) + penalty * jnp.sum(mask)

        def step(carry, at):
            model, models = carry
            t, pulled_t, memory_t = at
            models = jax.lax.dynamic_update_index_in_dim(models, model, t, 0)
            loss = own_pull * peers.own_gradient(task, agent, model, jnp.inf, 2)
            down = loss + stiffness * model + own - 0.5 * (pulled_t + memory_t @ models)
            return (model - length * down, models), None

        start = (model, jnp.zeros((num_steps, model.shape[-1])))
        (model, models), _ = jax.lax.scan(step, start, (jnp.arange(num_steps), pulled, memory))
        last, total = powers[-1] * shrink, sums[-1] + powers[-1]
        copy = last[:, None] * copy - length * total[:, None] * other
        return model, copy + (0.5 * length * weights[None] * powers[::-1]).T @ models

    def tick(at: Ends, edge):
        i, s = edge
        pair, slots = (i, graph.neighbors[i, s]), (s, graph.reverse[i, s])

        def of_pair(tree):
            return jax.tree.map(lambda leaf: jnp.stack([peers.row(leaf, end) for end in pair]), tree)

        def of_edge(leaf):
            return jnp.stack([peers.row(peers.row(leaf, end), slot) for end, slot in zip(pair, slots, strict=True)])

        facts = of_pair((everybody, graph.weights, real, pull, lengths))
        primal = of_pair((at.model, at.own_sum, at.copy, at.other))
        own, own_a, other_a = of_edge(at.own), of_edge(at.own_a), of_edge(at.other_a)
        model, copy = jax.vmap(lowered)(*facts, *primal)
        other_model = jnp.stack([peers.row(copy[end], slots[end]) for end in range(2)])
        # Z of an end's own model: the mean of what the two ends hold of it, multipliers included.
        own_z = 0.5 * ((own_a + other_a[::-1]) / penalty + model + other_model[::-1])
        other_z = own_z[::-1]
        own_a = own_a + penalty * (model - own_z)
        other_a = other_a + penalty * (other_model - other_z)
        # What is written depends on what was read; else XLA copies all of `own` in every tick.
        change = own_a - penalty * own_z - own

        def put(leaf, rows):
            for end in range(2):
                leaf = jax.lax.dynamic_update_index_in_dim(leaf, rows[end], pair[end], 0)
            return leaf

        def put_slot(leaf, rows):
            for end in range(2):
                leaf = jax.lax.dynamic_update_slice(leaf, rows[end][None, None], (pair[end], slots[end], 0))
            return leaf

        moved = Ends(
            model=put(at.model, model),
            own_sum=put(at.own_sum, primal[1] + change),
            copy=put(at.copy, copy),
            own=put_slot(at.own, own + change),
            other=put_slot(at.other, other_a - penalty * other_z),
            own_a=put_slot(at.own_a, own_a),
            other_a=put_slot(at.other_a, other_a),
        )
        return moved, None

    def one_round(key, state):
        key_agent, key_slot = jax.random.split(key)
        agents = jax.random.randint(key_agent, (num_ticks,), 0, task.num_clients, dtype=jnp.int32)
        share = jax.random.uniform(key_slot, (num_ticks,))
        slots = (share * graph.num_neighbors[agents].astype(jnp.float32)).astype(jnp.int32)
        moved, _ = jax.lax.scan(tick, state.variables, (agents, slots))
        return State((), moved), {"vectors_sent": jnp.float32(SENT * num_ticks), "updates": jnp.float32(2 * num_ticks)}

    return Algorithm(init, one_round, lambda state: Personal(state.variables.model, mu))


def releases(task: Task, *, delta: float, **_) -> dict:
    """Exact models travel: no privacy."""
    return peers.exposed(delta)


def check(task: Task, *, start: str, **_) -> None:
    """Refuse a task without a graph, and unknown names."""
    check_peers(task)
    check_choice("start", start, STARTS)


METHOD = Method(admm, releases, version=1, check=check, needs=(Peers, Linear))
