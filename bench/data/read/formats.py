"""The canonical files of each data set as arrays, in the files' own order."""

import io
import zlib
from pathlib import Path

import numpy as np

from bench.data.dataset import LocalCopy
from bench.data.decode import plain
from bench.errors import InputError

IDX_TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
CIFAR_ROW = 1 + 3 * 32 * 32  # one label, then the red, the green and the blue plane
QMNIST_TEST = 10_000  # rows 0..9999 of the 60,000 QMNIST test rows are the MNIST test set
WRITER_COLUMN = 2  # class, NIST series, writer, digit index, NIST class code, global index, 2 unused


def load_idx(path: Path) -> np.ndarray:
    """Return the array in an idx file, plain or gzipped, in the byte order of this machine.

    Args:
        path: the file: two zero bytes, a type byte, the number of axes, their lengths, then the values.

    Raises:
        InputError: the file cannot be read, or is not a complete idx file.

    Source: the format as described by LeCun, Cortes and Burges with the MNIST database.
    """
    data = content(path)
    if len(data) < 4 or data[:2] != b"\0\0" or data[2] not in IDX_TYPES:
        raise InputError(f"{path}: not an idx file: replace it.")
    ndim, dtype = data[3], np.dtype(IDX_TYPES[data[2]])
    start = 4 + 4 * ndim
    shape = tuple(int(n) for n in np.frombuffer(data[4:start], ">u4"))
    if len(shape) < ndim or len(data) != start + int(np.prod(shape)) * dtype.itemsize:
        raise InputError(f"{path}: its length does not fit its idx header: the file is cut, replace it.")
    return np.frombuffer(data, dtype, offset=start).reshape(shape).astype(dtype.newbyteorder("="))


def mnist(copy: LocalCopy) -> dict[str, np.ndarray]:
    """Return MNIST or Fashion-MNIST, which share one format, in the original order.

    Args:
        copy: the four idx files.

    Returns:
        train_images uint8 [60000, 28, 28] (0 is the background), train_labels uint8 [60000],
        test_images uint8 [10000, 28, 28], test_labels uint8 [10000].
    """
    return {
        f"{split}_{kind}s": load_idx(copy.files[f"{prefix}-{kind}s-idx{ndim}-ubyte"])
        for split, prefix in (("train", "train"), ("test", "t10k"))
        for kind, ndim in (("image", 3), ("label", 1))
    }


def cifar10(copy: LocalCopy) -> dict[str, np.ndarray]:
    """Return CIFAR-10 in the order of its binary version: batches 1 to 5, then the test batch.

    Args:
        copy: the six files of the binary version.

    Returns:
        train_images uint8 [50000, 32, 32, 3] (row, column, colour), train_labels uint8 [50000],
        test_images uint8 [10000, 32, 32, 3], test_labels uint8 [10000].

    Raises:
        InputError: a file cannot be read, or is no whole number of rows.
    """
    names = [f"data_batch_{batch}.bin" for batch in range(1, 6)]
    arrays = {}
    for split, files in (("train", names), ("test", ["test_batch.bin"])):
        rows = np.concatenate([_cifar_rows(copy.files[name]) for name in files])
        planes = rows[:, 1:].reshape(-1, 3, 32, 32)
        arrays[f"{split}_images"] = np.ascontiguousarray(planes.transpose(0, 2, 3, 1))
        arrays[f"{split}_labels"] = rows[:, 0].copy()
    return arrays


def movielens(copy: LocalCopy) -> np.ndarray:
    """Return the ratings of MovieLens-100K, in the file's order.

    Args:
        copy: the file u.data.

    Returns:
        int64 [100000, 4]: user (from 1), film (from 1), rating (1 to 5), seconds since 1970.

    Raises:
        InputError: the file cannot be read, or is not four columns of integers.
    """
    path = copy.files["u.data"]
    try:
        return np.loadtxt(io.BytesIO(content(path)), dtype=np.int64, delimiter="\t", ndmin=2).reshape(-1, 4)
    except ValueError:
        raise InputError(f"{path}: not four tab-separated columns of integers: replace it.") from None


def qmnist_writers(copy: LocalCopy) -> tuple[np.ndarray, np.ndarray]:
    """Return the writer of each digit of MNIST, as NIST's writer numbers in the order of MNIST.

    Args:
        copy: the two QMNIST label files.

    Returns:
        int32 [60000] for the training images, int32 [10000] for the test images.

    Source: Yadav and Bottou, Cold Case: the Lost MNIST Digits, NeurIPS 2019.
    """
    train, test = (load_idx(copy.files[f"qmnist-{split}-labels-idx2-int"]) for split in ("train", "test"))
    return train[:, WRITER_COLUMN].copy(), test[:QMNIST_TEST, WRITER_COLUMN].copy()


def content(path: Path) -> bytes:
    """Return the bytes of a file, gunzipped where they are gzipped.

    Raises:
        InputError: it cannot be read.
    """
    try:
        return plain(path.name, path.read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or "damaged gzip file"
        raise InputError(f"{path}: {reason}: replace it or make it readable.") from None


def _cifar_rows(path: Path) -> np.ndarray:
    data = content(path)
    if not data or len(data) % CIFAR_ROW:
        raise InputError(f"{path}: not a whole number of CIFAR-10 rows of {CIFAR_ROW} bytes: replace it.")
    return np.frombuffer(data, np.uint8).reshape(-1, CIFAR_ROW)
