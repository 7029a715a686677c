"""A data set that tensorflow_datasets has prepared before: read without TensorFlow, never downloaded.

It shuffles as it prepares, but by a fixed rule: examples are sorted by a hash of the split's name and the
example's index. Sorting the indices by the same hash gives the original order back, so the canonical bytes
can be rebuilt and checked like those of any other source.
"""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from bench.data.fetch.dataset import Contents, Report, Unavailable
from bench.data.fetch.decode import cifar_binary, idx_bytes
from bench.data.fetch.sources import DATASETS

Rows = list[dict]
BATCH = 10_000  # pictures in a file of CIFAR-10
SOURCE = "tensorflow_datasets"


def folder(name: str) -> Path | None:
    """Where a prepared version lies: under TFDS_DATA_DIR, or tensorflow_datasets in the home folder."""
    if not DATASETS[name].prepared:
        return None
    root = Path(os.environ.get("TFDS_DATA_DIR") or "~/tensorflow_datasets").expanduser()
    versions = sorted((root / DATASETS[name].prepared).glob("*.*.*/dataset_info.json"))
    return versions[-1].parent if versions else None


def contents(name: str, report: Report) -> Contents:
    """The canonical files, rebuilt from the prepared examples.

    Args:
        name: the data set.
        report: is told in words how far it is.

    Returns:
        an iterator over canonical names and their bytes, not yet checked.

    Raises:
        Unavailable: it is not there, or in a form that only TensorFlow reads.
    """
    where = folder(name)
    if where is None:
        raise Unavailable("not prepared")
    try:
        import tensorflow_datasets as tfds
        from tensorflow_datasets.core import hashing

        builder = tfds.builder_from_directory(where)

        def split(of: str) -> Rows:
            report(f"{SOURCE}: reading {of}")
            shuffled = builder.as_data_source(of)  # pyright: ignore[reportCallIssue]
            order = sorted(range(len(shuffled)), key=hashing.Hasher(of).hash_key)
            return [row for _, row in sorted(zip(order, shuffled, strict=True), key=lambda pair: pair[0])]

        yield from REBUILD[name](split)
    except NotImplementedError:
        raise Unavailable(f"{where} is not in the form array_record, the one read without TensorFlow") from None
    except Exception as error:  # a foreign library on a foreign folder; the next source is tried
        raise Unavailable(f"{where} cannot be read ({type(error).__name__})") from None


def _idx(split: Callable[[str], Rows]) -> Contents:
    for of, prefix in (("train", "train"), ("test", "t10k")):
        rows = split(of)
        yield f"{prefix}-images-idx3-ubyte", idx_bytes(np.stack([row["image"][..., 0] for row in rows]))
        yield f"{prefix}-labels-idx1-ubyte", idx_bytes(np.stack([row["label"] for row in rows]))


def _cifar(split: Callable[[str], Rows]) -> Contents:
    for of, prefix in (("train", "data_batch"), ("test", "test_batch")):
        rows = split(of)
        for start in range(0, len(rows), BATCH):
            batch = rows[start : start + BATCH]
            data = cifar_binary(np.stack([row["image"] for row in batch]), np.stack([row["label"] for row in batch]))
            yield f"{prefix}_{start // BATCH + 1}.bin" if of == "train" else f"{prefix}.bin", data


def _movielens(split: Callable[[str], Rows]) -> Contents:
    fields = ("user_id", "movie_id", "user_rating", "timestamp")
    rows = [[int(row[field]) for field in fields] for row in split("train")]
    yield "u.data", "".join("\t".join(map(str, row)) + "\n" for row in rows).encode()


REBUILD = {"mnist": _idx, "fashion_mnist": _idx, "cifar10": _cifar, "movielens_100k": _movielens}
