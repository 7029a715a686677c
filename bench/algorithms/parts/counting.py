"""Counts shared by the cost functions of the methods."""

import jax
import numpy as np

from bench.data.task import Task


def num_parameters(task: Task) -> int:
    """Return the number of parameters of the common model, which is also the length of a message about it."""
    return sum(np.size(leaf) for leaf in jax.tree.leaves(task.init_params))


def used_at_least_once(size, sample, num_samples):
    """Return the expected number of different examples in `num_samples` fresh samples of `sample` of `size` examples.

    Each example is equally likely. For Poisson samples `sample` is the expected size. All arguments may be arrays.
    """
    rate = np.divide(sample, size, out=np.zeros(np.broadcast(size, sample).shape), where=np.greater(size, 0))
    return size * (1 - (1 - rate) ** num_samples)
