"""A small problem of linear classification by peers, and random models for it."""

import numpy as np

from bench.data.tasks.peers import linear_p2p

N, P = 20, 5
MU = 0.04


def task_of(trial=0, **args):
    return linear_p2p(trial, **{"num_features": P, "num_agents": N, "graph_width": 0.5} | args)


def models_of(seed=0, shape=(N, P)):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
