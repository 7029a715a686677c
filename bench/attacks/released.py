"""The model that a method releases, among all that it makes public."""

from typing import Any

import jax

from bench.data.task import Task
from bench.errors import InputError


def released(task: Task, public: Any) -> Any:
    """Return the released model: the shared one, or one for every client where all clients' models are public.

    A client's private model is never part of what is public, so the attacks cannot see it.

    Args:
        task: whose `init_params` say what a model looks like.
        public: what `Algorithm.public` gives; the model, or a tuple that begins with it.

    Raises:
        InputError: where no model is public.
    """
    for model in (public, public[0] if isinstance(public, tuple) and public else None):
        if _same_shapes(task.init_params, model) or _same_shapes(task.init_params, model, task.num_clients):
            return model
    raise InputError(f"what is public on {task.name} is no model of the task, which attacks need: choose other METHODS")


def is_shared(task: Task, model: Any) -> bool:
    """Return whether a released model is the shared one, rather than one for every client."""
    return _same_shapes(task.init_params, model)


def _same_shapes(model: Any, other: Any, *axes: int) -> bool:
    """Return whether two models have the same structure and shapes, but for further axes of the second."""
    if jax.tree.structure(model) != jax.tree.structure(other):
        return False
    pairs = zip(jax.tree.leaves(model), jax.tree.leaves(other), strict=True)
    return all((*axes, *leaf.shape) == other_leaf.shape for leaf, other_leaf in pairs)
