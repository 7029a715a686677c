"""Private coordinate descent on a few peers: common arguments, its plain implementation, who moved, where it starts."""

import jax
import numpy as np
from tiny_peers import MU, N, listed

from bench.algorithms.coordinate_descent import METHOD
from bench.papers.p2p import reference

SIGMA, L0 = 3.0, 0.5
TICKS = 60
BASE = {"mu": MU, "start": "constant"}  # most runs share these, and so their programs
NOISY = BASE | {"noise_multiplier": SIGMA, "lipschitz": L0}


def by_reference(task, models, order, noise, mu=MU):
    """Models after the given agents' updates, in that order, by the plain implementation."""
    one = listed(task)
    return reference.coordinate_descent(models, one.inputs, one.targets, one.weights, one.smoothness, mu, order, noise)


def movers(played):
    """Agents whose model changed, for each round."""
    changed = np.any(played.models[1:] != played.models[:-1], axis=-1)
    return [np.flatnonzero(row) for row in changed]


def counts(played):
    """How often each agent's model changed, [agent]."""
    return np.bincount(np.concatenate(movers(played)), minlength=N)


def start_of(task, seed=0, method=METHOD, **args):
    """The models before the first round."""
    algorithm = method.make(task, **{"mu": MU} | args)
    return np.asarray(jax.jit(lambda key: algorithm.params(algorithm.init(key)).theta)(jax.random.key(seed)))
