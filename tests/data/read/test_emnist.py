"""Federated EMNIST from HDF5 and from SQLite: the same clients with the same digits."""

import sqlite3
import struct

import h5py
import numpy as np
import pytest
from tf_examples import example, field, varint
from tiny_emnist import FILES, hdf5, made_up

from bench.data.dataset import LocalCopy
from bench.data.read import emnist
from bench.errors import InputError


def found(*paths):
    return LocalCopy("federated_emnist", {path.name: path for path in paths}, "user files", "")


@pytest.fixture
def clients():
    """Not in the order of the ids; one client has no test images."""
    return made_up({"f2_10": (3, 1), "f0000_14": (2, 2), "f1_01": (4, 0)})


def digit(pixels: np.ndarray, label: int) -> bytes:
    floats = field(2, field(1, pixels.astype("<f4").tobytes()))
    return example({"label": field(3, field(1, varint(label))), "pixels": floats})


def two_files(folder, clients):
    return found(*(hdf5(folder, clients) / name for name in FILES))


def sqlite(folder, clients, splits=("digits_only_train", "digits_only_test")):
    path = folder / "emnist_all.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE examples (split_name TEXT, client_id TEXT, serialized_example_proto BLOB)")
        rows = [("all_train", "f2_10", digit(np.ones((28, 28)), 61))]  # letters, to be left out
        for part, split in enumerate(splits):
            # The clients' rows mixed, as long as each client's own order is kept.
            for index in range(4):
                for client, data in clients.items():
                    pixels, labels = data[part]
                    if index < len(labels):
                        rows.append((split, client, digit(pixels[index], int(labels[index]))))
        database.executemany("INSERT INTO examples VALUES (?, ?, ?)", rows)
        # An index that would hand the rows out in another order.
        database.execute("CREATE INDEX it ON examples (split_name, serialized_example_proto)")
    database.close()
    return found(path)


@pytest.mark.parametrize("form", [two_files, sqlite])
def test_all_forms_give_the_same_clients_in_the_order_of_their_ids(tmp_path, clients, form):
    read = emnist.federated_emnist(form(tmp_path, clients))
    assert [client for client, *_ in read] == ["f0000_14", "f1_01", "f2_10"]
    for client, *arrays in read:
        expected = [array for split in clients[client] for array in split]
        for got, want in zip(arrays, expected, strict=True):
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(got, want)


def test_an_example_may_carry_other_fields():
    message = example(
        {
            "floats": field(2, field(1, struct.pack("<2f", 0.5, -2.0))),
            "integers": field(3, field(1, varint(-1) + varint(300) + varint(1 << 40))),
            "text": field(1, field(1, b"ab") + field(1, b"")),
        }
    )
    read = {name: list(values) for name, values in emnist.parse_example(message).items()}
    assert read == {"floats": [0.5, -2.0], "integers": [-1, 300, 1 << 40], "text": [b"ab", b""]}


@pytest.mark.parametrize("cut", [1, 5, 40, 3000])
def test_a_cut_example_is_refused(cut):
    with pytest.raises(ValueError, match="example"):
        emnist.parse_example(digit(np.ones((28, 28)), 3)[:-cut])


def test_other_files_are_refused_by_name(tmp_path, clients):
    (tmp_path / "emnist_all.sqlite").write_bytes(b"something else entirely")
    with pytest.raises(InputError, match=r"emnist_all.sqlite: not federated EMNIST"):
        emnist.federated_emnist(found(tmp_path / "emnist_all.sqlite"))
    (tmp_path / "emnist_all.sqlite").unlink()
    with pytest.raises(InputError, match="no split is called digits_only_train"):
        emnist.federated_emnist(sqlite(tmp_path, clients, splits=("train", "test")))
    with h5py.File(tmp_path / FILES[0], "w") as file:
        file["other"] = 1
    with pytest.raises(InputError, match=FILES[0]) as error:
        emnist.federated_emnist(found(*(tmp_path / name for name in FILES)))
    assert "\n" not in str(error.value)
