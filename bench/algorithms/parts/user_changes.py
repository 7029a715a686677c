"""What the users of a round make of the shared model: their gradients, or their changes after some local steps."""

from typing import Any

import jax
import jax.numpy as jnp

from bench.algorithms.base import Scalar
from bench.data.task import Task
from bench.errors import InputError
from bench.kernels import local_steps, sparse
from bench.kernels.gradient import clipped_sum as clipped_sum_and_norms
from bench.kernels.messages import Messages
from bench.kernels.personal import Batch


def user_changes(
    task: Task,
    w: Any,
    batch: Batch,
    num_steps: int,
    step_size: Scalar,
    *,
    towards: Any = None,
    proximal: Scalar | None = None,
    sharpness: Scalar | None = None,
    bound: tuple[Scalar, Scalar] | None = None,
) -> Messages:
    """Return what K local steps of the users of a round change, Delta_i = (w - w_i,K) / eta, as `Messages`.

    Delta_i is the sum of the K gradients that user i follows from w. On tasks with a linear model and the squared loss
    no model of a user is formed, which takes a fraction of the time.

    Args:
        task: with loss(w, theta_i, example); theta_i is held at 0.
        w: the shared model.
        batch: the users' minibatches, as `participation` draws them.
        num_steps: K.
        step_size: eta > 0.
        towards: a vector of each user, leaves [user, ...], that is added to each of its gradients, such as the control
            variates c - c_i of SCAFFOLD.
        proximal, sharpness, bound: change the objective of the steps; see `local_steps.LocalSteps`.

    Raises:
        InputError: for a task without a loss of single examples.
    """
    steps = local_steps.LocalSteps(step_size, num_steps, proximal, sharpness, bound)
    if towards is not None:
        is_taken = jnp.sum(batch.weight, axis=1) > 0  # a Poisson sample has empty places
        towards = jax.tree.map(lambda leaf: jnp.where(is_taken.reshape(-1, *[1] * (leaf.ndim - 1)), leaf, 0.0), towards)
    in_span = towards is None or (bound is None and not isinstance(batch.examples[0], sparse.Rows))
    if task.gram is not None and in_span:
        return local_steps.dual(task.gram, steps, w, batch, towards)
    if task.loss is None:
        raise InputError(f"task {task.name} has no loss of single examples: local steps need one")
    return local_steps.dense(task.loss, jax.tree.map(jnp.zeros_like, task.nothing_local()), steps, w, batch, towards)


def user_gradients(task: Task, w: Any, batch: Batch) -> Messages:
    """Return the users' gradients at the shared model w, the changes of one step.

    Args:
        task, w, batch: as for `user_changes`.
    """
    return user_changes(task, w, batch, 1, 1.0)


def clipped_sum(messages: Any, clip_norm: Scalar) -> Any:
    """Return the sum over users of their clipped messages.

    It moves by at most C in L2 if a user is removed, 2 C if one is replaced.

    Args:
        messages: leaves [user, ...]; the norm is joint over all leaves of one user.
        clip_norm: C > 0; inf does not clip.
    """
    return clipped_sum_and_norms(messages, clip_norm)[0]
