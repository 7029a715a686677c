"""Who is one user of a user's own tables: random ones, and those in which files or pieces of a file differ."""

import random
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import random_tables

from bench.data.read.tables import client_table
from bench.data.tasks.clients_file import clients_file
from bench.errors import InputError

ROWS = np.arange(12)


def read(path, regression=False):
    return client_table.__wrapped__(path, "client", "label", regression)


def put(path, *, client: Any = ROWS // 2, label: Any = ROWS % 2, x: Any = ROWS, metadata=None):
    table = pa.table({"client": pa.array(client), "label": pa.array(label), "x": pa.array(x)})
    if path.suffix == ".parquet":
        pq.write_table(table.replace_schema_metadata(metadata), path)
    else:
        table.to_pandas().to_csv(path, index=False)


def test_users_classes_and_counts_of_random_tables_are_those_of_a_plain_reader(tmp_path):
    chance, alike = random.Random(0), 0
    for place in range(60):
        (tmp_path / str(place)).mkdir()
        table = random_tables.write(tmp_path / str(place), chance)
        assert random_tables.wrong(table) is None, table.what
        alike += table.alike
    assert 20 < alike < 50


def test_a_column_is_of_one_kind_in_all_pieces_of_a_long_file(tmp_path):
    """The codes 01 and 02 are numbers in its first piece, and words where E10 is among them."""
    assert random_tables.wrong(random_tables.write_wide(tmp_path, random.Random(0))) is None


@pytest.mark.parametrize(
    ("column", "one", "other", "said"),
    [
        ("client", [*range(12)], [float(n) for n in range(12)], "numbers with a decimal point, but .* whole numbers"),
        (
            "client",
            [2**60 + n for n in range(12)],
            [float(2**60 + n) for n in range(12)],
            "row 1, which may be rounded",
        ),
        ("client", [*range(12)], [str(n) for n in range(12)], "has words, but .* has whole numbers"),
        ("label", [True, False] * 6, ["0", "1"] * 6, "has words, but .* has true and false"),
        ("x", [*range(12)], [True] * 12, "true and false, but .* has numbers"),
    ],
)
def test_a_column_of_another_kind_in_another_file_is_refused(tmp_path, column, one, other, said):
    for ending in ("parquet", "csv"):
        put(tmp_path / f"a.{ending}", **{column: one})
        put(tmp_path / "b.parquet", **{column: other})
        if ending == "parquet":
            with pytest.raises(InputError, match=said):
                read(tmp_path)
            (tmp_path / "a.parquet").unlink()
        elif type(one[0]) is int and isinstance(other[0], str):  # a CSV file is text: the same names
            assert len({*read(tmp_path)[2]}) == 12
        else:
            with pytest.raises(InputError, match=f"'{column}' has "):
                read(tmp_path)


@pytest.mark.parametrize(
    ("column", "names"),
    [("client", ["7", "007"]), ("client", ["a", "a "]), ("client", ["7", "7.0"]), ("label", ["1", "01"]),
     ("label", ["100000", "1e5"]), ("label", ["True", "1"])],
)  # fmt: skip
def test_two_names_that_may_be_one_are_refused(tmp_path, column, names):
    put(tmp_path / "a.parquet", **{column: names * 6})
    with pytest.raises(InputError, match=f"'{column}' has '{names[0]}' and '{names[1]}', which may be the same"):
        read(tmp_path / "a.parquet")


def test_numbers_that_were_rounded_are_no_clients(tmp_path):
    put(tmp_path / "a.csv", client=["1.152921504606847e+18", "b"] * 6)
    with pytest.raises(InputError, match="row 1, which may be rounded"):
        read(tmp_path / "a.csv")
    put(tmp_path / "b.parquet", client=[0.5, 1.0] * 6)
    with pytest.raises(InputError, match=r"has 0\.5 in row 1, which names no client"):
        read(tmp_path / "b.parquet")
    arrays = {"inputs": np.ones((12, 1)), "targets": ROWS % 2}
    np.savez(tmp_path / "c.npz", **arrays, clients=np.array([2.0**60, 1.0] * 6))
    with pytest.raises(InputError, match=r"clients has 1\.15.*e\+18 at index 0, which may be rounded"):
        clients_file(0, path=tmp_path / "c.npz")


def test_a_name_may_end_in_a_character_that_arrays_of_numpy_drop(tmp_path):
    put(tmp_path / "a.parquet", client=["a"] * 6 + ["a\0"] * 6)
    assert clients_file(0, path=tmp_path / "a.parquet").num_clients == 2


def test_names_of_rows_are_no_features_and_a_damaged_note_on_them_is_one_line(tmp_path):
    table = pd.DataFrame({"client": ROWS // 2, "label": ROWS % 2, "x": ROWS}, index=pd.Index(ROWS * 3, name="id"))
    table.to_parquet(tmp_path / "named.parquet")
    assert read(tmp_path / "named.parquet")[0].shape == (12, 1)
    for note in (b"[]", b"{}", b'{"index_columns": 3}', b"not json", b"[" * 10**5):
        put(tmp_path / "damaged.parquet", metadata={b"pandas": note})
        with pytest.raises(InputError, match=r"damaged\.parquet cannot be read as Parquet"):
            read(tmp_path / "damaged.parquet")
