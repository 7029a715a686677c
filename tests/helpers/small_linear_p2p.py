"""A small problem of linear classification by peers, and its objective by plain loops."""

import math

import numpy as np

from bench.data.tasks.peers import linear_p2p

N, P = 20, 5
MU = 0.04


def task_of(trial=0, **args):
    return linear_p2p(trial, **{"num_features": P, "num_agents": N, "graph_width": 0.5} | args)


def models_of(seed=0, shape=(N, P)):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def plain_objective(task, models, mu):
    """Q by loops over pairs, agents and examples."""
    graph = task.peers.graph
    neighbors, weights = np.asarray(graph.neighbors), np.asarray(graph.weights, float)
    inputs, labels = (np.asarray(leaf, float) for leaf in task.train)
    sizes = np.asarray(task.num_examples)
    total = 0.0
    for i in range(len(models)):
        for j, weight in zip(neighbors[i], weights[i], strict=True):
            total += 0.25 * weight * sum((models[i] - models[j]) ** 2)  # each pair comes twice
        loss = 0.0
        for x, y in zip(inputs[i, : sizes[i]], labels[i, : sizes[i]], strict=True):
            loss += math.log1p(math.exp(-y * sum(x * models[i]))) / sizes[i]
        ridge = 1 / max(sizes[i], 1)
        confidence = max(sizes[i], 0.01) / max(sizes)
        total += mu * weights[i].sum() * confidence * (loss + ridge * sum(models[i] ** 2))
    return total
