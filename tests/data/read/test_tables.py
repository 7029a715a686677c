"""Who is one user of a user's own tables, in whatever files, and where files or pieces of a file differ."""

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.data.read.tables import client_table
from bench.data.tasks.clients_file import clients_file
from bench.errors import InputError

ROWS = np.arange(12)


def read(path, regression=False):
    return client_table.__wrapped__(path, "client", "label", regression)


def put(path, *, client: Any = ROWS // 2, label: Any = ROWS % 2, x: Any = ROWS):
    table = pa.table({"client": pa.array(client), "label": pa.array(label), "x": pa.array(x)})
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        table.to_pandas().to_csv(path, index=False)


TEXT = [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())]
LONG = [pa.int64(), pa.dictionary(pa.int8(), pa.int64())]
NAMES: dict[str, tuple[list, list[pa.DataType]]] = {  # names, and the types of a Parquet column that has them
    "words": (["Ada 1", "x ", "NA7", "é,2", '"q"', "True3", "1_"], TEXT),
    "codes": (["007", "E1", "010", "E10"], TEXT),
    "numbers": ([-50, 0, 7, 49], [*LONG, pa.int8(), pa.int32()]),
    "long numbers": ([2**60, 2**60 + 1, 2**60 + 2], LONG),
    "longest numbers": ([2**64 - 1, 2**64 - 2, 2**64 - 3], [pa.uint64()]),
}


@pytest.mark.parametrize(("kind", "way"), [(kind, way) for kind, (_, ways) in NAMES.items() for way in ways])
def test_a_name_is_one_user_and_one_class_in_whatever_files(tmp_path, kind, way):
    """A file of text and one with a type, alone and together, for users, for classes and for both."""
    names, rng = NAMES[kind][0], np.random.default_rng(0)
    mine, others = ([*range(count), *rng.integers(0, count, 30 - count)] for count in (len(names), 3))
    (tmp_path / "both").mkdir()
    for columns in (("label",), ("client",), ("client", "label")):
        found = {name: mine if name in columns else others for name in ("client", "label")}
        words = {name: np.array(names)[found[name]] if name in columns else found[name] for name in found}
        typed = {name: pa.array(words[name].tolist(), way) if name in columns else words[name] for name in words}
        put(tmp_path / "a.csv", **words, x=range(30))
        put(tmp_path / "b.parquet", **typed, x=range(30))
        put(tmp_path / "both" / "a.csv", **{name: of[:20] for name, of in words.items()}, x=range(20))
        put(tmp_path / "both" / "b.parquet", **{name: of[20:] for name, of in typed.items()}, x=range(20, 30))
        for place in ("a.csv", "b.parquet", "both"):
            inputs, classes, users, *_ = read(tmp_path / place)
            np.testing.assert_array_equal(inputs[:, 0], np.arange(30))
            for read_as, true in ((users, found["client"]), (classes, found["label"])):
                assert len({*zip(read_as, true, strict=True)}) == len({*read_as}) == len({*true})


def test_a_column_is_of_one_kind_in_all_pieces_of_a_long_file(tmp_path):
    """pandas reads 128 rows so wide in one piece: the codes 01 and 02 are numbers there, and words beside E10."""
    codes = np.where(np.arange(150) < 140, np.array(["01", "02"])[np.arange(150) % 2], "E10")
    wide = pd.DataFrame({"client": [f"{row // 30:02d}" for row in range(150)], "label": codes})
    wide = pd.concat([wide, pd.DataFrame(np.zeros((150, 4100), int)).add_prefix("x")], axis=1)
    wide.to_csv(tmp_path / "wide.csv", index=False)
    _, classes, users, *_ = read(tmp_path / "wide.csv")
    assert len({*zip(classes, codes, strict=True)}) == len({*classes}) == 3
    assert len({*users}) == 5


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
    with pytest.raises(InputError, match="'client' has values of type double: write them as words or whole numbers"):
        read(tmp_path / "b.parquet")
    arrays = {"inputs": np.ones((12, 1)), "targets": ROWS % 2}
    np.savez(tmp_path / "c.npz", **arrays, clients=np.array([2.0**60, 1.0] * 6))
    with pytest.raises(InputError, match=r"clients has 1\.15.*e\+18 at index 0, which may be rounded"):
        clients_file(0, path=tmp_path / "c.npz")


def test_names_of_rows_are_no_features(tmp_path):
    table = pd.DataFrame({"client": ROWS // 2, "label": ROWS % 2, "x": ROWS}, index=pd.Index(ROWS * 3, name="id"))
    table.to_parquet(tmp_path / "named.parquet")
    assert read(tmp_path / "named.parquet")[0].shape == (12, 1)
