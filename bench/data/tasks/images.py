"""Images of ten classes by client: MNIST, Fashion-MNIST and CIFAR-10, as pixels or scattering features.

The clients share one pool, the training images, and each has a list of indices into it. In the published experiments
every client draws its list independently from the whole pool, so several clients can have the same image; with
`disjoint`, each image belongs to at most one client. Test images are those of the data sets and are only used for
evaluation.

Source: Bhaskar et al. 2025, as in its program.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple
from weakref import WeakValueDictionary

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from bench.data import partition, scattering
from bench.data.dataset import LocalCopy
from bench.data.fetch import retrieval
from bench.data.files import DataFiles
from bench.data.read import formats
from bench.data.task import Network, Task, joint_checksum
from bench.errors import InputError, check_name
from bench.kernels.per_example import cross_entropy
from bench.kernels.platforms import by_platform, in_turn
from bench.models.linear import Personal
from bench.models.networks import network


class Pictures(NamedTuple):
    """A data set of pictures of ten classes, whose name in `DATASETS` is its key in PICTURES.

    title: its name in figures and results.
    read: the copy on this machine -> train_images uint8 [image, height, width] or [..., colour], train_labels, and the
        same for the test.
    num_train: training pictures.
    normalisation: mean and standard deviation of each colour, by which pixels in [0, 1] are normalised, as published.
    """

    title: str
    read: Callable[[LocalCopy], dict[str, np.ndarray]]
    num_train: int
    normalisation: tuple[list[float], list[float]]


PICTURES = {
    "mnist": Pictures("MNIST", formats.mnist, 60_000, ([0.1307], [0.3081])),
    "fashion_mnist": Pictures("Fashion-MNIST", formats.mnist, 60_000, ([0.5], [0.5])),
    "cifar10": Pictures("CIFAR-10", formats.cifar10, 50_000, ([0.4914, 0.4822, 0.4465], [0.2023, 0.1994, 0.2010])),
}
SHARE = 10  # a client has at least 1 / SHARE of the pictures
NUM_VALIDATION = 10_000  # of the training pictures
NUM_CLASSES = 10
TESTED_TOGETHER = 100, 2500  # test pictures, on a CPU, whose cache holds no more of them, and on an accelerator

# The arrays of each (data set, features) in use, so that tasks of several models and trials share one copy.
_in_use: WeakValueDictionary = WeakValueDictionary()


def images(
    trial: int,
    *,
    dataset: str,
    model: str,
    num_clients: int = 10,
    disjoint: bool = False,
    share: float = 1.0,
    normalisation: str = "",
    concentration: float = math.inf,
    part: str = "test",
) -> Task:
    """Image classification by a network that the clients train together.

    Args:
        trial: the number of the draw of the clients' pictures and of the initial parameters.
        dataset: "mnist", "fashion_mnist" or "cifar10".
        model: a network for it, see `bench.models.networks`, which determines whether the inputs are pixels or
            scattering features.
        num_clients: k; each has max(N / k, N / 10) of the N images, so a single client has all of them, and the draws
            of more than 10 clients necessarily overlap.
        disjoint: give every image to at most one client, N / k each; not in the paper.
        share: the fraction of its images that a client keeps, in (0, 1]; not in the paper.
        concentration: how similar the class distributions of disjoint clients are, see `partition.by_class_shares`; inf
            ignores the classes. Not in the paper. Below inf the accuracy is also measured on every client's own
            classes, see `accuracy_by_class`.
        normalisation: the data set whose mean and deviation normalise the pixels; default its own.
        part: "test"; or "validation", where clients draw from all but the last 10,000 of the training pictures and are
            tested on those, to tune on.

    Raises:
        InputError: no such data set or model; a normalisation of pictures with other colours, or of features; fewer
            than 1 client, or more disjoint ones than pictures; a share out of its range; an unavailable data set, or
            damaged features in the cache.
    """
    module, features = network(dataset, model)
    if not 0 < share <= 1:
        raise InputError(f"share = {share}: give a number above 0 and at most 1.")
    constants = _constants(dataset, features, normalisation or dataset)
    copy, (inputs, labels, *test) = _examples(dataset, features, constants, DataFiles())
    check_name("part", part, partition.PARTS)
    if not (disjoint or math.isinf(concentration)):
        raise InputError(
            f"concentration = {concentration:g} only applies to disjoint clients: set disjoint, or leave it out."
        )
    if part == "validation":
        test = [inputs[-NUM_VALIDATION:], labels[-NUM_VALIDATION:]]
        inputs, labels = inputs[:-NUM_VALIDATION], labels[:-NUM_VALIDATION]
    rng = np.random.default_rng([trial, 0x1A6E5])
    if disjoint:
        size = math.ceil(share * (len(labels) // max(num_clients, 1)))
        members = (
            partition.disjoint(rng, len(labels), num_clients, size)
            if math.isinf(concentration)
            else partition.by_class_shares(rng, np.asarray(labels), num_clients, concentration, size)
        )
    else:
        size = client_size(len(labels), num_clients, share=share)
        members = partition.independent_draws(rng, len(labels), num_clients, size)
    recipe = scattering.recipe() if features == "scattering" else repr(constants)
    key = jax.random.fold_in(jax.random.key(0x1A6E5), trial)
    return Task(
        init_params=_init(module, inputs.shape[1:])(key),
        num_examples=jnp.full(num_clients, members.shape[1], jnp.int32),
        train=jnp.asarray(members),
        network=Network((inputs, labels), module),
        evaluation={"test": tuple(test)},
        loss=_loss(module),
        metrics=accuracy if math.isinf(concentration) else accuracy_by_class,
        name=f"{dataset}_{model}_{num_clients}{'_disjoint' if disjoint else ''}"
        + (f"_as_{normalisation}" if normalisation not in ("", dataset) else "")
        + (f"_share_{share:g}" if share < 1 else "")
        + ("" if math.isinf(concentration) else f"_dirichlet_{concentration:g}")
        + ("" if part == "test" else f"_{part}"),
        source=f"{PICTURES[dataset].title} ({copy.source})",
        checksum=joint_checksum(copy.checksum, recipe),
    )


def client_size(num_pictures: int, num_clients: int, *, share: float = 1.0) -> int:
    """Return the pictures of a client by the published draw, which is the given share of max(N / k, N / 10)."""
    return math.ceil(share * max(num_pictures // max(num_clients, 1), num_pictures // SHARE))


@cache
def _init(module, shape: tuple[int, ...]):
    """Return a function: key -> initial parameters of a network for inputs of that shape."""
    # It runs only a few times, so it is optimised for compile time and not for run time.
    options = {"xla_backend_optimization_level": 0}
    return jax.jit(lambda key: module.init(key, jnp.zeros((1, *shape)))["params"], compiler_options=options)


@cache
def _loss(module):
    """Return the cross-entropy of one example (inputs [height, width, channel], label), one function for all trials."""

    def loss(shared, local, example):
        del local  # one model for all
        inputs, label = example
        logits = module.apply({"params": shared}, inputs.astype(jnp.float32)[None])
        return cross_entropy(logits, label[None])[0]

    return loss


def accuracy(params, task: Task) -> dict:
    """Return the share of test pictures with the right class, in [0, 1], and their mean cross-entropy; NaN where a
    parameter or the loss is not finite. For a network per client (`Personal`), both are means over the clients.
    """
    measured = accuracy_by_class(params, task)
    return {name: measured[name] for name in ("test_accuracy", "test_loss")}


def accuracy_by_class(params, task: Task) -> dict:
    """Return the metrics of `accuracy`, and those of clients whose test pictures have the classes of their own.

    A client meets pictures of a class as often as the class is among its training pictures: its accuracy is that on
    the test pictures of every class, weighted by these shares. That is exact, where a sample of test pictures for every
    client would add its own noise.

    Returns:
        test_accuracy, test_loss: as in `accuracy`, all clients on the same test pictures.
        local_test_accuracy: the mean over clients of the accuracy on their own classes. All clients have equally many
            pictures, so this is also the accuracy of all their pictures together.
    """
    labels = task.evaluation["test"][1]
    counts = jnp.bincount(labels, length=NUM_CLASSES).astype(jnp.float32)
    shares = _shares(task)

    def measure(model) -> tuple[Array, Array, Array]:
        """Return the accuracy of each class, [class], the share of hits, and the loss; NaN where not finite."""
        hits, losses = _tested(model, task)
        loss = jnp.mean(losses)
        right = jax.ops.segment_sum(hits.ravel().astype(jnp.float32), labels, num_segments=NUM_CLASSES)
        # A class without a test picture is one that nobody can be tested on.
        of_class = jnp.where(counts > 0, right / jnp.maximum(counts, 1.0), jnp.nan)
        values = of_class, jnp.mean(hits, dtype=jnp.float32), loss
        finite = jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves((loss, model))]).all()
        return jax.tree.map(lambda value: jnp.where(finite, value, jnp.nan), values)

    def on_own(of_class: Array) -> Array:
        """Return the mean over clients of accuracies [client, class] or [class], weighted by their classes."""
        of_class = jnp.broadcast_to(of_class, shares.shape)
        return jnp.mean(jnp.sum(jnp.where(shares > 0, shares * of_class, 0.0), axis=1))

    if isinstance(params, Personal):
        of_class, hits, loss = jax.lax.map(measure, params.theta)
    else:
        of_class, hits, loss = measure(params)
    return {
        "test_accuracy": jnp.mean(hits),
        "test_loss": jnp.mean(loss),
        "local_test_accuracy": on_own(of_class),
    }


def _shares(task: Task) -> Array:
    """Return the share of every class among the clients' training pictures, [client, class]."""
    return jnp.mean(jax.nn.one_hot(task.need(Network).pool[1][task.train], NUM_CLASSES), axis=1)


def largest_weight(task: Task) -> float:
    """Return the weight of the test picture that counts most in the mean of local_test_accuracy over clients, where the
    mean weight of a picture is 1."""
    of_class = np.bincount(np.asarray(task.evaluation["test"][1]), minlength=NUM_CLASSES)
    mean_shares = np.asarray(_shares(task), float).mean(0)
    return float(np.max(mean_shares[of_class > 0] * of_class.sum() / of_class[of_class > 0]))


def _tested(params, task: Task) -> tuple[Array, Array]:
    """Return whether each test picture gets the right class, and its cross-entropy, [chunk, picture]."""
    inputs, labels = task.evaluation["test"]
    size = math.gcd(len(labels), by_platform(*TESTED_TOGETHER))
    chunks = (leaf.reshape(-1, size, *leaf.shape[1:]) for leaf in (inputs, labels))
    module = task.need(Network).module
    logits_of = in_turn(lambda params, inputs: module.apply({"params": params}, inputs.astype(jnp.float32)))

    def of_chunk(chunk):
        inputs, labels = chunk
        logits = logits_of(params, inputs)
        return jnp.argmax(logits, -1) == labels, cross_entropy(logits, labels)

    return jax.lax.map(of_chunk, tuple(chunks))


def _constants(dataset: str, features: str, normalisation: str) -> tuple[list[float], list[float]]:
    """Return the mean and deviation of each colour."""
    check_name("normalisation", normalisation, PICTURES)
    constants = PICTURES[normalisation].normalisation
    fits = len(constants[0]) == len(PICTURES[dataset].normalisation[0])
    if normalisation != dataset and not (fits and features == "pixels"):
        raise InputError(f"normalisation = {normalisation} does not fit {features} of {dataset}: leave it out.")
    return constants


def _examples(dataset: str, features: str, constants, data_files: DataFiles) -> tuple[LocalCopy, list[Array]]:
    """Return the files, and training inputs and labels, test inputs and labels made from them."""
    copy = _copy(dataset, data_files)
    keys = [(dataset, copy.checksum, features, repr(constants), index) for index in range(4)]
    arrays = [array for array in map(_in_use.get, keys) if array is not None]
    if len(arrays) < len(keys):
        arrays = _load(dataset, features, copy, constants)
        _in_use.update(zip(keys, arrays, strict=True))
    return copy, arrays


@cache
def _copy(dataset: str, data_files: DataFiles) -> LocalCopy:
    return retrieval.get(dataset, data_files)


def _load(dataset: str, features: str, copy: LocalCopy, constants) -> list[Array]:
    raw = PICTURES[dataset].read(copy)
    if features == "scattering":
        pictures = np.concatenate([raw["train_images"], raw["test_images"]])
        # On a CPU device_put uses the mapped file itself, so processes share it and it needs no further memory.
        inputs = np.split(scattering.features(dataset, pictures, copy.checksum), [len(raw["train_labels"])])
    else:
        inputs = [_pixels(raw[f"{split}_images"], constants) for split in ("train", "test")]
    labels = [raw[f"{split}_labels"].astype(np.int32) for split in ("train", "test")]
    return [jax.device_put(array) for array in (inputs[0], labels[0], inputs[1], labels[1])]


def _pixels(pictures: np.ndarray, constants) -> np.ndarray:
    """Return the normalised pixels, float32 [image, height, width, colour]."""
    mean, deviation = (np.array(values, np.float32) for values in constants)
    return (pictures.reshape(*pictures.shape[:3], -1) / np.float32(255) - mean) / deviation
