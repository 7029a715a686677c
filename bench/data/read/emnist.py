"""Federated EMNIST as TensorFlow Federated (TFF) distributes it, read without TensorFlow."""

import sqlite3
from collections import defaultdict
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from bench.data.dataset import LocalCopy
from bench.errors import InputError, cut, in_one_line

Client = tuple[str, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def federated_emnist(copy: LocalCopy) -> list[Client]:
    """Return the digits of federated EMNIST, client by client, clients in the order of their ids as in TFF.

    Args:
        copy: the two HDF5 files, or the one SQLite file.

    Returns:
        One tuple for each client: id, train pixels float32 [n, 28, 28], train labels int32 [n], test pixels, test
        labels; a pixel is 1 on the background and 0 on the ink.

    Raises:
        InputError: a file cannot be read or has another format.

    Source: Caldas et al., LEAF: A Benchmark for Federated Settings, 2018, as TFF distributes it.
    """
    paths = list(copy.files.values())
    read_splits = _hdf5_splits if len(paths) == 2 else _sqlite_splits
    try:
        train, test = read_splits(*paths)
    except (OSError, KeyError, IndexError, ValueError, sqlite3.Error) as error:
        names, reason = " and ".join(map(str, paths)), cut(in_one_line(error))
        raise InputError(f"{names}: not federated EMNIST as TFF distributes it ({reason}): replace it.") from None
    none = np.zeros((0, 28, 28), np.float32), np.zeros(0, np.int32)
    return [(client, *train.get(client, none), *test.get(client, none)) for client in sorted({*train, *test})]


Split = dict[str, tuple[np.ndarray, np.ndarray]]  # client -> pixels, labels


def _hdf5_splits(*paths: Path) -> list[Split]:
    import h5py

    splits = []
    for path in paths:
        with h5py.File(path) as file:
            groups = cast(h5py.Group, file["examples"]).items()
            splits.append({client: _images(group["pixels"][()], group["label"][()]) for client, group in groups})
    return splits


def _sqlite_splits(path: Path) -> list[Split]:
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
        splits = []
        for split in ("digits_only_train", "digits_only_test"):
            pixels, labels = defaultdict(list), defaultdict(list)  # of each client
            # The rows are read in the order in which they were written, whether or not there is an index.
            rows = database.execute(
                "SELECT client_id, serialized_example_proto FROM examples WHERE split_name = ? ORDER BY rowid",
                (split,),
            )
            for client, example in rows:
                features = parse_example(example)
                pixels[client].append(features["pixels"])
                labels[client].append(features["label"])
            splits.append({client: _images(pixels[client], labels[client]) for client in pixels})
        if not splits[0]:
            raise ValueError("no split is called digits_only_train")
        return splits


def _images(pixels: ArrayLike, labels: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    images, classes = np.reshape(pixels, (-1, 28, 28)).astype(np.float32), np.ravel(labels).astype(np.int32)
    if len(images) != len(classes):
        raise ValueError(f"{len(images)} images with {len(classes)} labels")
    return images, classes


def parse_example(data: bytes) -> dict[str, Sequence]:
    """Return the features of a serialized tf.train.Example: numbers, or byte strings.

    Raises:
        ValueError: the bytes are no such message.
    """
    from tensorflow_datasets.proto import tf_example_pb2

    try:
        example = tf_example_pb2.Example.FromString(data)  # pyright: ignore[reportAttributeAccessIssue]
    except Exception:  # of the protocol buffers, which are no dependency of their own
        raise ValueError("not a serialized example") from None
    kinds = {name: (feature, feature.WhichOneof("kind")) for name, feature in example.features.feature.items()}
    return {name: getattr(feature, kind).value for name, (feature, kind) in kinds.items() if kind}
