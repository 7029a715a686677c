"""The canonical files of each data set as arrays, in the files' own order.

What is in them has been checked by its md5 (`bench.data.fetch`), so it is not checked again.
"""

from pathlib import Path

import numpy as np

from bench.data.dataset import LocalCopy

IDX_TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
CIFAR_ROW = 1 + 3 * 32 * 32  # one label, then the red, the green and the blue plane
QMNIST_TEST = 10_000  # rows 0..9999 of the 60,000 QMNIST test rows are the MNIST test set
WRITER_COLUMN = 2  # class, NIST series, writer, digit index, NIST class code, global index, 2 unused


def load_idx(path: Path) -> np.ndarray:
    """Return the array in an idx file, in the byte order of this machine.

    Args:
        path: the file: two zero bytes, a type byte, the number of axes, their lengths, then the values.

    Source: the format as described by LeCun, Cortes and Burges with the MNIST database.
    """
    data = path.read_bytes()
    dtype, start = np.dtype(IDX_TYPES[data[2]]), 4 + 4 * data[3]
    shape = np.frombuffer(data[4:start], ">u4").tolist()
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
    """
    names = [f"data_batch_{batch}.bin" for batch in range(1, 6)]
    arrays = {}
    for split, files in (("train", names), ("test", ["test_batch.bin"])):
        data = b"".join(copy.files[name].read_bytes() for name in files)
        rows = np.frombuffer(data, np.uint8).reshape(-1, CIFAR_ROW)
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
    """
    return np.loadtxt(copy.files["u.data"], dtype=np.int64, delimiter="\t")


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
