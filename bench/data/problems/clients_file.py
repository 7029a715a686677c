"""A user's own data by client, from one npz file."""

import hashlib
import zipfile
import zlib
from functools import cache
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from bench.data.partition import by_label, hold_out, pack
from bench.data.problems import digits
from bench.data.task import Task
from bench.errors import InputError
from bench.models.additive import squared_loss

NEEDED = ("inputs", "targets", "clients")
TEST, VALIDATION = 0.2, 0.1  # shares of each client's examples


@cache
def _read(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, str]:
    """Inputs [example, feature], classes [example], clients [example], checksum."""
    if not path.is_file():
        raise InputError(f"{path} is not a file: give one that numpy.savez wrote")
    try:
        with np.load(path, allow_pickle=False) as file:
            missing = [name for name in NEEDED if name not in file]
            if missing:
                raise InputError(f"{path} has no array {missing[0]!r}: it needs {', '.join(NEEDED)}")
            inputs, targets, clients = (file[name] for name in NEEDED)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        if isinstance(error, InputError):
            raise
        if isinstance(error, PermissionError):
            raise InputError(f"{path} cannot be read (no permission): make it readable") from None
        raise InputError(f"{path} is no npz of plain arrays: write it with numpy.savez, without objects") from error
    for wrong, what in (
        (inputs.ndim != 2, f"inputs are {inputs.shape}: one row of features an example"),
        (targets.shape != inputs.shape[:1], f"targets are {targets.shape}: one class an example"),
        (clients.shape != inputs.shape[:1], f"clients are {clients.shape}: one client an example"),
    ):
        if wrong:
            raise InputError(f"{path}: {what} is needed")
    if not inputs.size:
        raise InputError(f"{path}: inputs are {inputs.shape}: examples with at least one feature are needed")
    if np.issubdtype(clients.dtype, np.inexact) and not np.isfinite(clients).all():
        raise InputError(f"{path}: clients has values that are no numbers: give each example the name of its client")
    if not np.issubdtype(targets.dtype, np.integer) or targets.min() < 0:
        raise InputError(f"{path}: targets are {targets.dtype}: give classes, whole numbers from 0")
    real = np.issubdtype(inputs.dtype, np.integer) or np.issubdtype(inputs.dtype, np.floating)
    if not real or not np.isfinite(inputs).all():
        raise InputError(f"{path}: inputs are {inputs.dtype}: give finite real numbers")
    classes = np.unique(targets)
    if len(classes) < 2 or classes[-1] != len(classes) - 1:
        raise InputError(
            f"{path}: {len(classes)} classes up to {classes[-1]}: number at least two, from 0 without a gap"
        )
    digest = hashlib.blake2b(b"".join(np.ascontiguousarray(a).tobytes() for a in (inputs, targets, clients)))
    return inputs.astype(np.float32), targets.astype(np.int64), clients, digest.hexdigest()[:12]


def clients_file(trial: int, *, path: str | Path) -> Task:
    """Linear classification, one-versus-all as for digits, of a user's own examples by client.

    Of each client's examples, shuffled by the trial, 20 % are for the test, 10 % to tune on, the others to train on.

    Args:
        trial: which split.
        path: an npz file with inputs (numbers [example, feature], best in the range of 0 to 1; add a column of ones
            for a bias), targets (classes from 0, [example]) and clients (whatever names or numbers, [example]).

    Raises:
        InputError: a file that is none, or a client with fewer than five examples.
    """
    path = Path(path)
    inputs, classes, clients, checksum = _read(path)
    num_classes = int(classes.max()) + 1
    _, numbers = np.unique(clients, return_inverse=True)
    rng = np.random.default_rng([trial, 0x0F11E])
    parts: dict[str, list] = {"train": [], "validation": [], "test": []}
    for members in by_label(numbers.ravel()):
        if len(members) < 5:
            raise InputError(f"{path}: client {clients[members[0]]} has {len(members)} examples: five at least")
        rest, test = hold_out(members, TEST, rng)
        train, validation = hold_out(rest, VALIDATION / (1 - TEST), rng)
        for part, chosen in (("train", train), ("validation", validation), ("test", test)):
            parts[part].append(chosen)

    def stack(part: str):
        listed = parts[part]
        sizes = jnp.asarray([len(rows) for rows in listed], jnp.int32)
        packed = (jnp.asarray(pack([array[rows] for rows in listed])) for array in (inputs, classes.astype(np.int32)))
        return (*packed, sizes)

    features, labels, sizes = stack("train")
    return Task(
        init_params=jnp.zeros((num_classes, inputs.shape[1])),
        num_examples=sizes,
        train=(features, jax.nn.one_hot(labels, num_classes) - 1 / num_classes),
        evaluation={part: stack(part) for part in ("test", "validation")},
        gram=jnp.einsum("nid,njd->nij", features, features, precision="highest"),
        loss=squared_loss,
        metrics=digits.accuracy,
        name=path.name,
        source=f"{path.name}, {len(sizes)} clients",
        checksum=checksum,
    )
