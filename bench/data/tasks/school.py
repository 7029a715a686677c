"""Exam scores by school, from two data sets with one interface: linear regression in silos of unequal size.

- `school`: 139 schools of 22 to 251 pupils, from the file that MALSAR has;
- `made_up_schools`: generated, with the same number of schools and about the same number of pupils.

As in the program of Liu, Hu, Wu and Smith (NeurIPS 2022), a random fifth of every school's pupils, rounded up, is the
test; features are standardised by the mean and deviation of the school's own training pupils, which lies outside the
privacy analysis; scores are scaled from [1, 70] to [0, 1]. The file's last feature is 1 for all pupils, and stays 1 as
the bias.
"""

import math
from functools import cache

import jax.numpy as jnp
import numpy as np

from bench.data.dataset import LocalCopy
from bench.data.fetch import retrieval
from bench.data.files import DataFiles
from bench.data.partition import PARTS, stack
from bench.data.read import school as reader
from bench.data.task import Linear, Task, recipe_checksum
from bench.data.tasks.quadratic import half_square
from bench.errors import check_name
from bench.models.additive import scores, squared_loss

HELD_OUT = 0.2


@cache
def _schools(data_files: DataFiles) -> tuple[list[np.ndarray], list[np.ndarray], LocalCopy]:
    copy = retrieval.get("school", data_files)
    return *reader.schools(copy), copy


def school(trial: int, *, part: str = "test") -> Task:
    """Least squares in 139 silos of unequal size.

    Args:
        trial: the number of the split of every school's pupils.
        part: the held-out part: "test", or "validation", a fifth of the training pupils, without the test.

    Raises:
        InputError: for another part, or where the data are unavailable.
    """
    features, exams, copy = _schools(DataFiles())
    recipe = (copy.checksum, part, HELD_OUT)
    return _task(trial, part, features, exams, name="school", source=f"School ({copy.source})", recipe=recipe)


def made_up_schools(trial: int, *, part: str = "test", num_schools: int = 139) -> Task:
    """Generated pupils with 27 features, most of them 0 or 1, and scores by a model that differs between schools in its
    level and a little in its slopes.

    Args:
        trial: the number of the split of every school's pupils; the pupils are the same in all.
        part: as for `school`.
        num_schools: of 22 to 251 pupils each.
    """
    rng = np.random.default_rng(0x5C01)
    common = 0.8 * rng.standard_normal(27)
    features, exams = [], []
    for _ in range(num_schools):
        pupils = int(rng.integers(22, 252))
        x = (rng.random((pupils, 27)) < rng.uniform(0.05, 0.6, 27)).astype(float)
        slopes = common + 0.3 * rng.standard_normal(27)
        level = 20.0 + 5.0 * rng.standard_normal()
        score = level + 4.0 * (x - x.mean(0)) @ slopes + 11.0 * rng.standard_normal(pupils)
        exams.append(np.clip(np.round(score), reader.LOWEST, reader.HIGHEST))
        features.append(np.column_stack([x, np.ones(pupils)]))
    recipe = (num_schools, part, HELD_OUT)
    return _task(trial, part, features, exams, name="made_up_schools", source="generated", recipe=recipe)


def _task(trial: int, part: str, features, exams, *, name: str, source: str, recipe: tuple) -> Task:
    """Return the task of these pupils [pupil, feature] and scores [pupil] by school."""
    check_name("part", part, PARTS)
    rng = np.random.default_rng([trial, 0x5C00])
    training, testing = [], []
    for x, y in zip(features, exams, strict=True):
        train_rows, test_rows = _held_out(rng.permutation(len(y)))
        if part == "validation":
            train_rows, test_rows = _held_out(train_rows)
        target = (y - reader.LOWEST) / (reader.HIGHEST - reader.LOWEST)
        mean, deviation = x[train_rows].mean(0), x[train_rows].std(0)
        inputs = (x - mean) / np.where(deviation > 0, deviation, 1.0)
        inputs[:, -1] = 1.0
        for rows, half in ((train_rows, training), (test_rows, testing)):
            half.append((inputs[rows].astype(np.float32), target[rows].astype(np.float32)))
    *packed, sizes = stack(training)
    *test, counts = stack(testing)
    return Task(
        init_params=jnp.zeros(features[0].shape[1]),
        num_examples=sizes,
        train=tuple(packed),
        evaluation={"test": tuple(test), "count": counts},
        linear=Linear(half_square),
        loss=squared_loss,
        metrics=squared_error,
        name=name,
        source=source,
        checksum=recipe_checksum(recipe),
    )


def _held_out(shuffled: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the remaining rows and the held-out rows."""
    number = math.ceil(HELD_OUT * len(shuffled))
    return shuffled[number:], shuffled[:number]


def squared_error(params, task: Task) -> dict:
    """Return test_squared_error, the mean over all held-out pupils of (prediction - score)^2, scores in [0, 1]."""
    (inputs, targets), counts = task.evaluation["test"], task.evaluation["count"]
    present = jnp.broadcast_to(jnp.arange(targets.shape[1]), targets.shape) < counts[:, None]
    squares = jnp.square(scores(params, inputs, task.train[0]) - targets)
    return {"test_squared_error": jnp.sum(jnp.where(present, squares, 0.0)) / jnp.sum(counts).astype(jnp.float32)}
