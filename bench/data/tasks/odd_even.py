"""Odd or even: MNIST in 25 silos, each with one even and one odd digit (Gao et al. 2024, section 4).

The pipeline is the program of Lowy and Razaviyayn 2023, which the paper states that it reuses and which follows
Woodworth et al. 2020: training images only, the first seventh of each digit, pixels in [0, 1], PCA to 50 dimensions
without whitening, draws WITH replacement within a silo, then 80 % training. So a digit's images are shared by five
silos. 54 % of the test records are copies of a training record of their own silo, and 98 % of a training record of some
silo, so the test error is nearly a training error, and what is protected is a record, not an image. This is the
published setting; `split_first` departs from it.

Here the features are divided by the largest norm among all 60,000 images, so that the losses are 1-Lipschitz; this only
rescales w. PCA, mean and largest norm count as public, as in the paper.
"""

import math
from collections.abc import Callable
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from bench.data import partition
from bench.data.files import DataFiles
from bench.data.task import Linear, Task, joint_checksum
from bench.data.tasks import digits
from bench.errors import InputError, check_name
from bench.models import linear
from bench.models.additive import Additive

NUM_FEATURES = 50
PART = 7  # the first seventh of each digit's images is used
TRAIN = 0.8
SMALLEST_DIGIT = 5421  # images of the rarest digit among the 60,000
NUM_RECORDS = int(TRAIN * 2 * (SMALLEST_DIGIT // PART))  # of a silo, for training
SCRIPT_SILO = 1  # the silo from whose records the authors' program takes L
NUM_DEALT = 10 * int(TRAIN * (SMALLEST_DIGIT // PART)) // 25  # of each of 25 silos in `odd_even_dirichlet`
PAIRS = [(even, odd) for even in range(0, 10, 2) for odd in range(1, 10, 2)]


@cache
def _features(data_files: DataFiles) -> tuple[np.ndarray, np.ndarray, str, str]:
    """Return features of the first images of each digit, [digit, image, feature], lengths of all training images
    [image], and source and checksum of MNIST.
    """
    images, labels, pictures = digits.mnist(data_files)
    images, labels = images[:60_000], labels[:60_000]
    flat = images.reshape(len(images), -1).astype(np.float32) / 255
    flat = flat - flat.mean(0)
    _, directions = np.linalg.eigh(flat.T @ flat)
    features = flat @ directions[:, ::-1][:, :NUM_FEATURES]
    count = np.bincount(labels, minlength=10).min() // PART
    images_of_digit = np.stack([features[labels == digit][:count] for digit in range(10)])
    return images_of_digit, np.linalg.norm(features, axis=1), pictures.source, pictures.checksum


def odd_even(trial: int, *, bound: str = "all images", split_first: bool = False, part: str = "test") -> Task:
    """Logistic regression: is the digit even (1) or odd (-1)? 25 silos, 1,238 training records each.

    Args:
        trial: the number of the draw of the silos' records.
        bound: the divisor of the features, at which clipping at 1 then clips: the longest of "all images"; or, as in
            the authors' program, twice the longest training record of "one silo", which is no bound.
        split_first: split each digit's images before the silos draw, so that no test image is a training image of
            any silo; not in the paper.
        part: "test"; or, with split_first, "validation": the same made only of the images that "test" trains on, to
            tune on.

    Raises:
        InputError: another part, or validation without split_first.
    """
    return _task(trial, "odd_even", linear.logistic, linear.logistic_loss, bound, split_first, part)


def odd_even_hinge(trial: int) -> Task:
    """The task of `odd_even` with the hinge loss, which is not smooth."""
    return _task(trial, "odd_even_hinge", linear.hinge, linear.hinge_loss, "all images", split_first=False, part="test")


def odd_even_dirichlet(trial: int, *, concentration: float = 0.3, num_silos: int = 25, part: str = "test") -> Task:
    """Odd or even in silos with disjoint images and different digit distributions; not in the paper.

    A fifth of each digit's images are for the test, and the others are divided between the silos by
    `partition.by_class_shares`, equally many to each. Every silo is tested on all test images, which the metrics weigh
    once by the digits of its own records, and once all alike, see `loss_and_error_by_digit`.

    Args:
        trial: the number of the split and of the division.
        concentration: of the Dirichlet distribution of a silo's digits.
        num_silos: number of silos.
        part: "test"; or "validation", the same made of the training images alone, to tune on.

    Raises:
        InputError: another part, or values that leave a silo without records.
    """
    check_name("part", part, partition.PARTS)
    features, lengths, source, checksum = _features(DataFiles())
    digit = np.repeat(np.arange(10), features.shape[1])
    rng = np.random.default_rng([trial, 0xD1C])
    train = [rng.permutation(members) for members in partition.by_label(digit)]
    for _ in range(1 + (part == "validation")):
        halves = [np.split(members, [int(TRAIN * len(members))]) for members in train]
        train, test = [half for half, _ in halves], np.concatenate([half for _, half in halves])
    images = np.concatenate(train)
    dealt = images[partition.by_class_shares(rng, digit[images], num_silos, concentration)]
    shares = np.stack([np.bincount(digit[rows], minlength=10) for rows in dealt]) / dealt.shape[1]
    inputs, targets = features.reshape(len(digit), -1) / lengths.max(), np.where(digit % 2 == 0, 1.0, -1.0)

    def records(rows):
        return jnp.asarray(inputs[rows], jnp.float32), jnp.asarray(targets[rows], jnp.float32)

    return Task(
        init_params=jnp.zeros(inputs.shape[-1]),
        num_examples=jnp.full(num_silos, dealt.shape[1], jnp.int32),
        train=records(dealt),
        evaluation={
            "test": records(test),
            "digit": jnp.asarray(digit[test], jnp.int32),
            "shares": jnp.asarray(shares, jnp.float32),
        },
        linear=Linear(linear.logistic, (math.sqrt(inputs.shape[-1]), 1.0)),
        loss=linear.logistic_loss,
        metrics=loss_and_error_by_digit,
        name=f"odd_even_dirichlet_{concentration:g}" + ("" if part == "test" else f"_{part}"),
        source=f"MNIST ({source})",
        checksum=joint_checksum(
            checksum, f"odd even {NUM_FEATURES}", f"dirichlet {concentration:g} {num_silos}", "tested by digit"
        ),
    )


def draws(trial: int, count: int, *, split_first: bool = False, part: str = "test") -> np.ndarray:
    """Return the images of each silo's records [silo, record], the training records first; numbers below `count` are of
    the even digit.

    Args:
        trial: the number of the draw.
        count: images of a digit.
        split_first, part: see `odd_even`.
    """
    rng = np.random.default_rng([trial, 0x0DDE])
    if not split_first:
        return np.stack([rng.integers(0, 2 * count, 2 * count) for _ in PAIRS])
    orders = [rng.permutation(count) for _ in range(10)]
    if part == "validation":
        orders = [order[: int(TRAIN * count)] for order in orders]
    num_images = len(orders[0])
    num_own, train, rows = int(TRAIN * num_images), int(TRAIN * 2 * num_images), []
    for even, odd in PAIRS:
        pool = np.stack([orders[even], count + orders[odd]])
        shares = ((pool[:, :num_own], train), (pool[:, num_own:], 2 * num_images - train))
        rows.append(np.concatenate([rng.choice(images.ravel(), size) for images, size in shares]))
    return np.stack(rows)


def _task(trial: int, name: str, link, loss, bound: str, split_first: bool, part: str) -> Task:
    check_name("part", part, partition.PARTS)
    if part == "validation" and not split_first:
        raise InputError("part 'validation' of odd_even needs split_first: without it images are on both sides")
    images_of_digit, lengths, source, checksum = _features(DataFiles())
    pools = [np.concatenate([images_of_digit[even], images_of_digit[odd]]) for even, odd in PAIRS]
    count = images_of_digit.shape[1]
    answers = np.concatenate([np.ones(count), -np.ones(count)])
    drawn_rows = draws(trial, count, split_first=split_first, part=part)
    inputs = np.stack([pool[rows] for pool, rows in zip(pools, drawn_rows, strict=True)])
    targets = np.stack([answers[rows] for rows in drawn_rows])
    train = int(TRAIN * inputs.shape[1])
    if bound == "all images":
        scale, lipschitz = lengths.max(), (math.sqrt(inputs.shape[-1]), 1.0)
    else:
        scale, lipschitz = 2 * np.linalg.norm(inputs[SCRIPT_SILO, :train], axis=-1).max(), (math.inf, math.inf)
        name = f"{name}_script_bound"
    if split_first:
        name = f"{name}_split_first" + ("" if part == "test" else f"_{part}")

    def records(rows):
        return jnp.asarray(inputs[:, rows] / scale, jnp.float32), jnp.asarray(targets[:, rows], jnp.float32)

    return Task(
        init_params=jnp.zeros(inputs.shape[-1]),
        num_examples=jnp.full(len(PAIRS), train, jnp.int32),
        train=records(slice(None, train)),
        evaluation={"test": records(slice(train, None))},
        linear=Linear(link, lipschitz),
        loss=loss,
        metrics=loss_and_error,
        name=name,
        source=f"MNIST ({source})",
        checksum=joint_checksum(checksum, f"odd even {NUM_FEATURES}", bound, *["split first"] * split_first),
    )


def loss_and_error(params, task: Task) -> dict:
    """Return the mean loss on training records and the share of test records on the wrong side; NaN where a model is
    not finite.

    Args:
        params: one model of all silos, w [feature], or an Additive with a model of each.
        task: whose silos predict on their own test records.
    """
    models = _models(params, task)
    wrong = _mean_of_silos(
        models, lambda scores, targets: jnp.mean(scores * targets <= 0, dtype=jnp.float32), task.evaluation["test"]
    )
    return {
        "train_loss": _train_loss(models, task),
        "test_error": jnp.where(jnp.all(jnp.isfinite(models)), wrong, jnp.nan),
    }


def loss_and_error_by_digit(params, task: Task) -> dict:
    """Return the mean loss on training records and two shares of test records on the wrong side; NaN where a model is
    not finite.

    Returns:
        train_loss: mean over silos.
        test_error: all silos on the same test images.
        local_test_error: the mean over silos of the error on their own digits: every silo meets images of a digit as
            often as the digit is among its training records.
    """
    evaluation, models = task.evaluation, _models(params, task)
    inputs, targets = evaluation["test"]
    counts = jnp.bincount(evaluation["digit"], length=10).astype(jnp.float32)

    def errors(model: Array) -> Array:
        """Return the share of each digit's images on the wrong side, [digit]."""
        wrong = (inputs @ model * targets <= 0).astype(jnp.float32)
        return jax.ops.segment_sum(wrong, evaluation["digit"], num_segments=10) / counts

    by_digit = jax.lax.map(errors, models) if models.ndim == 2 else errors(models)  # [silo, digit] or [digit]
    finite = jnp.all(jnp.isfinite(models))
    everywhere = jnp.mean(by_digit @ counts / jnp.sum(counts))
    shares = evaluation["shares"]
    local = jnp.mean(jnp.sum(shares * jnp.broadcast_to(by_digit, shares.shape), axis=1))
    return {
        "train_loss": _train_loss(models, task),
        "test_error": jnp.where(finite, everywhere, jnp.nan),
        "local_test_error": jnp.where(finite, local, jnp.nan),
    }


def _models(params, task: Task) -> Array:
    """Return one model of all silos, [feature], or those of each, [silo, feature]."""
    return linear.personal(params, task.num_clients) if isinstance(params, Additive) else params


def _train_loss(models: Array, task: Task) -> Array:
    """Return the mean over silos of their mean loss on their training records."""
    link = task.need(Linear).link
    return _mean_of_silos(models, lambda scores, targets: jnp.mean(link(scores, targets)), task.train)


def _mean_of_silos(models: Array, measure: Callable[[Array, Array], Array], records) -> Array:
    """Return the mean over silos of measure(scores, targets) on their own records.

    One silo after the other: with many points, only the scores of a single silo fit in a CPU's cache.
    """
    if models.ndim == 2:
        return jnp.mean(jax.lax.map(lambda silo: measure(silo[1] @ silo[0], silo[2]), (models, *records)))
    return jnp.mean(jax.lax.map(lambda silo: measure(silo[0] @ models, silo[1]), records))
