"""Counts shared by the cost functions of the methods."""

import jax
import numpy as np

from bench.data.task import Task


def num_parameters(task: Task) -> int:
    """Of the common model, which is as long as a message about it."""
    return sum(np.size(leaf) for leaf in jax.tree.leaves(task.init_params))


def used_at_least_once(size, sample, num_samples):
    """Different examples, expected, in so many fresh samples of `sample` of `size` examples, each example as likely as
    the others; of Poisson samples `sample` is the expected size. All may be arrays."""
    rate = np.divide(sample, size, out=np.zeros(np.broadcast(size, sample).shape), where=np.greater(size, 0))
    return size * (1 - (1 - rate) ** num_samples)
