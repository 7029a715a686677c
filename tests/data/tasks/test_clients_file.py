"""A user's own file of clients: read, split by client, and refused in one line where it is none."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from checked_task import wrong_fields
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.data.tasks.clients_file import clients_file
from bench.errors import InputError

SIZES = [5, 10, 30]
CLIENTS = np.repeat(["c", "a", "b"], SIZES)
INPUTS = np.arange(45.0)[:, None] + np.array([[0.0, 0.5]])  # row r begins with r: every example is known by its first
TARGETS = np.arange(45) % 3


def saved(folder, **arrays):
    path = folder / "mine.npz"
    np.savez(path, **({"inputs": INPUTS, "targets": TARGETS, "clients": CLIENTS} | arrays))
    return path


def rows(inputs, sizes):
    """The examples of each client, by their first feature."""
    return [set(np.asarray(x)[:n, 0].astype(int)) for x, n in zip(inputs, np.asarray(sizes), strict=True)]


def test_every_example_of_a_client_is_in_one_part_of_that_client(tmp_path):
    task = clients_file(0, path=saved(tmp_path))
    parts = [rows(task.train[0], task.num_examples)]
    parts += [rows(task.evaluation[part][0], task.evaluation[part][2]) for part in ("test", "validation")]
    for place, client in enumerate(["a", "b", "c"]):
        together = [examples for part in parts for examples in part[place]]
        assert sorted(together) == np.flatnonzero(client == CLIENTS).tolist()
    assert [len(part) for part in parts[1]] == [2, 6, 1]
    assert [len(part) for part in parts[2]] == [1, 3, 1]


def test_targets_are_one_versus_all_and_trials_split_anew(tmp_path):
    path = saved(tmp_path)
    task, other = clients_file(0, path=path), clients_file(1, path=path)
    assert wrong_fields(task) == []
    first = int(task.train[0][0, 0, 0])
    assert np.argmax(task.train[1][0, 0]) == TARGETS[first]
    assert np.sum(task.train[1][0, 0]) == pytest.approx(0, abs=1e-6)
    assert rows(task.train[0], task.num_examples) != rows(other.train[0], other.num_examples)
    assert [leaf.shape for leaf in task.train] == [leaf.shape for leaf in other.train]


def test_other_data_have_another_checksum(tmp_path):
    before = clients_file(0, path=saved(tmp_path)).checksum
    (tmp_path / "new").mkdir()
    assert clients_file(0, path=saved(tmp_path / "new", inputs=INPUTS + 1)).checksum != before


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"inputs": INPUTS[:, 0]}, "one row of features"),
        ({"targets": TARGETS / 2}, "targets are float64"),
        ({"targets": np.where(TARGETS == 2, 3, TARGETS)}, "without a gap"),
        ({"clients": np.arange(44)}, r"clients are \(44,\) for inputs"),
        ({"inputs": np.where(INPUTS == 3.5, np.nan, INPUTS)}, r"inputs has nan at index \(3, 1\)"),
        ({"clients": np.repeat(["a", "b"], [4, 41])}, "client 'a' has 4"),
    ],
)
def test_a_file_that_does_not_fit_is_refused(tmp_path, arrays, words):
    with pytest.raises(InputError, match=words):
        clients_file(0, path=saved(tmp_path, **arrays))


def read_or_refused(path):
    said = ""
    try:
        clients_file(0, path=path)
    except InputError as error:
        said = str(error)
    assert said.isprintable()


SHAPES = [(0,), (1,), (45,), (45, 1), (3, 45), (45, 3, 1), (0, 3), (45, 0), ()]
DTYPES = ["f4", "f8", "i8", "u1", "b1", "c8", "U3", "S3", "M8[s]", "f2", "O", "V4", ">f4", ">i8"]


@settings(max_examples=100, deadline=None, derandomize=True)
@given(*map(st.sampled_from, (["inputs", "targets", "clients"], SHAPES, DTYPES, [0, 1, -1, 7, 1e300, np.nan])))
def test_whatever_array_is_in_a_file_it_is_read_or_refused_in_one_line(name, shape, dtype, value):
    with np.errstate(all="ignore"), TemporaryDirectory() as folder:
        read_or_refused(saved(Path(folder), **{name: np.full(shape, value).astype(dtype)}))


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.floats(0, 1, exclude_max=True), st.integers(0, 7))
def test_a_file_with_another_bit_is_read_or_refused_in_one_line(place, bit):
    with TemporaryDirectory() as folder:
        path = saved(Path(folder))
        content = bytearray(path.read_bytes())
        content[int(place * len(content))] ^= 1 << bit
        path.write_bytes(content)
        read_or_refused(path)
