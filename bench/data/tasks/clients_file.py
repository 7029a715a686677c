"""A user's own data by client: one npz file of arrays, or tables as CSV or Parquet."""

import hashlib
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import psutil

from bench.data.partition import TEST, VALIDATION, by_label, three_splits
from bench.data.read.arrays import read_arrays
from bench.data.read.tables import CLIENT, EXACT, LABEL, Clients, client_table, distinct
from bench.data.task import Task, joint_checksum
from bench.data.tasks import digits
from bench.data.tasks.by_network import network_task
from bench.data.tasks.by_user import WORST
from bench.errors import InputError, cut, shown
from bench.models.additive import scores
from bench.models.logits import apply_of

NEEDED = ("inputs", "targets", "clients")
LARGEST = float(np.finfo(np.float32).max)
FEWEST = 5  # examples of a client
BYTES_EACH = 24  # of memory, to check and divide a number: as it is, as float64 twice, and as float32
HEAD, SEED = "head", 0  # the layer of a network that is its head, and the seed of its initial parameters


@cache
def _read(path: Path, network: bool = False) -> Clients:
    """Return the examples of an npz file.

    For a network, inputs are [example, ...], and whole numbers stay what they are.
    """
    remedy = "write it with numpy.savez, without objects"
    found = read_arrays(path, str(path), remedy, bytes_each=BYTES_EACH, only=NEEDED)
    for name in NEEDED:
        if name not in found:
            raise InputError(f"{path} has no array {name!r}: it needs {', '.join(NEEDED)}")
    inputs, targets, clients = (found[name] for name in NEEDED)
    if not (inputs.ndim == 2 or (network and inputs.ndim > 2)) or not inputs.size:
        raise InputError(
            f"{path}: inputs are {inputs.shape}: give one row of features for each example, or a network for inputs of "
            "another shape (docs/adding-a-network.md)"
        )
    for name, array in (("targets", targets), ("clients", clients)):
        if array.shape != inputs.shape[:1]:
            raise InputError(f"{path}: {name} are {array.shape} for inputs {inputs.shape}: give one for each example")
    if clients.dtype.kind not in "biufSU":
        raise InputError(f"{path}: clients are {clients.dtype}: give names or whole numbers")
    if clients.dtype.kind == "f":
        exact = np.abs(clients) <= 2.0 ** (np.finfo(clients.dtype).nmant + 1)  # False for NaN
        if not exact.all():
            row = int(np.argmin(exact))
            raise InputError(f"{path}: clients has {clients[row]} at index {row}, which may be rounded: {EXACT}")
    classes = np.unique(targets)
    if targets.dtype.kind not in "iu" or len(classes) < 2 or (classes != np.arange(len(classes))).any():
        raise InputError(
            f"{path}: targets are {targets.dtype} with the values {shown(classes.tolist())}: number classes from 0 "
            "without a gap, at least two"
        )
    if inputs.dtype.kind not in "iuf":
        raise InputError(f"{path}: inputs are {inputs.dtype}: give finite real numbers")
    wrong = ~(np.abs(inputs.astype(np.float64)) <= LARGEST)
    if wrong.any():
        place = tuple(np.argwhere(wrong)[0].tolist())
        raise InputError(
            f"{path}: inputs has {inputs[place]} at index {place}: give finite numbers of at most {LARGEST:.2g}"
        )
    distinct(path, "clients", map(str, np.unique(clients)))
    digest = hashlib.blake2b(b"".join(np.ascontiguousarray(a).tobytes() for a in (inputs, targets, clients)))
    stays_whole = network and inputs.dtype.kind in "iu" and np.abs(inputs.astype(np.float64)).max() < 2**31
    inputs = inputs.astype(np.int32 if stays_whole else np.float32)
    return Clients(inputs, targets.astype(np.int64), clients, digest.hexdigest()[:12])


def read_clients(
    path: Path,
    *,
    client: str = CLIENT,
    label: str = LABEL,
    regression: bool = False,
    network: bool = False,
    drop_small: bool = False,
) -> Clients:
    """Return the examples of a file; arguments as of `clients_file`."""
    examples = _read(path, network) if path.suffix == ".npz" else client_table(path, client, label, regression)
    _, numbers, counts = np.unique(examples.clients, return_inverse=True, return_counts=True)
    large = counts[numbers] >= FEWEST
    if not drop_small or large.all():
        return examples
    arrays = (examples.inputs[large], examples.targets[large], examples.clients[large])
    return Clients(*arrays, f"{examples.checksum}, {FEWEST} at least", examples.features)


def dual_pays(examples: Clients) -> bool:
    """Return whether the inner products of each client's examples are fewer numbers than the examples."""
    return examples.sizes.max() <= examples.inputs.shape[1]


def num_train(num_examples: int) -> int:
    """Return the number of a client's examples that are for training."""
    remaining = num_examples - max(1, round(TEST * num_examples))
    return int(remaining - max(1, round(VALIDATION / (1 - TEST) * remaining)))


def described(examples: Clients, path: Path) -> list[str]:
    """Return a description of a file in a sentence, and a second sentence where an example occurs twice."""
    columns = (
        f"features {cut(', '.join(examples.features))}"
        if examples.features
        else f"inputs of {examples.inputs.shape[1:]}"
    )
    counts = examples.sizes
    size = f"{counts.min():,} to {counts.max():,}" if counts.min() < counts.max() else f"{counts.max():,}"
    lines = [f"{path}: {columns}; {len(counts):,} clients with {size} examples each"]
    rows = pd.Series([x.tobytes() + y.tobytes() for x, y in zip(examples.inputs, examples.targets, strict=True)])
    if repeated := int(rows.duplicated().sum()):
        lines.append(f"{path}: {repeated:,} examples are repetitions of others, so the test may have training examples")
    return lines


def clients_file(
    trial: int,
    *,
    path: str | Path,
    client: str = CLIENT,
    label: str = LABEL,
    regression: bool = False,
    drop_small: bool = False,
) -> Task:
    """Linear classification, one-versus-all as for digits, or regression, of a user's own examples by client.

    The trial shuffles each client's examples; 20 % are for testing, 10 % for tuning and the rest for training.

    Args:
        trial: the number of the split.
        path: an npz file with inputs (numbers [example, feature], best in the range of 0 to 1; add a column of ones
            for a bias), targets (classes from 0, [example]) and clients (any names or numbers, [example]); or a CSV or
            Parquet file with one example per row; or a folder of such files with the same columns.
        client: the column with the owner of each example.
        label: the column of classes, whole numbers or words; of numbers to predict with `regression`. All other columns
            are features, in their order.
        regression: predict the label as a number, by least squares.
        drop_small: leave out clients with fewer than five examples.

    Raises:
        InputError: an invalid file, a column that is missing or not numeric, fewer than two clients, a client with
            fewer than five examples, or one with so many that the arrays do not fit into memory.
    """
    path = Path(path)
    data = read_clients(path, client=client, label=label, regression=regression, drop_small=drop_small)
    num_classes = 0 if regression else int(data.targets.max()) + 1
    examples = _by_split(trial, path, data, data.inputs.shape[1] + (num_classes or 1))
    return digits.linear_task(
        examples,
        num_classes=num_classes,
        dual=dual_pays(data),
        metrics=squared_errors if regression else digits.accuracy,
        name=path.name,
        source=f"{path.name}, {len(examples['train'])} clients",
        checksum=data.checksum,
    )


def clients_with_network(
    trial: int,
    *,
    path: str | Path,
    module: nn.Module,
    code: str,
    client: str = CLIENT,
    label: str = LABEL,
    drop_small: bool = False,
) -> Task:
    """Classification of a user's own examples by client, by a network and its cross-entropy.

    Examples are split as in `clients_file`. Where the network has a layer called "head", that is its head.

    Args:
        trial: the number of the split.
        path: an npz file as for `clients_file`, but with inputs [example, ...] of any shape, of which whole numbers
            reach the network as int32; or a table.
        module: inputs [example, ...] -> logits [example, class].
        code: a digest of the network's code; results of another one are not mixed.
        client, label, drop_small: as for `clients_file`.

    Raises:
        InputError: as `clients_file`, for a network that does not fit, or one with fewer logits
            than classes.
    """
    path = Path(path)
    data = read_clients(path, client=client, label=label, network=True, drop_small=drop_small)
    examples = _by_split(trial, path, data, math.prod(data.inputs.shape[1:]))
    name, classes = type(module).__name__, int(data.targets.max()) + 1
    task = network_task(
        examples,
        module=module,
        seed=SEED,
        head=(HEAD,),
        optional_head=True,
        name=f"{path.name}_{name}",
        source=f"{path.name}, {len(examples['train'])} clients",
        checksum=joint_checksum(data.checksum, code),
    )
    logits = jax.eval_shape(apply_of(module), task.init_params, task.evaluation["common"][0]).shape[1]
    if logits < classes:
        raise InputError(f"network {name} gives {logits} logits, but {path} has {classes} classes: give as many")
    return task


def _by_split(trial: int, path: Path, data: Clients, width: int) -> dict[str, list]:
    """Return "train", "validation" and "test" -> inputs and targets of each client.

    Raises:
        InputError: where there are too few clients or examples, and where arrays [client, example, width] would not fit
            into memory, since all clients take as many places as the largest.
    """
    names, numbers, counts = np.unique(data.clients, return_inverse=True, return_counts=True)
    if len(names) < 2:
        raise InputError(f"{path}: all examples are of client {shown(str(names[0]))}: give at least two clients")
    if counts.min() < FEWEST:
        client = shown(str(names[counts.argmin()]))
        raise InputError(
            f"{path}: client {client} has {counts.min()} examples: five at least; FILE:drop_small=True leaves out such "
            "clients"
        )
    needed, total = 4 * len(names) * counts.max() * width, psutil.virtual_memory().total
    if needed > total / 4:
        client = shown(str(names[counts.argmax()]))
        raise InputError(
            f"{path}: client {client} has {counts.max():,} of {len(numbers):,} examples, and with as many places for "
            f"each client the data take {needed / 1e9:.3g} GB of {total / 1e9:.3g} GB: divide that client, or leave "
            "some of its examples out"
        )
    rng = np.random.default_rng([trial, 0x0F11E])
    rows = [three_splits(members, rng) for members in by_label(numbers)]
    return {split: [(data.inputs[of[split]], data.targets[of[split]]) for of in rows] for split in rows[0]}


ERRORS_BY_USER = ("test_squared_error_per_user", "test_squared_error_worst_tenth")


def squared_errors(params, task: Task) -> dict:
    """Return the mean of (prediction - label)^2 over all test and over all held-out examples, and for the test its mean
    over users and over the tenth of users with the largest error, rounded up to whole users.
    """
    return mean_squares(sums_of_squares, params, task)


def mean_squares(sums_of: Callable[..., tuple[jax.Array, jax.Array]], params, task: Task) -> dict:
    """Return the metrics of `squared_errors`.

    Args:
        sums_of: (params, task, split) -> sums of squares and numbers of examples, [user]; every user has examples.
    """
    out = {}
    for split in ("test", "validation"):
        of_user, sizes = sums_of(params, task, split)
        out[f"{split}_squared_error"] = jnp.sum(of_user) / jnp.sum(sizes).astype(jnp.float32)
        if split == "test":
            mean_of_user = of_user / sizes.astype(jnp.float32)
            worst, _ = jax.lax.top_k(mean_of_user, -(-len(mean_of_user) // WORST))
            out |= dict(zip(ERRORS_BY_USER, (jnp.mean(mean_of_user), jnp.mean(worst)), strict=True))
    return out


def sums_of_squares(params, task: Task, split: str = "test") -> tuple[jax.Array, jax.Array]:
    """Return the sum of (prediction - label)^2 over the examples of each user, and their number, [user]."""
    inputs, labels, sizes = task.evaluation[split]
    real = jnp.arange(labels.shape[1])[None] < sizes[:, None]
    errors = jnp.square(scores(params, inputs, task.train[0])[..., 0] - labels)
    return jnp.sum(jnp.where(real, errors, 0.0), axis=1), sizes
