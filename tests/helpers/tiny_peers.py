"""Peers few enough for a test: tasks of both losses, their dense and listed forms, minimisers, and whole runs."""

from dataclasses import replace
from functools import cache, partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy import optimize, sparse

from bench.algorithms.parts import peers
from bench.data.graphs import from_weights
from bench.data.task import Linear
from bench.data.tasks.peers import linear_p2p
from bench.kernels.graph import confidence
from bench.models.linear import squared, squared_loss
from bench.papers.p2p import theory
from bench.sweeps.spec import arguments, compiled_arguments

N, P = 10, 3
MU = 0.4
STRONG = 20.0  # a mu at which the agents' own objectives count, so that rates are no formality
SMALL = {"num_features": P, "num_agents": N, "graph_width": 0.5, "num_examples": (3, 12), "num_test": 5}
ALIKE = {"num_examples": (12, 12), "graph_width": 5.0}  # agents for which the bounds are not far off


@cache
def logistic_peers(trial=0, **args):
    """The published classification, small; inputs in [-1, 1] unless told otherwise, and the true curvature."""
    return with_curvature(linear_p2p(trial, **SMALL | {"input_range": 1.0} | args), 0.25)


def with_curvature(task, of_loss: float):
    """The task with the true smoothness of the agents' objectives, for a loss of that largest second derivative."""
    norms, sizes = np.linalg.norm(np.asarray(task.train[0]), 2, axis=(1, 2)), np.asarray(task.num_examples)
    curvature = of_loss * norms**2 / np.maximum(sizes, 1) + 2 * np.asarray(task.peers.regularization)
    return with_peers(task, smoothness=jnp.asarray(curvature, jnp.float32))


@cache
def squared_peers(trial=0, **args):
    """The same agents with targets that are numbers, and the squared loss with its true curvature."""
    task = logistic_peers(trial, **args)
    inputs, labels = (np.asarray(leaf) for leaf in task.train)
    sizes = np.asarray(task.num_examples)
    noise = np.random.default_rng(trial).standard_normal(labels.shape)
    real = np.arange(labels.shape[1]) < sizes[:, None]
    targets = np.where(real, inputs[..., 0] - 2 * inputs[..., 1] + 0.3 * labels + 0.1 * noise, 0)
    return replace(
        with_curvature(task, 2.0),
        train=(task.train[0], jnp.asarray(targets, jnp.float32)),
        linear=Linear(squared),
        loss=squared_loss,
        name="squared_peers",
    )


def with_peers(task, **changes):
    """The task with other fields of its group `peers`."""
    return replace(task, peers=replace(task.peers, **changes))


def ring_with_chords(count, degree):
    """Weights 1 along a ring and degree / 2 - 1 closed walks through all clients in random order."""
    rng = np.random.default_rng([0, 0x41C6])
    orders = [np.arange(count), *(rng.permutation(count) for _ in range(degree // 2 - 1))]
    rows, columns = np.concatenate(orders), np.concatenate([np.roll(order, -1) for order in orders])
    walked = sparse.csr_matrix((np.ones(len(rows)), (rows, columns)), (count, count))
    walked = walked + walked.T
    walked.data[:] = 1  # an edge that two walks share counts once
    return walked


def with_budget(task, **budgets):
    """The task with other relative budgets of some agents, agent_3=0.5."""
    budget = task.peers.budget
    for name, value in budgets.items():
        budget = budget.at[int(name.removeprefix("agent_"))].set(value)
    return with_peers(task, budget=budget)


def with_nothing(task, *places):
    """The task with agents that have no examples."""
    index = jnp.array(places)
    return with_peers(
        replace(task, num_examples=task.num_examples.at[index].set(0)),
        regularization=task.peers.regularization.at[index].set(1.0),
        smoothness=task.peers.smoothness.at[index].set(2.0),
    )


def with_padding(task, value):
    """The task with other numbers where there is no example."""
    inputs, targets = task.train
    padded = jnp.arange(inputs.shape[1])[None] >= task.num_examples[:, None]
    assert bool(padded.any())
    inputs = jnp.where(padded[..., None], value, inputs)
    return replace(task, train=(inputs, jnp.where(padded, -value, targets)))


def with_slots(task, more=3):
    """The task with longer neighbour lists."""
    return with_peers(task, graph=from_weights(dense(task), slots=task.peers.graph.neighbors.shape[1] + more))


def weights_of(graph):
    """W of a graph, float64 [client, client]."""
    out = np.zeros(2 * graph.neighbors.shape[:1])
    np.add.at(out, (np.arange(len(out))[:, None], np.asarray(graph.neighbors)), np.asarray(graph.weights, float))
    return out


def dense(task):
    """W, float64 [agent, agent]."""
    return weights_of(task.peers.graph)


class Listed(NamedTuple):
    """A task as the plain implementations take it."""

    inputs: list
    targets: list
    weights: np.ndarray
    smoothness: np.ndarray


def listed(task):
    inputs, targets = (np.asarray(leaf, float) for leaf in task.train)
    sizes = np.asarray(task.num_examples)
    return Listed(
        [x[:m] for x, m in zip(inputs, sizes, strict=True)],
        [y[:m] for y, m in zip(targets, sizes, strict=True)],
        dense(task),
        np.asarray(task.peers.smoothness, float),
    )


def value(task, models, mu=MU):
    """Q in float64, for one matrix of models or for many, [..., agent, feature] -> [...]."""
    inputs, targets = (np.asarray(leaf, float) for leaf in task.train)
    sizes, weights = np.asarray(task.num_examples), dense(task)
    models = np.asarray(models, float)
    scores = np.einsum("nmp,...np->...nm", inputs, models)
    losses = np.square(scores - targets) if task.linear.link is squared else np.logaddexp(0, -targets * scores)
    real = np.arange(inputs.shape[1]) < sizes[:, None]
    own = np.sum(losses * real, axis=-1) / np.maximum(sizes, 1)
    own = own + np.asarray(task.peers.regularization, float) * np.sum(models**2, axis=-1)
    laplacian = np.diag(weights.sum(1)) - weights
    smooth = 0.5 * np.einsum("...np,nm,...mp->...", models, laplacian, models)
    return smooth + mu * own @ (weights.sum(1) * np.asarray(confidence(task.num_examples), float))


def gradient(task, models, mu=MU):
    """grad Q in float64, [agent, feature]."""
    inputs, targets = (np.asarray(leaf, float) for leaf in task.train)
    sizes, weights = np.asarray(task.num_examples), dense(task)
    scores = np.einsum("nmp,np->nm", inputs, models)
    slopes = 2 * (scores - targets) if task.linear.link is squared else -targets / (1 + np.exp(targets * scores))
    slopes = slopes * (np.arange(inputs.shape[1]) < sizes[:, None]) / np.maximum(sizes, 1)[:, None]
    own = np.einsum("nmp,nm->np", inputs, slopes) + 2 * np.asarray(task.peers.regularization, float)[:, None] * models
    pull = mu * weights.sum(1) * np.asarray(confidence(task.num_examples), float)
    return weights.sum(1)[:, None] * models - weights @ models + pull[:, None] * own


def minimizer(task, mu=MU):
    """argmin Q, [agent, feature]: a dense linear solve for the squared loss, scipy for the logistic one."""
    shape = (task.num_clients, task.init_params.shape[-1])
    if task.linear.link is not squared:
        found = optimize.minimize(
            lambda flat: value(task, flat.reshape(shape), mu),
            np.zeros(shape).ravel(),
            jac=lambda flat: gradient(task, flat.reshape(shape), mu).ravel(),
            tol=1e-12,
        )
        return found.x.reshape(shape)
    n, p = shape
    inputs, targets = (np.asarray(leaf, float) for leaf in task.train)
    weights, sizes = dense(task), np.maximum(np.asarray(task.num_examples), 1)
    pull = 2 * mu * weights.sum(1) * np.asarray(confidence(task.num_examples), float)
    system = np.kron(np.diag(weights.sum(1)) - weights, np.eye(p))
    for i in range(n):
        own = inputs[i].T @ inputs[i] / sizes[i] + float(task.peers.regularization[i]) * np.eye(p)
        system[i * p : i * p + p, i * p : i * p + p] += pull[i] * own
    right = (pull / sizes)[:, None] * np.einsum("nmp,nm->np", inputs, targets)
    return np.linalg.solve(system, right.ravel()).reshape(shape)


class Played(NamedTuple):
    """A run: models [round + 1, agent, feature], the rounds' info [round], and the keys and states that made it."""

    models: np.ndarray
    info: dict
    keys: jax.Array  # of the start and of every round
    first: object
    last: object


def play(method, task, num_rounds, seed=0, **args) -> Played:
    """Run a method from one seed; runs that differ in data and traced arguments alone share a program."""
    keys = jax.random.split(jax.random.key(seed), num_rounds + 1)
    models, info, first, last = jax.tree.map(np.asarray, _prepared(method, task, args)(keys))
    return Played(models, info, keys, first, last)


def play_many(method, task, num_rounds, seeds: int, **args):
    """Models of runs from many seeds, [seed, round + 1, agent, feature], and their info [seed, round]."""
    keys = jax.vmap(lambda seed: jax.random.split(jax.random.key(seed), num_rounds + 1))(jnp.arange(seeds))
    models, info, *_ = _prepared(method, task, args, many=True)(keys)
    return np.asarray(models), jax.tree.map(np.asarray, info)


def _prepared(method, task, args, many=False):
    static, hypers = compiled_arguments(method, arguments(method, args))
    return lambda keys: (_run_many if many else _run)(task, hypers, keys, make=method.make, static=static)


@partial(jax.jit, static_argnames=("make", "static"))
def _run(task, hypers, keys, *, make, static):
    algorithm = make(task, **dict(static), **hypers)

    def step(state, key):
        state, info = algorithm.round(key, state)
        return state, (algorithm.params(state).theta, info)

    first = algorithm.init(keys[0])
    last, (models, info) = jax.lax.scan(step, first, keys[1:])
    return jnp.concatenate([algorithm.params(first).theta[None], models]), info, first, last


@partial(jax.jit, static_argnames=("make", "static"))
def _run_many(task, hypers, keys, *, make, static):
    return jax.vmap(lambda one: _run(task, hypers, one, make=make, static=static))(keys)


def draws(task, played, num_ticks=1, num_awake=1, mechanism="laplace"):
    """Who woke up [tick, awake] and the unit noise [tick, awake, feature], drawn again from the keys of a run."""
    wakes, noise = [], []
    for key in played.keys[1:]:
        key_wake, key_noise = jax.random.split(key)
        wakes.append(peers.agents_awake(key_wake, task, num_ticks, num_awake))
        noise.append(peers.MECHANISMS[mechanism][0](key_noise, (num_ticks, num_awake, P)))
    order = np.asarray(played.first.schedule.get("order", []))
    wakes = np.concatenate(wakes)
    if len(order):
        wakes = order[: wakes.size].reshape(-1, num_awake)
    return wakes, np.concatenate(noise)[: len(wakes)].astype(float)


def step_sizes(task, mu=MU):
    """a mu c_i, what a gradient is multiplied with in theta_i, [agent]."""
    trust = np.asarray(confidence(task.num_examples), float)
    return mu * trust / (1 + mu * trust * np.asarray(task.peers.smoothness, float))


def constants(task, mu=STRONG):
    """Of the theory: degrees, confidence, block smoothness, rate."""
    degrees, trust = dense(task).sum(1), np.asarray(confidence(task.num_examples), float)
    smoothness = theory.block_smoothness(mu, degrees, trust, np.asarray(task.peers.smoothness, float))
    sigma = theory.strong_convexity(mu, degrees, trust, 2 * np.asarray(task.peers.regularization, float))
    return degrees, trust, smoothness, theory.rate(sigma, smoothness)
