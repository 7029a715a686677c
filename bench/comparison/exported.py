"""The examples of a task as plain arrays, for programs in other frameworks that are compared with the board."""

from typing import Any

import jax
import numpy as np

from bench.comparison.problem import Problem, made
from bench.data.task import Task
from bench.errors import InputError

FACTS = "name", "metric", "best", "privacy_unit", "neighbors", "delta"


def exported(problem: Problem, split: int) -> dict[str, Any]:
    """Return the examples of a split of a task as arrays, and what is measured and protected.

    Returns:
        S_inputs [example, ...], S_targets [example] and S_clients [example], the number of the client, for the sets S:
        "train", "tuning" and "test". Without S_clients all clients have the same examples. Where settings are tuned on
        a task of its own, there is also "tuning_train", what is trained on there. Further `FACTS` of the problem, the
        split, and source and checksum of the data.

    Raises:
        InputError: for a task whose clients have no such examples.
    """
    task = made(problem.test, split, problem.name)
    sparse = isinstance(task.train, tuple) and not isinstance(task.train[0], jax.Array)
    why = "has sparse inputs" if sparse else "has a graph of agents" if task.peers else ""
    if task.train is None or why:
        why = why or "draws its examples anew in every round"
        raise InputError(f"task {problem.name} {why}, which no plain arrays hold: choose another, such as digits")
    sets = {"train": _train(task), "test": _held_out(task, "test")}
    if problem.tuning is None:
        sets["tuning"] = _held_out(task, "validation")
    else:
        tuning = made(problem.tuning, split, problem.name)
        sets |= {"tuning_train": _train(tuning), "tuning": _held_out(tuning, "test")}
    arrays = {f"{name}_{leaf}": array for name, leaves in sets.items() for leaf, array in leaves.items()}
    facts = {name: getattr(problem, name) for name in FACTS}
    return arrays | facts | {"split": split, "source": task.source, "checksum": task.checksum}


def _train(task: Task) -> dict[str, np.ndarray]:
    """Return the training examples; targets that have an entry for each class become classes."""
    inputs, targets = task.train if task.network is None else (leaf[task.train] for leaf in task.network.pool)
    if targets.ndim > 2:
        targets = targets.argmax(-1) if targets.shape[-1] > 1 else targets[..., 0]
    return _listed(inputs, targets, task.num_examples)


def _held_out(task: Task, subset: str) -> dict[str, np.ndarray]:
    inputs, targets, *sizes = task.evaluation[subset]
    if targets.ndim == 1:
        return {"inputs": np.asarray(inputs), "targets": np.asarray(targets)}
    everything = np.full(len(targets), targets.shape[1])
    return _listed(inputs, targets, sizes[0] if sizes else task.evaluation.get("count", everything))


def _listed(inputs, targets, sizes) -> dict[str, np.ndarray]:
    """Return examples by client, [client, example, ...], as one list without padding."""
    present = np.arange(targets.shape[1]) < np.asarray(sizes)[:, None]
    return {
        "inputs": np.asarray(inputs)[present],
        "targets": np.asarray(targets)[present],
        "clients": present.nonzero()[0],
    }
