"""The units whose membership is attacked, who of them is a member of which run, and their scores.

- Users (`Task.present`): every user is in a run by a coin of its own. A user who is out is sampled like the others, but
  contributes nothing, so noise, sampling rate and divisor are those of the board, and in and out are neighbours under
  "add-or-remove one".
- Examples of a client, of which a method for networks needs a fixed number n: every client has its n examples and n
  further ones of the same classes, which nobody uses on the board. In a run it has a random n of these 2 n, so that its
  sampling rate and its noise are those of the board. An example that is out is then replaced by another one, which
  add-or-remove one allows twice the epsilon for (`allowance`).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bench.attacks.released import is_shared
from bench.data.task import Network, Task
from bench.errors import InputError
from bench.privacy.accounting import group_of_two
from bench.privacy.events import ADD_OR_REMOVE

USER, EXAMPLE = "user", "example"
SCORED_TOGETHER = 200  # examples of a client


class Units(NamedTuple):
    """The units, and their membership in every run.

    field: of the task, which determines the members of a run.
    values: its value in every run, [run, ...].
    members: whether a run has a unit, [run, unit].
    candidates: the units, as `score` takes them.
    score: (task, candidates, released model) -> the score of every unit, larger for one that looks like a member.
    """

    field: str
    values: np.ndarray
    members: np.ndarray
    candidates: Any
    score: Callable


def units_of(task: Task, unit: str, runs: int, seed: int) -> Units:
    """Return the units of a task and their membership.

    Args:
        task: with stored examples.
        unit: of privacy.
        runs: number of runs.
        seed: of the membership.

    Raises:
        InputError: for a task whose units cannot be left out.
    """
    rng = np.random.default_rng([seed, 0x3E3B])
    if unit == USER and task.train is not None and task.loss is not None:
        coins = rng.random((runs, task.num_clients)) < 0.5
        return Units("present", coins, coins, None, _user_scores)
    if unit == EXAMPLE and task.network is not None:
        candidates = _doubled_rows(task, rng)
        permutation = rng.random((runs, *candidates.shape)).argsort(axis=-1)
        size = int(np.asarray(task.train).shape[1])
        chosen = np.sort(permutation[..., :size], axis=-1)
        members = np.zeros((runs, *candidates.shape), bool)
        np.put_along_axis(members, chosen, True, axis=-1)
        rows = np.take_along_axis(np.broadcast_to(candidates, members.shape), chosen, axis=-1)
        flat = members.reshape(runs, -1)
        return Units("train", rows.astype(np.int32), flat, jnp.asarray(candidates), _example_scores)
    raise InputError(
        f"one {unit} of {task.name} cannot be left out of a run: attacks need users with stored examples, such as "
        "those of digits, or examples of a network's clients, such as those of few_images"
    )


def allowance(kind: str, epsilon: float, delta: float, neighbors: str) -> tuple[float, float]:
    """Return the (epsilon, delta) that holds between runs with a unit and runs without it.

    They are the declared ones, except where the unit is replaced and the declaration is about adding or removing it:
    then both are steps of that kind, and the bound is that for two.
    """
    if kind == EXAMPLE and neighbors == ADD_OR_REMOVE:
        return group_of_two(epsilon, delta)
    return epsilon, delta


def _doubled_rows(task: Task, rng: np.random.Generator) -> np.ndarray:
    """Return rows of the pool, [client, 2 n]: every client's own n, and n that no client has, class by class."""
    _, labels = task.need(Network).pool
    labels, own_rows = np.asarray(labels), np.asarray(task.train)
    unused = np.setdiff1d(np.arange(len(labels)), own_rows)
    stacks = {int(label): list(rng.permutation(unused[labels[unused] == label])) for label in np.unique(labels)}
    further_rows = []
    for rows in own_rows:
        classes, counts = np.unique(labels[rows], return_counts=True)
        for label, count in zip(classes.tolist(), counts.tolist(), strict=True):
            if len(stacks[label]) < count:
                raise InputError(
                    f"{task.name} has too few examples that no client uses to compare with: attack a task whose "
                    "clients have a smaller share of the data, such as few_images"
                )
        further_rows.append([stacks[label].pop() for label in labels[rows].tolist()])
    return np.concatenate([own_rows, np.array(further_rows)], axis=1)


def _user_scores(task: Task, candidates: None, model: Any) -> jax.Array:
    """Return minus the mean loss of each user's examples at the shared model, or at its own where those are public."""
    del candidates
    loss = task.loss
    assert loss is not None
    nothing_local = jax.tree.map(jnp.zeros_like, task.nothing_local())
    shared = is_shared(task, model)

    def score_of_user(model, examples, size):
        losses = jax.vmap(lambda example: loss(model, nothing_local, example))(examples)
        is_real = jnp.arange(losses.shape[0]) < size
        return -jnp.sum(jnp.where(is_real, losses, 0.0)) / jnp.maximum(size, 1).astype(jnp.float32)

    return jax.vmap(score_of_user, (None if shared else 0, 0, 0))(model, task.train, task.num_examples)


def _example_scores(task: Task, candidates: jax.Array, model: Any) -> jax.Array:
    """Return the confidence log p - log(1 - p) in each example's label, by the shared model, or by that of its client
    where those are public.
    """
    inputs, labels = task.need(Network).pool
    loss = task.loss
    assert loss is not None
    shared = is_shared(task, model)

    def scores_of_client(model_and_rows):
        client_model, rows = model_and_rows
        client_model = model if shared else client_model

        def score_of_row(row):
            loss_of_row = loss(client_model, None, (inputs[row], labels[row]))  # the cross-entropy, -log p
            loss_of_row = jnp.maximum(loss_of_row, jnp.finfo(jnp.float32).tiny)
            return -loss_of_row - jnp.log(-jnp.expm1(-loss_of_row))

        return jax.lax.map(score_of_row, rows, batch_size=SCORED_TOGETHER)

    return jax.lax.map(scores_of_client, (None if shared else model, candidates)).ravel()
