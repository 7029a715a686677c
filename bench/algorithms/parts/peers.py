"""Code shared by the peer-to-peer methods: wake-up orders, local objectives, and initial models.

Agent i holds m_i examples and the objective L_i(theta) = (1/m_i) sum_j loss(theta; x_j, y_j) + lambda_i |theta|^2.
Together the agents minimise, over a graph with weights W and D_ii = sum_j W_ij,

    Q(theta) = 1/2 sum_{i<j} W_ij |theta_i - theta_j|^2 + mu sum_i D_ii c_i L_i(theta_i),   c_i = m_i / max_j m_j.

Source: Bellet et al. 2018, sections 2 and 3, appendix C.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from bench.algorithms.base import Cost, Scalar
from bench.algorithms.parts.counting import num_parameters
from bench.data.task import Linear, Peers, Task
from bench.errors import InputError, check_name
from bench.kernels import draws, newton
from bench.kernels.graph import Graph, confidence
from bench.kernels.linear import clipped_gradient, finite_rows
from bench.privacy import events

LOCAL_STARTS = ("zero", "local", "descent")
DESCENT_STEPS = 100  # of the start "descent"
MECHANISMS = {"laplace": (draws.laplace, 1), "gaussian": (draws.normal, 2)}  # noise, order of clipping


class Agent(NamedTuple):
    """One agent's examples, or all agents' with a leading axis."""

    inputs: Array  # [example, feature]
    targets: Array  # [example]
    weight: Array  # [example]: 1/m_i, 0 for padding
    ridge: Array  # lambda_i


def agents(task: Task) -> Agent:
    """Return all agents, leaves [client, ...]; an example whose inputs are not finite has inputs of 0."""
    inputs, targets = task.train
    sizes = task.num_examples[:, None]
    real = jnp.arange(inputs.shape[1])[None] < sizes
    weight = jnp.where(real, 1 / jnp.maximum(sizes, 1).astype(jnp.float32), 0.0)
    return Agent(finite_rows(inputs), targets, weight, task.need(Peers).regularization)


def regularized(task: Task, scale: Scalar) -> Task:
    """Return the task with every lambda_i times a factor, and with the bounds on curvature that follow.

    The regulariser depends on no example, so the noise that hides a data point is the same for every factor.
    """
    objectives = task.need(Peers)
    ridge = objectives.regularization
    smoothness = objectives.smoothness + 2 * ridge * (scale - 1)
    return replace(task, peers=replace(objectives, regularization=scale * ridge, smoothness=smoothness))


def zeros(task: Task) -> Array:
    """Return every agent's model at the start, [client, feature]. It is an argument of the compiled program, because
    XLA takes seconds to fold what follows from a constant.
    """
    return jnp.broadcast_to(task.init_params, (task.num_clients, *task.init_params.shape))


def own_gradient(task: Task, agent: Agent, model: Array, clip_norm: Scalar, order: int) -> Array:
    """Return grad L_i at a model, [feature], with the gradients of its examples clipped to norm C of this order.

    Replacing one example moves it by at most 2 C / m_i in that norm; the regulariser does not depend on examples.
    """
    mean = clipped_gradient(task.need(Linear).link, model, agent.inputs, agent.targets, agent.weight, clip_norm, order)
    return mean + 2 * agent.ridge * model


def noise_scales(task: Task, noise_multiplier: Scalar, lipschitz: Scalar) -> Array:
    """Return sigma L0 / m_i, the scale of the noise on each agent's mean of gradients, [client]; 0 where m_i = 0.

    The noise of an agent with a smaller budget than the largest is larger by the ratio of the budgets.
    """
    sizes = jnp.maximum(task.num_examples, 1).astype(jnp.float32)
    budget = task.need(Peers).budget
    share = budget / jnp.max(budget)
    scale = noise_multiplier * lipschitz / (sizes * jnp.where(share > 0, share, 1.0))
    return jnp.where(task.num_examples > 0, scale, 0.0)


def local_minimizers(task: Task) -> Array:
    """Return argmin L_i of every agent, [client, feature]."""
    return jax.vmap(lambda agent: newton.minimizer(task.need(Linear).link, *agent))(agents(task))


def local_descent(task: Task, step_size: Scalar, num_steps: int) -> Array:
    """Return every agent's model after a fixed number of gradient steps on L_i from 0, [client, feature]."""
    data = agents(task)
    gradients = jax.vmap(lambda agent, model: own_gradient(task, agent, model, jnp.inf, 2))

    def step(_, models):
        return models - step_size * gradients(data, models)

    return jax.lax.fori_loop(0, num_steps, step, zeros(task))


def local_start(task: Task, start: str, step_size: Scalar) -> Array:
    """Return every agent's model before the first tick, [client, feature]; of the three kinds only "zero" is private.

    Args:
        start: "zero"; "local", the exact minimisers of L_i; "descent", DESCENT_STEPS gradient steps towards them.
        step_size: the step size of "descent".
    """
    if start == "local":
        return local_minimizers(task)
    if start == "descent":
        return local_descent(task, step_size, DESCENT_STEPS)
    return zeros(task)


def noisy_steps(
    key: Array,
    task: Task,
    step_size: Scalar,
    noise_multiplier: Scalar,
    lipschitz: Scalar,
    clip_norm: Scalar,
    mechanism: str,
) -> Array:
    """Return one step of every agent from 0 along its noisy gradient, -s (grad L_i(0) + noise), [client, feature].

    The noise is that of `noise_scales`. The step of an agent without a budget is 0.
    """
    draw, order = MECHANISMS[mechanism]
    data = agents(task)
    scales = noise_scales(task, noise_multiplier, lipschitz)
    gradients = jax.vmap(lambda agent, model: own_gradient(task, agent, model, clip_norm, order))(data, zeros(task))
    noisy = gradients + scales[:, None] * draw(key, gradients.shape)
    return jnp.where((task.need(Peers).budget > 0)[:, None], -step_size * noisy, 0.0)


def budgeted_confidence(task: Task) -> Array:
    """Return c_i for agents with a budget, and 0 for the others, whose models hold no information, [client]."""
    return jnp.where(task.need(Peers).budget > 0, confidence(task.num_examples), 0.0)


def ring_order(key, task: Task, max_updates: int) -> Array:
    """Return the order in which clocks ring, if each stops after `max_updates` rings, int32 [client * max_updates].

    Every agent has a Poisson clock of rate 1, so each of the clocks that still ring is equally likely to be the next.
    Agents without a budget come last.
    """
    gaps = jax.random.exponential(key, (task.num_clients, max_updates))
    times = jnp.where((task.need(Peers).budget > 0)[:, None], jnp.cumsum(gaps, axis=1), jnp.inf)
    return (jnp.argsort(times.ravel()) // max_updates).astype(jnp.int32)


def agents_awake(key, task: Task, num_ticks: int, num_awake: int) -> Array:
    """Return agents drawn uniformly, int32 [tick, awake]; an agent may occur twice where several wake up at once."""
    return jax.random.randint(key, (num_ticks, num_awake), 0, task.num_clients, dtype=jnp.int32)


def before_neighbors(task: Task, awake_agents: Array) -> Array:
    """Return which of the agents awake at once come before all their neighbours and duplicates, bool [awake].

    Updates of agents that are not neighbours do not affect each other, so these agents may update at once with the same
    result as one after the other.
    """
    places = jnp.arange(awake_agents.shape[0], dtype=jnp.int32)
    none_awake = jnp.full(task.num_clients, awake_agents.shape[0], jnp.int32)
    first = none_awake.at[awake_agents].min(places)
    neighbors = task.need(Peers).graph.neighbors[awake_agents]  # an empty slot holds the agent's own number
    return (jnp.min(first[neighbors], axis=1) >= places) & (first[awake_agents] == places)


def updated_in_turn(
    key, task: Task, num_ticks: int, models: Array, update: Callable[[Array, Array], Array]
) -> tuple[Array, dict[str, Array]]:
    """Return all models after `num_ticks` ticks, in each of which one agent updates its own and sends it to its
    neighbours, [client, feature], and what a round reports; nothing is released.

    Args:
        models: of all agents, [client, feature].
        update: (agent, models) -> the agent's new model, [feature].
    """
    neighbors = task.need(Peers).graph.num_neighbors

    def tick(models, agents_awake):
        (i,) = agents_awake
        sent = row(neighbors, i).astype(jnp.float32)
        return jax.lax.dynamic_update_index_in_dim(models, update(i, models), i, 0), sent

    models, sent = jax.lax.scan(tick, models, agents_awake(key, task, num_ticks, 1))
    return models, {"vectors_sent": sent.sum(), "updates": jnp.float32(num_ticks), "released": jnp.float32(0.0)}


def row(array: Array, i) -> Array:
    """Return array[i] as a slice. Under vmap over points indexing becomes a gather, which is ten times slower."""
    return jax.lax.dynamic_index_in_dim(array, i, keepdims=False)


def neighbor_mean(graph: Graph, models: Array, i) -> Array:
    """Return sum_j (W_ij / D_ii) theta_j, [feature], summed slot by slot, without a copy of the neighbours' models."""
    places, weights = row(graph.neighbors, i), row(graph.weights, i)
    used = row(graph.num_neighbors, i)
    total = jax.lax.fori_loop(
        0, used, lambda slot, sum: sum + weights[slot] * row(models, places[slot]), jnp.zeros(models.shape[-1])
    )
    return total / row(graph.degrees, i)


def readings(
    task: Task,
    *,
    noise_multiplier: float,
    lipschitz: float,
    clip_norm: float,
    mechanism: str,
    delta: float,
    start_noise_multiplier: float | None = None,
) -> dict[str, events.Release]:
    """Return the releases of the agent with the most updates, over these updates: one of its data points is replaced.

    paper: the composition of Theorem 1, as if L0 bounded the gradients (Gaussian noise: exact).
    tight: the same run by the privacy loss distribution of composed Laplace noise.
    true: as `tight`, at the actual bound on the gradients: the smaller of C and the task's own. Epsilon is infinite
        where the gradients are unbounded.

    Args:
        noise_multiplier, lipschitz, clip_norm, mechanism: as for coordinate_descent.
        delta: the delta at which epsilon is stated.
        start_noise_multiplier: noise of one release before the first update; None for no such release.
    """
    bound = min(clip_norm, task.need(Linear).lipschitz[MECHANISMS[mechanism][1] - 1])
    statement: dict = {"delta": delta, "privacy_unit": "point", "protects_against": "all other agents together"}

    def reading(share: float, accountant: str) -> events.Release:
        def release(sigma):
            if mechanism == "gaussian":
                return events.full_gaussian(sigma * share, neighbors=events.REPLACE, **statement)
            return events.laplace(sigma * share, accountant=accountant, **statement)

        updates = release(noise_multiplier)
        if start_noise_multiplier is None:
            return updates
        return events.preceded_by(updates, release(start_noise_multiplier))

    bounded = bound <= lipschitz * (1 + 1e-6)  # within the precision of a sweep's float32 columns
    return {
        "paper": reading(1.0, "composition")._replace(sound=bounded),
        "tight": reading(1.0, "pld")._replace(sound=bounded),
        "true": reading(lipschitz / bound, "pld"),
    }


def exposed_releases(delta: float) -> dict[str, events.Release]:
    """Return the releases of a method that starts from values that depend on the data without any noise."""
    without_noise = events.laplace(0.0, delta=delta, privacy_unit="point", protects_against="all other agents together")
    return dict.fromkeys(("paper", "tight", "true"), events.preceded_by(without_noise, without_noise))


def cost_of_exchange(task: Task, updates: np.ndarray, touched: np.ndarray) -> Cost:
    """Return the cost of a round in which agents take gradients of their examples and send models to neighbours.

    Args:
        updates: expected number of updates of every agent in a round, [client].
        touched: probability that an agent makes at least one update in a round, [client].
    """
    sizes, neighbors = np.asarray(task.num_examples), np.asarray(task.need(Peers).graph.num_neighbors)
    sent = float(updates @ neighbors) * num_parameters(task)
    return Cost(sent, float(updates @ sizes), float(touched @ sizes))


def cost_of_start(task: Task, start: str) -> Cost | None:
    """Return the cost of the models before the first tick.

    A Newton step counts as one gradient of every example. The message of a noisy step goes to every neighbour once; its
    smoothing over the graph is computed at once and not counted.
    """
    sizes = np.asarray(task.num_examples)
    everything = float(np.sum(sizes))
    if start in ("zero", "constant"):
        return None
    if start == "descent":
        return Cost(0.0, everything * DESCENT_STEPS, everything)
    if start == "local":
        steps = jax.vmap(lambda agent: newton.steps_to_minimizer(task.need(Linear).link, *agent))(agents(task))
        return Cost(0.0, float(np.asarray(steps) @ sizes), everything)
    speaks = (np.asarray(task.need(Peers).budget) > 0).astype(float)
    return cost_of_exchange(task, speaks, speaks)


def check_peers(task: Task, regularization_scale: float = 1.0) -> None:
    """Refuse impossible numbers of agents, and a regulariser that does not hold models back."""
    if not 0 <= regularization_scale < math.inf:
        raise InputError(f"regularization_scale is {regularization_scale:g}: give a finite number, 0 or more")
    objectives = task.need(Peers)
    for name in ("regularization", "smoothness", "budget"):
        values = np.asarray(getattr(objectives, name))
        if values.shape != (task.num_clients,) or not np.all(np.isfinite(values) & (values >= 0)):
            raise InputError(f"{name} of task {task.name} must be {task.num_clients} numbers, one an agent, 0 or more")
    if not np.any(np.asarray(objectives.budget) > 0):
        raise InputError(f"no agent of task {task.name} has a privacy budget: give at least one of them more than 0")
    if objectives.graph.weights.shape[0] != task.num_clients:
        raise InputError(
            f"the graph of task {task.name} has {objectives.graph.weights.shape[0]} agents, its data "
            f"{task.num_clients}: give both the same"
        )


def check_choice(kind: str, value: str, known) -> None:
    """Refuse an unknown name."""
    check_name(kind, value, known)
