"""Handwritten digits by client, from three data sets with one interface.

- `emnist_digits`: federated EMNIST digits from the TensorFlow Federated file, as in Bietti et al. 2022;
- `mnist_by_writer`: MNIST with the writer ids of QMNIST, 836 real writers;
- `mnist_by_style`: MNIST distributed to 1,000 pseudo-writers by slant and stroke width, without writer ids.

Each gives a one-versus-all problem: 784 pixels in the convention of the federated file (background 1, ink towards 0,
no bias), targets 0.9 for the class and -0.1 for the others; linear, or with the convolutional network of
`bench.models.digits_cnn`.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bench.data.dataset import LocalCopy
from bench.data.fetch import retrieval
from bench.data.files import DataFiles
from bench.data.partition import by_label, by_style, hold_out, stack
from bench.data.read import emnist, formats
from bench.data.task import Task, joint_checksum
from bench.data.tasks.by_network import network_task
from bench.data.tasks.by_user import accuracies, by_client, or_nan
from bench.errors import check_name
from bench.kernels.platforms import by_platform, in_turn
from bench.models import digits_cnn
from bench.models.additive import scores, squared_loss

NUM_CLASSES = 10
MODELS = ("linear", "cnn", "network")
CNN_SEED = 42  # seed of the network's initial weights, the same in all runs, as in the authors' program


class Digits(NamedTuple):
    """Images by client: a list per split of (pixels float32 [example, 784], labels int [example])."""

    train: list
    test: list


def style(images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the slant and stroke width of each image, from its ink.

    Slant is the horizontal shift per row, the covariance of column and row over the variance of row, both
    weighted by ink. Stroke width, in pixels, is twice the ink's area over the length of its edge.

    Args:
        images: uint8 [example, row, column], ink bright.
    """
    ink = images.astype(np.float32) / 255
    mass = ink.sum((1, 2))
    rows, columns = np.arange(images.shape[1]), np.arange(images.shape[2])
    row_mean = (ink.sum(2) @ rows) / mass
    column_mean = (ink.sum(1) @ columns) / mass
    variance = (ink.sum(2) @ rows**2) / mass - row_mean**2
    covariance = np.einsum("nrc,r,c->n", ink, rows, columns, optimize=True) / mass - row_mean * column_mean
    edge = np.abs(np.diff(ink, axis=1)).sum((1, 2)) + np.abs(np.diff(ink, axis=2)).sum((1, 2))
    return covariance / np.maximum(variance, 1e-6), 2 * mass / np.maximum(edge, 1e-6)


@cache
def mnist(data_files: DataFiles) -> tuple[np.ndarray, np.ndarray, LocalCopy]:
    """Return MNIST's training and then its test images, uint8 [70000, 28, 28], their classes [70000], and the files."""
    copy = retrieval.get("mnist", data_files)
    arrays = formats.mnist(copy)
    images = np.concatenate([arrays["train_images"], arrays["test_images"]])
    return images, np.concatenate([arrays["train_labels"], arrays["test_labels"]]), copy


def _deal(images: np.ndarray, labels: np.ndarray, groups: list[np.ndarray], trial: int, test_fraction: float) -> Digits:
    """Return images by client, each client's shuffled by the trial and split into training and test."""
    pixels = 1 - images.reshape(len(images), -1).astype(np.float32) / 255
    rng = np.random.default_rng([trial, 0xD161])
    halves = zip(*(hold_out(members, test_fraction, rng) for members in groups), strict=True)
    return Digits(*([(pixels[rows], labels[rows]) for rows in half] for half in halves))


def digit_task(digits: Digits, *, model: str, batch_size: int, name: str, **origin: Any) -> Task:
    """Return the additive problem on digits by client.

    The published loop cuts a client's examples into blocks of `batch_size` and never uses the remainder. Here
    that remainder is the validation set, so tuning on held-out data takes nothing from the training set.

    Args:
        digits: images by client.
        model: "linear", "cnn" (both with the squared loss of one class against the others), or "network" (the same
            convolutional network with the cross-entropy of its logits).
        batch_size: m; a client's last n mod m training examples become validation examples.
        name, origin: name, source and checksum.
    """
    check_name("model", model, MODELS)
    used = [len(labels) // batch_size * batch_size for _, labels in digits.train]
    train = [(x[:n], y[:n]) for (x, y), n in zip(digits.train, used, strict=True)]
    validation = [(x[n:], y[n:]) for (x, y), n in zip(digits.train, used, strict=True)]
    examples = {"train": train, "test": digits.test, "validation": validation}
    if model == "network":
        fixed: dict[str, Any] = {"module": digits_cnn.Classifier(), "head": ("head",), "seed": CNN_SEED}
        return network_task(examples, name=f"{name}_network", **fixed, **origin)
    return (linear_task if model == "linear" else _cnn)(examples, name=name, **origin)


def linear_task(
    examples: dict[str, list],
    *,
    num_classes: int = NUM_CLASSES,
    dual: bool = True,
    metrics: Callable | None = None,
    **origin: Any,
) -> Task:
    """Return the linear problem of one class against the others.

    Args:
        examples: "train", "test" and "validation" -> inputs [example, feature] and classes [example] of every client.
        num_classes: 0 for regression, where the classes are numbers to predict.
        dual: whether methods compute with the inner products of a client's inputs.
        metrics: default `accuracy`.
        origin: name, source and checksum.
    """
    kind = np.int32 if num_classes else np.float32
    stacked = {split: stack([(x, y.astype(kind)) for x, y in clients]) for split, clients in examples.items()}
    inputs, labels, sizes = stacked.pop("train")
    targets = jax.nn.one_hot(labels, num_classes) - 1 / num_classes if num_classes else labels[..., None]
    return Task(
        init_params=jnp.zeros((targets.shape[-1], inputs.shape[-1])),
        num_examples=sizes,
        train=(inputs, targets),
        evaluation=stacked,
        gram=jnp.einsum("nid,njd->nij", inputs, inputs, precision="highest") if dual else None,
        loss=squared_loss,
        metrics=metrics or accuracy,
        **origin,
    )


def _cnn(examples: dict[str, list], **origin: Any) -> Task:
    def listed(clients):
        pixels, labels = (np.concatenate(leaves) for leaves in zip(*clients, strict=True))
        client = np.repeat(np.arange(len(clients)), [len(y) for _, y in clients])
        return jnp.asarray(pixels), jnp.asarray(labels, jnp.int32), jnp.asarray(client, jnp.int32)

    pixels, labels, sizes = stack(examples["train"])
    return Task(
        init_params=digits_cnn.initial_parameters(jax.random.key(CNN_SEED)),
        init_local=jnp.zeros((digits_cnn.FEATURES, NUM_CLASSES)),
        num_examples=sizes,
        train=(pixels, jax.nn.one_hot(labels.astype(jnp.int32), NUM_CLASSES) - 0.1),
        evaluation={split: listed(examples[split]) for split in ("test", "validation")},
        loss=digits_cnn.mean_squared_loss,
        metrics=cnn_accuracy,
        **origin,
    )


EVALUATED_TOGETHER = 10, 500  # images that pass through the network at once, on a CPU and on an accelerator


def accuracy(params, task: Task) -> dict:
    """Return test and held-out accuracy of all examples together and by user (`bench.data.tasks.by_user`)."""
    return accuracies(_hits, params, task)


def test_hits(params, task: Task) -> tuple[jax.Array, jax.Array]:
    """Return right answers on test examples, NaN where the model is not finite, and numbers of examples, [user]."""
    return or_nan(*_hits(params, task, "test"))


def _hits(params, task: Task, split: str) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return right answers and examples of each user, [user], and whether all predictions are finite."""
    pixels, labels, sizes = task.evaluation[split]
    predictions = scores(params, pixels, task.train[0])
    real = jnp.arange(labels.shape[1])[None] < sizes[:, None]
    hits = jnp.sum(real & (jnp.argmax(predictions, axis=-1) == labels), axis=1)
    return hits, sizes, jnp.all(jnp.isfinite(predictions))


def cnn_accuracy(params, task: Task) -> dict:
    """Return `accuracy` of the network: params with its shared weights as w, and theta [client, feature, output]."""

    def hits_in_batches_of(size, w, theta, examples):
        def of_one(example):
            pixels, label, client = example
            (phi,) = digits_cnn.features(w, pixels[None])
            predictions = phi @ (w["head"] + theta[client])
            return jnp.argmax(predictions) == label, jnp.all(jnp.isfinite(predictions))

        return jax.lax.map(of_one, examples, batch_size=size)

    in_batches = in_turn(partial(hits_in_batches_of, by_platform(*EVALUATED_TOGETHER)))

    def hits_of(params, task, split):
        hits, finite = in_batches(params.w, params.theta, task.evaluation[split])
        return *by_client(hits, jnp.ones_like(hits), task.evaluation[split][2], task.num_clients), jnp.all(finite)

    return accuracies(hits_of, params, task)


def mnist_by_writer(trial: int, *, batch_size: int = 10, test_fraction: float = 0.1, model: str = "linear") -> Task:
    """MNIST's 70,000 images by the 836 people who wrote them, about 84 each.

    Args:
        trial: the number of the split of each writer's images.
        batch_size: see `digit_task`.
        test_fraction: share of each writer's images for the test.
        model: "linear", "cnn" or "network", see `digit_task`.
    """
    data_files = DataFiles()
    writers = retrieval.get("qmnist_writers", data_files)
    groups = by_label(np.concatenate(formats.qmnist_writers(writers)))
    images, labels, pictures = mnist(data_files)
    return digit_task(
        _deal(images, labels, groups, trial, test_fraction),
        name="mnist_by_writer",
        source=f"MNIST ({pictures.source}) by writer, ids of QMNIST ({writers.source})",
        checksum=joint_checksum(pictures.checksum, writers.checksum),
        batch_size=batch_size,
        model=model,
    )


def mnist_by_style(trial: int, *, batch_size: int = 10, test_fraction: float = 0.1, model: str = "linear") -> Task:
    """MNIST distributed to 1,000 pseudo-writers, 40 slants by 25 stroke widths, about 70 images each.

    Arguments as for `mnist_by_writer`.
    """
    images, labels, pictures = mnist(DataFiles())
    groups = by_label(by_style(*style(images), labels, (40, 25)))
    return digit_task(
        _deal(images, labels, groups, trial, test_fraction),
        name="mnist_by_style",
        source=f"MNIST ({pictures.source}) by slant and stroke width, no real writers",
        checksum=joint_checksum(pictures.checksum, "style 40 x 25"),
        batch_size=batch_size,
        model=model,
    )


def emnist_digits(trial: int, *, batch_size: int = 10, num_clients: int = 1000, model: str = "linear") -> Task:
    """The first 1,000 writers of federated EMNIST digits, in the file's order, with its own split in every
    trial.

    Args:
        trial: not used.
        batch_size: see `digit_task`.
        num_clients: number of the file's clients that are used.
        model: "linear", "cnn" or "network", see `digit_task`.
    """
    del trial
    copy = retrieval.get("federated_emnist")
    clients = emnist.federated_emnist(copy)[:num_clients]
    train = [(x.reshape(len(x), -1), y) for _, x, y, _, _ in clients]
    test = [(x.reshape(len(x), -1), y) for _, _, _, x, y in clients]
    return digit_task(
        Digits(train, test),
        name="emnist_digits",
        source=f"federated EMNIST ({copy.source})",
        checksum=copy.checksum,
        batch_size=batch_size,
        model=model,
    )
