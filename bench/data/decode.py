"""Decoders from the files of a source to the canonical files.

Decoders of packages map (canonical name, contents) to bytes. Those for data prepared by tensorflow_datasets map
(split -> its rows in the original order) to canonical names with their bytes.
"""

import gzip
import io
import json
from collections.abc import Callable, Iterator

import numpy as np

from bench.errors import InputError

Contents = Iterator[tuple[str, bytes]]  # canonical file names with their bytes
Rows = list[dict]  # of a split, as tensorflow_datasets gives them

MOST_BYTES = 2 * 10**9  # of a file that is unpacked
CIFAR_BATCH = 10_000  # pictures in a file of CIFAR-10


def plain(name: str, data: bytes) -> bytes:
    """Return the bytes as they are, decompressed if gzipped (no canonical form begins like gzip)."""
    if data[:2] != b"\x1f\x8b":
        return data
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise InputError(f"{name} unpacks to more than {MOST_BYTES / 1e9:.3g} GB: no data set here is so large")
    return content


def without_header(name: str, data: bytes) -> bytes:
    """Return all but the first line, for u.data as RecBole keeps it."""
    return data.split(b"\n", 1)[1]


def concatenated(name: str, *files: bytes) -> bytes:
    """Return the files one after the other, separated by line breaks."""
    return b"\n".join(files)


def cifar_from_png(name: str, image: bytes, labels: bytes) -> bytes:
    """Return a file of CIFAR-10's binary version from a PNG with one image per row of 1,024 pixels.

    Args:
        name: the canonical name, which determines the part of the labels that belongs to the batch.
        image: the PNG, [images, 1024] in RGB.
        labels: all labels of the split, a JSON list.
    """
    from PIL import Image

    pixels = np.asarray(Image.open(io.BytesIO(image)).convert("RGB"))  # [image, pixel, colour]
    batch = int(name[-len("1.bin")]) - 1 if name.startswith("data") else 0
    classes = np.asarray(json.loads(labels), np.uint8)[batch * CIFAR_BATCH :][: len(pixels)]
    return cifar_binary(pixels.reshape(-1, 32, 32, 3), classes)


def cifar_binary(images: np.ndarray, labels: np.ndarray) -> bytes:
    """Return images and labels in CIFAR-10's binary form.

    Args:
        images: uint8 [image, row, column, colour].
        labels: uint8 [image].
    """
    planes = images.transpose(0, 3, 1, 2).reshape(len(images), -1)
    return np.concatenate([labels[:, None], planes], axis=1).astype(np.uint8).tobytes()


def idx_bytes(array: np.ndarray) -> bytes:
    """Return an array of unsigned bytes as an idx file."""
    header = bytes([0, 0, 0x08, array.ndim]) + np.asarray(array.shape, ">u4").tobytes()
    return header + array.astype(np.uint8).tobytes()


def idx_of_rows(split: Callable[[str], Rows]) -> Contents:
    """Yield the four idx files of MNIST, or of Fashion-MNIST."""
    for name, prefix in (("train", "train"), ("test", "t10k")):
        rows = split(name)
        yield f"{prefix}-images-idx3-ubyte", idx_bytes(np.stack([row["image"][..., 0] for row in rows]))
        yield f"{prefix}-labels-idx1-ubyte", idx_bytes(np.stack([row["label"] for row in rows]))


def cifar_of_rows(split: Callable[[str], Rows]) -> Contents:
    """Yield the six files of CIFAR-10's binary version."""
    for name, prefix in (("train", "data_batch"), ("test", "test_batch")):
        rows = split(name)
        for start in range(0, len(rows), CIFAR_BATCH):
            batch = rows[start : start + CIFAR_BATCH]
            data = cifar_binary(np.stack([row["image"] for row in batch]), np.stack([row["label"] for row in batch]))
            yield f"{prefix}_{start // CIFAR_BATCH + 1}.bin" if name == "train" else f"{prefix}.bin", data


def movielens_of_rows(split: Callable[[str], Rows]) -> Contents:
    """Yield the file u.data of MovieLens-100K."""
    fields = ("user_id", "movie_id", "user_rating", "timestamp")
    rows = [[int(row[field]) for field in fields] for row in split("train")]
    yield "u.data", "".join("\t".join(map(str, row)) + "\n" for row in rows).encode()
