"""Exam scores by school: 139 silos of 22 to 251 pupils, and a linear model of the score for each.

As in the program of Liu, Hu, Wu and Smith (NeurIPS 2022): of every school's pupils a random fifth, rounded up, is the
test; features are standardised by the mean and deviation of the school's own training pupils, which lies outside the
privacy analysis; scores go from [1, 70] to [0, 1]. The file's last feature is 1 for everybody, and stays 1: the bias.
"""

import math
from functools import cache

import jax.numpy as jnp
import numpy as np

from bench.data.dataset import LocalCopy
from bench.data.fetch import retrieval
from bench.data.files import DataFiles
from bench.data.partition import pack
from bench.data.problems.quadratic import half_square
from bench.data.read import school as reader
from bench.data.task import Linear, Task, recipe_checksum
from bench.errors import unknown_name
from bench.models.additive import scores, squared_loss

PARTS = ("test", "validation")
HELD_OUT = 0.2


@cache
def _schools(data_files: DataFiles) -> tuple[list[np.ndarray], list[np.ndarray], LocalCopy]:
    copy = retrieval.get("school", data_files)
    return *reader.schools(copy), copy


def school(trial: int, *, part: str = "test", data_files: DataFiles | None = None) -> Task:
    """Least squares in 139 silos of unequal size.

    Args:
        trial: which split of every school's pupils.
        part: what is held out: "test", or "validation", a fifth of the training pupils, without the test.
        data_files: where the file may come from; default DataFiles().

    Raises:
        InputError: for another part, or where the data are nowhere.
    """
    if part not in PARTS:
        raise unknown_name("part", part, PARTS)
    features, exams, copy = _schools(data_files or DataFiles())
    rng = np.random.default_rng([trial, 0x5C00])
    train, held = [], []
    for x, y in zip(features, exams, strict=True):
        kept, out = _held_out(rng.permutation(len(y)))
        if part == "validation":
            kept, out = _held_out(kept)
        target = (y - reader.LOWEST) / (reader.HIGHEST - reader.LOWEST)
        mean, deviation = x[kept].mean(0), x[kept].std(0)
        inputs = (x - mean) / np.where(deviation > 0, deviation, 1.0)
        inputs[:, -1] = 1.0
        train.append((inputs[kept].astype(np.float32), target[kept].astype(np.float32)))
        held.append((inputs[out].astype(np.float32), target[out].astype(np.float32)))
    sizes = np.array([len(y) for _, y in train], np.int32)
    counts = np.array([len(y) for _, y in held], np.int32)
    return Task(
        init_params=jnp.zeros(features[0].shape[1]),
        num_examples=jnp.asarray(sizes),
        train=tuple(jnp.asarray(pack(leaves)) for leaves in zip(*train, strict=True)),
        evaluation={
            "test": tuple(jnp.asarray(pack(leaves)) for leaves in zip(*held, strict=True)),
            "count": jnp.asarray(counts),
        },
        linear=Linear(half_square),
        loss=squared_loss,
        metrics=squared_error,
        name="school",
        source=f"School ({copy.source})",
        checksum=recipe_checksum((copy.checksum, part, HELD_OUT)),
    )


def _held_out(shuffled: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What stays, and what is held out."""
    number = math.ceil(HELD_OUT * len(shuffled))
    return shuffled[number:], shuffled[:number]


def squared_error(params, task: Task) -> dict:
    """test_squared_error: mean over all held-out pupils of (prediction - score)^2, scores in [0, 1]."""
    (inputs, targets), counts = task.evaluation["test"], task.evaluation["count"]
    there = jnp.broadcast_to(jnp.arange(targets.shape[1]), targets.shape) < counts[:, None]
    squares = jnp.square(scores(params, inputs, task.train[0]) - targets)
    return {"test_squared_error": jnp.sum(jnp.where(there, squares, 0.0)) / jnp.sum(counts).astype(jnp.float32)}
