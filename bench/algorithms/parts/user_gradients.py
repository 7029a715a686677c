"""The gradients of the users of a round, for methods that send one message of every user."""

from typing import Any

import jax
import jax.numpy as jnp

from bench.data.task import Task
from bench.errors import InputError
from bench.kernels import user_gradients as kernel
from bench.kernels.personal import Batch
from bench.kernels.user_gradients import UserGradients


def user_gradients(task: Task, w: Any, batch: Batch) -> UserGradients:
    """Return the norms of the users' gradients at the shared model w, and their weighted and clipped sums.

    On tasks with a linear model and the squared loss no gradient is formed, which takes a fraction of the time.

    Args:
        task: with loss(w, theta_i, example); theta_i is held at 0.
        w: the shared model.
        batch: the users' minibatches, as `participation` draws them.

    Raises:
        InputError: for a task without a loss of single examples.
    """
    if task.gram is not None:
        return kernel.of_linear(task.gram, w, batch)
    if task.loss is None:
        raise InputError(f"task {task.name} has no loss of single examples: user_gradients needs one")
    return kernel.of_loss(task.loss, jax.tree.map(jnp.zeros_like, task.nothing_local()), w, batch)
