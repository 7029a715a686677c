"""CIFAR-10 over 500 users of 100 pictures each, whose classes differ: a linear model, or a convolutional network.

The users share out the 50,000 training pictures, and a user's classes are drawn from a Dirichlet distribution (Hsu, Qi
and Brown 2019). Of a user's pictures, 20 are for the test and 10 for tuning. So a user is tested on the classes that it
meets; beside it, all models are tested on the same test pictures of the data set.
"""

import math
from dataclasses import replace
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from bench.data import partition, scattering
from bench.data.dataset import LocalCopy
from bench.data.fetch import retrieval
from bench.data.files import DataFiles
from bench.data.read import formats
from bench.data.task import Task, joint_checksum
from bench.data.tasks import digits
from bench.data.tasks.by_network import network_task
from bench.errors import InputError, check_name
from bench.models.additive import Additive
from bench.models.user_networks import PictureCNN

NUM_USERS, SIZE = 500, 100
NUM_TEST, NUM_VALIDATION = 20, 10  # of a user's pictures
NUM_COMMON = 2000  # of the data set's test pictures
PLACES = 2  # quarters of a picture whose features are averaged: the height and the width of what is left
MODELS = ("linear", "cnn")
SEED = 0xC1FA  # of the network's initial parameters, the same in all trials


def cifar_users(
    trial: int,
    *,
    concentration: float = 0.3,
    model: str = "linear",
    num_users: int = NUM_USERS,
    size: int = SIZE,
) -> Task:
    """CIFAR-10 by user.

    Args:
        trial: the number of the deal of the pictures.
        concentration: how similar the users' classes are, see `partition.by_class_shares`; inf gives equal shares.
        model: "linear", one class against the others on averaged scattering features; "cnn", a convolutional network
            with group normalisation on pixels, with the cross-entropy.
        num_users: users.
        size: pictures of a user.

    Raises:
        InputError: an unknown model, or more pictures than there are.
    """
    check_name("model", model, MODELS)
    held = NUM_TEST + NUM_VALIDATION
    if size <= held:
        raise InputError(f"size = {size}: give more than the {held} pictures that are held out.")
    copy, labels, common_labels = _labels(DataFiles())
    rng = np.random.default_rng([trial, 0xC1FA])
    members = partition.by_class_shares(rng, labels, num_users, concentration, size)
    members = rng.permuted(members, axis=1)
    pictures, of_common = (_pictures if model == "cnn" else _features)(DataFiles())
    common = of_common[:NUM_COMMON], common_labels[:NUM_COMMON]
    examples = {
        split: [(pictures[rows], labels[rows]) for rows in members[:, start:stop]]
        for split, start, stop in (("test", 0, NUM_TEST), ("validation", NUM_TEST, held), ("train", held, size))
    }
    shares = "equal" if math.isinf(concentration) else f"{concentration:g}"
    origin: dict[str, Any] = {
        "name": f"cifar_users_{model}_{num_users}_{shares}",
        "source": f"CIFAR-10 ({copy.source})",
        "checksum": joint_checksum(copy.checksum, scattering.recipe(), str(PLACES)),
    }
    if model == "cnn":
        return network_task(examples, module=PictureCNN(), head=("head",), seed=SEED, common=common, **origin)
    task = digits.linear_task(examples, metrics=accuracy, **origin)
    return replace(task, evaluation=task.evaluation | {"common": tuple(map(jnp.asarray, common))})


@cache
def _labels(data_files: DataFiles) -> tuple[LocalCopy, np.ndarray, np.ndarray]:
    copy = retrieval.get("cifar10", data_files)
    arrays = formats.cifar10(copy)
    return copy, arrays["train_labels"].astype(np.int32), arrays["test_labels"].astype(np.int32)


@cache
def _pictures(data_files: DataFiles) -> tuple[np.ndarray, np.ndarray]:
    arrays = formats.cifar10(_labels(data_files)[0])
    return arrays["train_images"], arrays["test_images"]


@cache
def _features(data_files: DataFiles) -> tuple[np.ndarray, np.ndarray]:
    """Return `averaged` features of the training and of the test pictures."""
    copy, labels, _ = _labels(data_files)
    pictures = np.concatenate(_pictures(data_files))
    features = averaged(scattering.features("cifar10", pictures, copy.checksum))
    return features[: len(labels)], features[len(labels) :]


def averaged(features: np.ndarray) -> np.ndarray:
    """Return the means of scattering features over the quarters of each picture, and a 1 for the bias.

    Normalised features have a mean square of at most 1, so after the division by the root of their number the vector of
    a picture is at most 1 long, and with the bias the root of 2, whatever the picture: the scale needs no look at the
    data.

    Args:
        features: [picture, height, width, channel], height and width even.

    Returns:
        float32 [picture, 4 * channel + 1].
    """
    count, height, width, channels = features.shape
    out = np.ones((count, PLACES**2 * channels + 1), np.float32)
    for start in range(0, count, 1000):  # the features are mapped from a file that is larger than the memory may be
        block = features[start : start + 1000].astype(np.float32)
        blocks = block.reshape(len(block), PLACES, height // PLACES, PLACES, width // PLACES, channels)
        out[start : start + 1000, :-1] = blocks.mean((2, 4)).reshape(len(block), -1) / math.sqrt(out.shape[1] - 1)
    return out


def accuracy(params, task: Task) -> dict:
    """Return `digits.accuracy`, on the users' own pictures, and

    common_accuracy: of every user's model on the same test pictures of the data set, the mean over users.
    """
    inputs, labels = task.evaluation["common"]
    model = params if isinstance(params, Additive) else Additive(params)

    def right(weights: Array) -> Array:
        return jnp.mean(jnp.argmax(inputs @ weights.T, axis=-1) == labels, dtype=jnp.float32)

    if model.coefficients is not None:
        users = (model.coefficients, task.train[0])
        on_common = jax.lax.map(lambda user: right(model.w + user[0].T @ user[1]), users)
    elif model.theta is not None:
        on_common = jax.lax.map(lambda theta: right(model.w + theta), model.theta)
    else:
        on_common = right(model.w)
    by_user = digits.accuracy(params, task)
    return by_user | {"common_accuracy": jnp.where(jnp.isnan(by_user["test_accuracy"]), jnp.nan, jnp.mean(on_common))}
