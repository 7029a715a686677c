"""Ratings of lectures by students: a linear regression in which every student is a user.

A rating of 1 to 5 is predicted from the lecturer, the department, the semester of the lecture and of the student, and
whether the lecture is held for another department. Inputs are sparse: one of the features of each kind is 1. Students
have 22 ratings in the median. Alone they know nothing about a lecturer whom they have not rated before.

Source: the data set InstEval of lme4 (Bates et al. 2015).
"""

from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from bench.data.dataset import LocalCopy
from bench.data.fetch import retrieval
from bench.data.files import DataFiles
from bench.data.partition import by_label, stack, three_splits
from bench.data.read import r_data
from bench.data.task import Task
from bench.data.tasks.by_network import NUM_COMMON, spread
from bench.data.tasks.clients_file import FEWEST, mean_squares
from bench.kernels.sparse import Rows
from bench.models.additive import Additive, sparse_squared_loss

KINDS = ("d", "dept", "service", "studage", "lectage")  # lecturer, department, service, and ages in semesters
MIDDLE, HALF = 3.0, 2.0  # targets are (rating - 3) / 2, in -1 to 1


class Ratings(NamedTuple):
    """Ratings of all users, in the order of the file.

    features: the numbers of those features that are 1, int32 [rating, kind]; the first is the same for all, the bias.
    values: of 1 to 5, [rating].
    users: [rating].
    num_features: of all kinds together.
    """

    features: np.ndarray
    values: np.ndarray
    users: np.ndarray
    num_features: int


@cache
def _ratings(data_files: DataFiles) -> tuple[Ratings, LocalCopy]:
    copy = retrieval.get("insteval", data_files)
    return ratings_of(r_data.table(copy, "lme4.rdx", "lme4.rdb", "InstEval")), copy


def ratings_of(table: dict[str, r_data.Column]) -> Ratings:
    """Return the ratings in a table with the columns s (student), y (rating) and KINDS."""
    values = table["y"].values
    features, start = [np.zeros(len(values), np.int32)], 1
    for name in KINDS:
        column = table[name]
        features.append((column.values + start).astype(np.int32))
        start += len(column.levels or [])
    return Ratings(np.stack(features, axis=1), values, table["s"].values, start)


def insteval(trial: int) -> Task:
    """Return the ratings of the students who gave five or more, split anew in every trial: 20 % of a student's ratings
    are for the test, 10 % for tuning, and the rest for training.

    Args:
        trial: the number of the split.
    """
    ratings, copy = _ratings(DataFiles())
    return rating_task(trial, ratings, name="insteval", source=f"InstEval ({copy.source})", checksum=copy.checksum)


def rating_task(trial: int, ratings: Ratings, **origin: Any) -> Task:
    """Return the task of ratings; `trial` as for `insteval`, `origin`: name, source and checksum."""
    rng = np.random.default_rng([trial, 0x1257])
    rows_of = [three_splits(rows, rng) for rows in by_label(ratings.users) if len(rows) >= FEWEST]
    scaled = ((ratings.values - MIDDLE) / HALF).astype(np.float32)
    ones = np.ones(ratings.features.shape, np.float32)
    evaluation: dict = {}
    for split in ("train", "validation", "test"):
        index, value, targets, sizes = stack(
            [(ratings.features[rows[split]], ones[rows[split]], scaled[rows[split]]) for rows in rows_of]
        )
        evaluation[split] = Rows(index, value, ratings.num_features), targets, sizes
    inputs, targets, sizes = evaluation.pop("train")
    tested = [(ratings.features[rows["test"]], scaled[rows["test"]]) for rows in rows_of]
    evaluation["common"] = tuple(map(jnp.asarray, spread(tested, NUM_COMMON)))
    return Task(
        init_params=jnp.zeros((ratings.num_features, 1)),
        num_examples=sizes,
        train=(inputs, targets[..., None]),
        evaluation=evaluation,
        gram=_products(inputs),
        loss=sparse_squared_loss,
        metrics=squared_errors,
        **origin,
    )


def _products(inputs: Rows) -> Array:
    """Return the products of a user's inputs, [user, rating, rating]: the number of features that both have."""
    total = jnp.zeros((*inputs.index.shape[:2], inputs.index.shape[1]))
    for kind in range(inputs.index.shape[2]):  # features of different kinds have different numbers
        index, value = inputs.index[..., kind], inputs.value[..., kind]
        equal = index[:, :, None] == index[:, None, :]
        total = total + jnp.where(equal, value[:, :, None] * value[:, None, :], 0.0)
    return total


def squared_errors(params, task: Task) -> dict:
    """Return mean squared errors in units of squared points: those of `clients_file.squared_errors`, and

    common_squared_error: of every user's model on the common ratings, the mean over users.
    """
    features, targets = task.evaluation["common"]
    predicted = jnp.sum(_models(params, task)[:, features], axis=-1)  # [user or 1, rating]
    return mean_squares(sums_of_squares, params, task) | {
        "common_squared_error": HALF**2 * jnp.mean(jnp.square(predicted - targets[None]))
    }


def sums_of_squares(params, task: Task, split: str = "test") -> tuple[Array, Array]:
    """Return the sum of (prediction - rating)^2 over the ratings of each user, and their number, [user]."""
    inputs, targets, sizes = task.evaluation[split]
    models = jnp.broadcast_to(_models(params, task), (task.num_clients, inputs.num_features))
    chosen = jax.vmap(lambda model, index: model[index])(models, inputs.index)
    errors = jnp.square(jnp.sum(chosen * inputs.value, axis=-1) - targets)
    real = jnp.arange(targets.shape[1])[None] < sizes[:, None]
    return HALF**2 * jnp.sum(jnp.where(real, errors, 0.0), axis=1), sizes


def _models(params, task: Task) -> Array:
    """Return the weights of every user's model, [user, feature], or [1, feature] where all have one."""
    model = params if isinstance(params, Additive) else Additive(params)
    common = model.w[None, :, 0]
    if model.theta is not None:
        return common + model.theta[..., 0]
    if model.coefficients is None:
        return common
    inputs, _ = task.train

    def local_weights(index, value, coefficients):
        return jnp.zeros(inputs.num_features).at[index].add(value * coefficients)

    return common + jax.vmap(local_weights)(inputs.index, inputs.value, model.coefficients)
