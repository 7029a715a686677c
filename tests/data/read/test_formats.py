"""Reading the canonical files: every reader against bytes that the test writes itself."""

import struct

import numpy as np
import pytest
from tiny_data import photographs, pictures, write

from bench.data.dataset import LocalCopy
from bench.data.read import formats


def found(folder):
    files = {path.name: path for path in folder.iterdir()}
    return LocalCopy("it", files, "user files", "")


@pytest.mark.parametrize(
    ("code", "form", "dtype", "values"),
    [
        (0x08, "B", np.uint8, [0, 1, 255]),
        (0x09, "b", np.int8, [-128, 0, 127]),
        (0x0B, "h", np.int16, [-2, 258, 3]),
        (0x0C, "i", np.int32, [-2, 65_539, 3]),
        (0x0D, "f", np.float32, [0.5, -1.25, 3.0]),
        (0x0E, "d", np.float64, [0.1, -1.25, 3.0]),
    ],
)
def test_idx_of_every_type(tmp_path, code, form, dtype, values):
    data = struct.pack(f">BBBBII3{form}", 0, 0, code, 2, 3, 1, *values)
    (tmp_path / "it").write_bytes(data)
    array = formats.load_idx(tmp_path / "it")
    assert array.dtype == dtype
    assert array.dtype.isnative
    np.testing.assert_array_equal(array, np.array(values, dtype)[:, None])


def test_mnist_by_name_not_by_place(tmp_path):
    files = pictures(seed=1)
    arrays = formats.mnist(found(write(tmp_path, files)))
    assert {name: array.shape for name, array in arrays.items()} == {
        "train_images": (20, 28, 28),
        "train_labels": (20,),
        "test_images": (5, 28, 28),
        "test_labels": (5,),
    }
    for name, file in (("train_images", "train-images-idx3-ubyte"), ("test_labels", "t10k-labels-idx1-ubyte")):
        assert arrays[name].tobytes() == files[file][-arrays[name].size :]


def test_cifar10_puts_colours_last_and_batches_in_order(tmp_path):
    files = photographs(seed=1, rows=3)
    arrays = formats.cifar10(found(write(tmp_path, files)))
    assert arrays["train_images"].shape == (15, 32, 32, 3)
    assert arrays["test_images"].shape == (3, 32, 32, 3)
    for batch in range(5):
        data = files[f"data_batch_{batch + 1}.bin"]
        for row in range(3):
            one = data[row * 3073 : (row + 1) * 3073]
            assert arrays["train_labels"][3 * batch + row] == one[0]
            # By hand: green (1) of the pixel in row 7, column 30.
            assert arrays["train_images"][3 * batch + row, 7, 30, 1] == one[1 + 1024 + 7 * 32 + 30]


def test_movielens(tmp_path):
    write(tmp_path, {"u.data": b"196\t242\t3\t881250949\n186\t302\t3\t891717742\n"})
    ratings = formats.movielens(found(tmp_path))
    np.testing.assert_array_equal(ratings, [[196, 242, 3, 881250949], [186, 302, 3, 891717742]])


def test_writers_are_the_third_column_and_the_first_rows_of_the_test_file(tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "QMNIST_TEST", 2)
    rows = np.arange(6 * 8, dtype=">i4").reshape(6, 8)
    data = struct.pack(">BBBBII", 0, 0, 0x0C, 2, 6, 8) + rows.tobytes()
    write(tmp_path, dict.fromkeys(("qmnist-train-labels-idx2-int", "qmnist-test-labels-idx2-int"), data))
    train, test = formats.qmnist_writers(found(tmp_path))
    np.testing.assert_array_equal(train, [2, 10, 18, 26, 34, 42])
    np.testing.assert_array_equal(test, [2, 10])
    assert train.dtype == np.int32
