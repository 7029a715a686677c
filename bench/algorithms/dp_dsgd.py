"""Decentralised SGD with local noise (DP-D-SGD), and DECOR, in which neighbours share noise that cancels (Allouah,
Koloskova, El Firdoussi, Jaggi and Guerraoui, ICML 2024).

In every round every agent takes a step along its noisy gradient, sends it to its neighbours, and averages what arrives:

    sent_i  = theta_i - eta (g_i(theta_i) + noise_i),    noise_i = (u_i + rho sum_j v_ij) sigma C / m,
    theta_i <- sum_j M_ij sent_j,                        u_i ~ N(0, I), v_ij = -v_ji ~ N(0, I),

with g_i = (1/m) sum of the clipped gradients of its points + (m_i / m) 2 lambda_i theta_i and m the mean of the m_i, so
that together the agents lower the mean loss over all points. M_ij = 1 / (1 + max(d_i, d_j)) for neighbours of degrees
d_i and d_j, with the rest on the diagonal (Metropolis). Agents i and j draw v_ij from a seed that nobody else knows;
rho = 0 is DP-D-SGD. One model is learned: agents predict with their own iterates of it, which differ because averaging
is incomplete.

What is protected is one data point of one agent, replaced by another. Everything that is sent follows from the
g_i + noise_i of all agents and rounds and from public values: graph, sizes m_i, steps. Against all other agents
together a round is a Gaussian mechanism of multiplier sigma. Adversaries who lack some seeds face more noise, which
`bench.privacy.pair_noise` computes.

Sources read: the paper's abstract, and the authors' program for the update and for the Renyi privacy of a round.
"""

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from bench.algorithms.base import Algorithm, Cost, Method, Scalar, State, check_noise_has_a_scale
from bench.algorithms.parts import peers
from bench.algorithms.parts.peers import check_peers
from bench.algorithms.ranges import ClipNorm, NonNegative, Positive
from bench.algorithms.search_space import Interval
from bench.data.task import Linear, Peers, Task
from bench.errors import InputError
from bench.kernels import draws
from bench.kernels.gradient import noise_scale
from bench.kernels.graph import Graph, neighbor_sum
from bench.privacy import events
from bench.privacy.pair_noise import hidden_from_one, hidden_from_outsiders

OUTSIDERS = "everybody who sees all messages and shares no noise with any agent"
MOST_AGENTS = 4096  # a matrix of agents x agents is inverted
MOST_SHARED = 1000.0  # rho; for larger values the inverse loses digits, and hardly any noise is saved


def metropolis(graph: Graph) -> Graph:
    """Return the graph with M_ij as its weights."""
    degrees = graph.num_neighbors
    larger = jnp.maximum(degrees[:, None], degrees[graph.neighbors])
    return graph._replace(weights=jnp.where(graph.weights > 0, 1 / (1 + larger.astype(jnp.float32)), 0.0))


def neighbor_average(mixing: Graph, sent: Array) -> Array:
    """Return sum_j M_ij sent_j, [client, feature]."""
    return (1 - mixing.degrees)[:, None] * sent + neighbor_sum(mixing, sent)


def shared_noise(key: Array, graph: Graph, speaks: Array, num_features: int) -> Array:
    """Return sum_j v_ij over pairs in which agent i and its neighbour j both have a budget, [client, feature]."""
    draw = draws.normal(key, (*graph.neighbors.shape, num_features))
    pair_noise = (draw - draw[graph.neighbors, graph.reverse]) / jnp.sqrt(2.0)  # v_ij = -v_ji, of variance 1
    pairs = (graph.weights > 0) & speaks[:, None] & speaks[graph.neighbors]
    return jnp.sum(jnp.where(pairs[..., None], pair_noise, 0.0), axis=1)


def dp_dsgd(
    task: Task,
    *,
    step_size: Positive,
    clip_norm: ClipNorm,
    noise_multiplier: NonNegative,
    pair_noise_ratio: NonNegative = 0.0,
    regularization_scale: Scalar = 1.0,
) -> Algorithm:
    """Private decentralised SGD from the task's start; a round is one step and one message of every agent.

    Args:
        task: with graph, link, regularization and budget. The own noise of an agent is larger by the ratio of the
            largest budget to its own. An agent without a budget uses no data, shares no noise, and passes on means of
            the messages that it receives.
        step_size: eta > 0.
        clip_norm: C > 0, on each point's gradient in L2; inf does not clip.
        noise_multiplier: sigma >= 0, of an agent's own noise, relative to the clipping norm.
        pair_noise_ratio: rho >= 0, the standard deviation of the noise shared by two neighbours, relative to that of
            their own noise.
        regularization_scale: factor of the task's lambda_i.
    """
    task = peers.regularized(task, regularization_scale)
    objectives, agents = task.need(Peers), peers.agents(task)
    graph, speaks = objectives.graph, objectives.budget > 0
    mixing = metropolis(graph)
    sizes = task.num_examples.astype(jnp.float32)
    mean_size = jnp.maximum(jnp.mean(sizes), 1.0)
    weight = jnp.where(speaks, sizes / mean_size, 0.0)
    noise_ratio = jnp.where(speaks, jnp.max(objectives.budget) / jnp.where(speaks, objectives.budget, 1.0), 0.0)
    scale = noise_scale(noise_multiplier, clip_norm) / mean_size

    def one_round(key, state):
        key_own, key_pairs = jax.random.split(key)
        models = state.variables["theta"]
        gradients_of = jax.vmap(lambda agent, model: peers.own_gradient(task, agent, model, clip_norm, 2))
        gradients = weight[:, None] * gradients_of(agents, models)
        noise = noise_ratio[:, None] * draws.normal(key_own, models.shape)
        noise = noise + pair_noise_ratio * shared_noise(key_pairs, graph, speaks, models.shape[1])
        sent = models - step_size * (gradients + scale * noise)
        info = {"vectors_sent": jnp.sum(graph.num_neighbors, dtype=jnp.float32)}
        return State((), {"theta": neighbor_average(mixing, sent), "sent": sent}), info

    start = peers.zeros(task)
    return Algorithm(
        lambda key: State((), {"theta": start, "sent": start}),
        one_round,
        params=lambda state: state.variables["theta"],
        public=lambda state: state.variables["sent"],
    )


def releases(task: Task, *, delta: float, noise_multiplier: float, pair_noise_ratio: float, **_) -> dict:
    """Return the release of all messages in all rounds; one data point of the agent with the least noise is replaced.

    paper: against adversaries who see all messages and know no seed.
    one_agent: against any one other agent, who sees all messages and knows its own seeds.
    all_agents: against all other agents together, who know all seeds, so that only the agent's own noise counts.

    All three are exact, and equal without shared noise.
    """

    def release(share: float, protects_against: str) -> events.Release:
        return events.full_gaussian(
            share * noise_multiplier,
            neighbors=events.REPLACE,
            delta=delta,
            privacy_unit="point",
            protects_against=protects_against,
        )

    all_agents = release(1.0, "all other agents together")
    if not pair_noise_ratio:
        return dict.fromkeys(("paper", "one_agent", "all_agents"), all_agents)
    outsiders, one_agent = hidden_shares(task, pair_noise_ratio)
    return {
        "paper": release(outsiders, OUTSIDERS),
        "one_agent": release(one_agent, "any one other agent, who sees all messages"),
        "all_agents": all_agents,
    }


def hidden_shares(task: Task, pair_noise_ratio: float) -> tuple[float, float]:
    """Return the least noise on any agent, in units of sigma, against outsiders and against any one other agent."""
    objectives = task.need(Peers)
    graph, budget = objectives.graph, np.asarray(objectives.budget, float)
    rows, slots = np.nonzero(np.asarray(graph.weights))
    edges = np.zeros((len(budget), len(budget)), bool)
    edges[rows, np.asarray(graph.neighbors)[rows, slots]] = True
    (speaks,) = np.nonzero(budget > 0)
    own = budget.max() / budget[speaks]
    return _hidden_shares(own.tobytes(), edges[np.ix_(speaks, speaks)].tobytes(), float(pair_noise_ratio))


@lru_cache(maxsize=256)  # calibration evaluates one graph and ratio many times
def _hidden_shares(own: bytes, edges: bytes, pair_noise_ratio: float) -> tuple[float, float]:
    deviations = np.frombuffer(own)
    neighbors = np.frombuffer(edges, bool).reshape(len(deviations), len(deviations))
    outsiders, one_agent = (
        float(least(deviations, neighbors, pair_noise_ratio).min())
        for least in (hidden_from_outsiders, hidden_from_one)
    )
    return outsiders, one_agent


def cost(task: Task, **_) -> Cost:
    """Return the cost of a round: every agent sends to each neighbour; agents with a budget use all their points."""
    everybody = np.ones(task.num_clients)
    speaks = (np.asarray(task.need(Peers).budget) > 0).astype(float)
    return peers.cost_of_exchange(task, speaks, speaks)._replace(
        uploads=peers.cost_of_exchange(task, everybody, everybody).uploads
    )


def check(
    task: Task,
    *,
    noise_multiplier: float,
    clip_norm: float,
    pair_noise_ratio: float,
    regularization_scale: float = 1.0,
    **_,
) -> None:
    """Refuse a task without a graph, and noise whose privacy cannot be computed."""
    check_peers(task, regularization_scale)
    check_noise_has_a_scale(noise_multiplier, clip_norm)
    if not 0 <= pair_noise_ratio <= MOST_SHARED:
        raise InputError(f"pair_noise_ratio is {pair_noise_ratio:g}: give 0 to {MOST_SHARED:g}")
    if pair_noise_ratio and task.num_clients > MOST_AGENTS:
        raise InputError(
            f"pair_noise_ratio is {pair_noise_ratio:g}, but {task.name} has {task.num_clients} agents: what shared "
            f"noise hides is computed for up to {MOST_AGENTS}, give 0"
        )
    if pair_noise_ratio and not _pairs_with_noise(task).any():
        raise InputError(
            f"pair_noise_ratio is {pair_noise_ratio:g}, but no two neighbours of {task.name} have a budget, so that "
            "nobody shares noise: give 0"
        )


def _pairs_with_noise(task: Task) -> np.ndarray:
    """Return which places of the neighbour lists hold pairs that share noise, bool [agent, place]."""
    objectives = task.need(Peers)
    graph, speaks = objectives.graph, np.asarray(objectives.budget) > 0
    return (np.asarray(graph.weights) > 0) & speaks[:, None] & speaks[np.asarray(graph.neighbors)]


METHOD = Method(
    dp_dsgd,
    releases,
    version=1,
    check=check,
    space={"step_size": Interval(0.03, 3.0)},
    needs=(Peers, Linear),
    cost=cost,
)
