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
from bench.data.task import Task
from bench.kernels.graph import confidence
from bench.models.linear import Personal

STARTS = ("zero", "local", "descent")
DESCENT_STEPS = 100
SENT = 8.0  # vectors an activation: each end sends its two models and two multipliers


class Ends(NamedTuple):
    """What every agent keeps, with a slot for each neighbour: `own` is about its own model, `other` about theirs."""

    model: Array  # [client, feature]
    copy: Array  # the neighbour's model as this agent would have it, [client, slot, feature]
    own_z: Array
    other_z: Array
    own_a: Array
    other_a: Array


def admm(
    task: Task,
    *,
    mu: Scalar,
    penalty: Scalar,
    num_steps: int = 10,
    start: str = "local",
    start_step_size: Scalar = 1.0,
) -> Algorithm:
    """Gossip ADMM; a round is one tick, in which one agent and one of its neighbours wake up.

    Args:
        task: as for coordinate_descent.
        mu: weight of the agents' own objectives, > 0.
        penalty: rho > 0 of the augmented Lagrangian.
        num_steps: gradient steps for the primal variables, of length 1 / (bound on their curvature).
        start: "zero"; "local", the exact minimisers of L_i; "descent", 100 gradient steps of length
            `start_step_size` towards them. Copies and Z start equal to the models, A at 0.
    """
    graph, everybody = task.graph, peers.agents(task)
    trust, degrees = confidence(task.num_examples), graph.degrees
    real = graph.weights > 0
    pull = mu * degrees * trust
    # The graph's part of Q_i is half a star's Laplacian, whose largest eigenvalue is at most D_ii + max_j W_ij.
    curvature = 0.5 * (degrees + jnp.max(graph.weights, axis=1)) + pull * task.smoothness
    lengths = 1 / (curvature + penalty * graph.num_neighbors)

    def init(key):
        if start == "local":
            models = peers.local_minimizers(task)
        elif start == "descent":
            models = peers.local_descent(task, start_step_size, DESCENT_STEPS)
        else:
            models = jnp.zeros((task.num_clients, task.init_params.shape[-1]))
        copies = models[graph.neighbors]
        own = jnp.broadcast_to(models[:, None], copies.shape)
        nothing = jnp.zeros_like(copies)
        return State((), Ends(models, copies, own, copies, nothing, nothing))

    def lowered(i, ends: Ends):
        """Agent i's model and copies after the gradient steps."""
        agent = jax.tree.map(lambda leaf: leaf[i], everybody)
        weights, mask = graph.weights[i][:, None], real[i][:, None]

        def step(_, primal):
            model, copy = primal
            apart = 0.5 * weights * (model - copy)
            own = mask * (ends.own_a + penalty * (model - ends.own_z))
            other = mask * (ends.other_a + penalty * (copy - ends.other_z))
            loss = pull[i] * peers.own_gradient(task, agent, model, jnp.inf, 2)
            return model - lengths[i] * (jnp.sum(apart + own, 0) + loss), copy - lengths[i] * (other - apart)

        return jax.lax.fori_loop(0, num_steps, step, (ends.model, ends.copy))

    def one_round(key, state):
        key_agent, key_slot = jax.random.split(key)
        i = jax.random.randint(key_agent, (), 0, task.num_clients, dtype=jnp.int32)
        s = jax.random.randint(key_slot, (), 0, graph.num_neighbors[i], dtype=jnp.int32)
        pair = jnp.stack([i, graph.neighbors[i, s]])
        slots = jnp.stack([s, graph.reverse[i, s]])
        at, both = state.variables, jnp.arange(2)
        mine = jax.tree.map(lambda leaf: leaf[pair], at)
        model, copy = jax.vmap(lowered)(pair, mine)
        own_a, other_a = mine.own_a[both, slots], mine.other_a[both, slots]  # [end, feature]
        other = copy[both, slots]
        # Z of an end's own model: the mean of what the two ends hold of it, multipliers included.
        own_z = 0.5 * ((own_a + other_a[::-1]) / penalty + model + other[::-1])
        other_z = own_z[::-1]
        moved = Ends(
            model=at.model.at[pair].set(model),
            copy=at.copy.at[pair].set(copy),
            own_z=at.own_z.at[pair, slots].set(own_z),
            other_z=at.other_z.at[pair, slots].set(other_z),
            own_a=at.own_a.at[pair, slots].set(own_a + penalty * (model - own_z)),
            other_a=at.other_a.at[pair, slots].set(other_a + penalty * (other - other_z)),
        )
        return State((), moved), {"vectors_sent": jnp.float32(SENT), "updates": jnp.float32(2.0)}

    return Algorithm(init, one_round, lambda state: Personal(state.variables.model, mu))


def releases(task: Task, *, delta: float, **_) -> dict:
    """Exact models travel: no privacy."""
    return peers.exposed(delta)


def check(task: Task, *, start: str, **_) -> None:
    """Refuse a task without a graph, and unknown names."""
    check_peers(task)
    check_choice("start", start, STARTS)


METHOD = Method(admm, releases, version=1, check=check)
