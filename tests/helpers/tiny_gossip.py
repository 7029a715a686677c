"""Decentralised SGD by plain loops over agents, neighbours and points, and a ring of agents whose losses are alike."""

from dataclasses import replace
from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
from tiny_peers import dense, listed, logistic_peers

from bench.data.graphs import from_weights
from bench.data.task import Linear, Peers, Task
from bench.data.tasks.quadratic import half_square
from bench.models.additive import squared_loss


def mixing(task) -> np.ndarray:
    """Metropolis weights, [agent, agent]."""
    near = dense(task) > 0
    out = np.zeros(near.shape)
    for i in range(len(near)):
        for j in np.flatnonzero(near[i]):
            out[i, j] = 1 / (1 + max(near[i].sum(), near[j].sum()))
        out[i, i] = 1 - out[i].sum()
    return out


def laplacian(task) -> np.ndarray:
    """D - A of the graph without its weights, [agent, agent]."""
    near = (dense(task) > 0).astype(float)
    return np.diag(near.sum(1)) - near


def standing_still(task, step_size: float) -> np.ndarray:
    """Of the squared loss (s - y)^2, the models theta = M (theta - eta g(theta)) that rounds do not change,
    [agent, feature]."""
    one, (n, p) = listed(task), (task.num_clients, task.init_params.shape[0])
    mix, mean_size = mixing(task), np.asarray(task.num_examples).mean()
    system, right = np.eye(n * p), np.zeros((n, p))
    for j, (x, y) in enumerate(zip(one.inputs, one.targets, strict=True)):
        ridge = len(y) * float(task.peers.regularization[j]) * np.eye(p)
        step = np.eye(p) - step_size * 2 * (x.T @ x + ridge) / mean_size
        system[:, j * p : j * p + p] -= np.kron(mix[:, [j]], step)
        right += np.outer(mix[:, j], step_size * 2 * x.T @ y / mean_size)
    return np.linalg.solve(system, right.ravel()).reshape(n, p)


def path(method, task, num_rounds: int, seed: int = 0, **args):
    """Models and messages after every round, float64 [round, agent, feature] each, and the keys of the rounds."""
    start, keys = jax.random.key(seed), jax.random.split(jax.random.key(seed + 1), num_rounds)
    models, sent = _path(task, args, start, keys, make=method.make)
    return np.asarray(models, float), np.asarray(sent, float), keys


@partial(jax.jit, static_argnames="make")
def _path(task, args, start, keys, *, make):
    algorithm = make(task, **args)

    def step(state, key):
        state, _ = algorithm.round(key, state)
        return state, (algorithm.params(state), algorithm.public(state))

    return jax.lax.scan(step, algorithm.init(start), keys)[1]


def plain_noise(task, key, ratio: float) -> np.ndarray:
    """What is added to every agent's gradient in units of sigma C / m, by loops over pairs, [agent, feature]."""
    key_own, key_pairs = jax.random.split(key)
    neighbors, budget = np.asarray(task.peers.graph.neighbors), np.asarray(task.peers.budget, float)
    near, features = dense(task) > 0, task.init_params.shape[0]
    out = np.asarray(jax.random.normal(key_own, (task.num_clients, features)), float)
    out *= np.where(budget > 0, budget.max() / np.where(budget > 0, budget, 1), 0)[:, None]
    drawn = np.asarray(jax.random.normal(key_pairs, (*neighbors.shape, features)), float)
    for i in range(task.num_clients):
        for j in range(i + 1, task.num_clients):
            if near[i, j] and budget[i] > 0 and budget[j] > 0:
                ours, theirs = (
                    drawn[a, next(s for s, b in enumerate(neighbors[a]) if b == c)] for a, c in ((i, j), (j, i))
                )
                shared = ratio * (ours - theirs) / np.sqrt(2)
                out[i] += shared
                out[j] -= shared
    return out


def plain_path(task, keys, *, step_size, clip_norm, noise_multiplier, pair_noise_ratio) -> np.ndarray:
    """Logistic loss: models after every round, [round, agent, feature]."""
    one, budget = listed(task), np.asarray(task.peers.budget, float)
    mean_size, mix = np.asarray(task.num_examples).mean(), mixing(task)
    models, out = np.zeros((task.num_clients, task.init_params.shape[0])), []
    for key in keys:
        noise = noise_multiplier * clip_norm / mean_size * plain_noise(task, key, pair_noise_ratio)
        sent = models - step_size * noise
        for i, (inputs, labels) in enumerate(zip(one.inputs, one.targets, strict=True)):
            if budget[i] == 0:
                continue
            for x, y in zip(inputs, labels, strict=True):
                gradient = -y * x / (1 + np.exp(y * (x @ models[i])))
                gradient *= min(1, clip_norm / np.linalg.norm(gradient))
                sent[i] -= step_size * gradient / mean_size
            ridge = 2 * float(task.peers.regularization[i]) * models[i]
            sent[i] -= step_size * len(labels) / mean_size * ridge
        models = mix @ sent
        out.append(models)
    return np.stack(out)


def of_graph(task: Task, weights) -> Task:
    """The task on another graph."""
    return replace(task, peers=replace(task.peers, graph=from_weights(weights)))


def ring(n: int) -> np.ndarray:
    """Weights 1 along a ring."""
    return np.roll(np.eye(n), 1, axis=0) + np.roll(np.eye(n), -1, axis=0)


@cache
def alike(n: int) -> Task:
    """A ring of n agents with the same two points, so that L_i = |theta - 1|^2 / 2 of two features."""
    inputs = jnp.broadcast_to(jnp.sqrt(2.0) * jnp.eye(2), (n, 2, 2))
    task = logistic_peers()
    return replace(
        task,
        init_params=jnp.zeros(2),
        num_examples=jnp.full(n, 2, jnp.int32),
        train=(inputs, jnp.full((n, 2), jnp.sqrt(2.0))),
        peers=Peers(from_weights(ring(n)), jnp.zeros(n), jnp.ones(n), jnp.ones(n)),
        linear=Linear(half_square),
        loss=squared_loss,
        name=f"ring_{n}",
    )
