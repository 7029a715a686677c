"""Files of users' data and of results, damaged and mistaken in every way."""

import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st


class Content(bytes):
    """Of a file, too long to be shown."""

    def __repr__(self) -> str:
        return f"{len(self):,} bytes"


@st.composite
def damaged(draw: st.DrawFn, content: bytes) -> bytes:
    """Bytes flipped, cut off, inserted or put in place of others; or as they were."""
    changed = bytearray(content)
    for _ in range(draw(st.integers(0, 3))):
        if not changed:
            break
        at = draw(st.integers(0, len(changed) - 1))
        how = draw(st.sampled_from(["flip", "flip", "flip", "cut", "insert", "zeros", "remove"]))
        if how == "flip":
            changed[at] ^= 1 << draw(st.integers(0, 7))
        elif how == "cut":
            del changed[at:]
        elif how == "insert":
            changed[at:at] = draw(st.binary(max_size=8))
        elif how == "zeros":
            changed[at : at + 16] = bytes(len(changed[at : at + 16]))
        else:
            del changed[at : at + draw(st.integers(1, 64))]
    return Content(changed)


SHAPES = [(0,), (1,), (60,), (60, 1), (60, 3), (3, 60), (60, 3, 1), (0, 3), (60, 0), ()]
DTYPES = ["f4", "f8", "i4", "i8", "u1", "u8", "b1", "c8", "U3", "S3", "M8[s]", "f2", "O", "V4", ">f4", ">i8"]
FILLS = ["random", "zeros", "huge", "nan", "negative", "classes", "gaps"]


def _array(shape: tuple, dtype: str, fill: str) -> np.ndarray:
    chance = np.random.default_rng(0)
    values = {
        "random": lambda: chance.random(shape),
        "zeros": lambda: np.zeros(shape),
        "huge": lambda: np.full(shape, 1e300),
        "nan": lambda: np.full(shape, np.nan),
        "negative": lambda: -1 - chance.random(shape),
        "classes": lambda: chance.integers(0, 2, shape),
        "gaps": lambda: chance.integers(0, 2, shape) * 7,
    }[fill]()
    with np.errstate(all="ignore"):
        return np.asarray(values).astype(dtype)


@st.composite
def client_files(draw: st.DrawFn) -> bytes:
    """The content of an npz file of examples by client, as `compare --task` takes one, with mistakes."""
    sixty = np.repeat(np.arange(4), 15)
    right = {"inputs": _array((60, 3), "f4", "random"), "targets": _array((60,), "i8", "classes"), "clients": sixty}
    for name in draw(st.lists(st.sampled_from([*right, "else"]), max_size=2)):
        if draw(st.integers(0, 4)) == 0:
            right.pop(name, None)
        else:
            how = draw(st.tuples(*map(st.sampled_from, (SHAPES, DTYPES, FILLS))))
            try:
                right[name] = _array(*how)
            except (ValueError, TypeError):  # no array is of this kind
                right[name] = np.zeros(60)
    content = io.BytesIO()
    (np.savez_compressed if draw(st.booleans()) else np.savez)(content, **right)  # pyright: ignore[reportArgumentType]
    return Content(draw(damaged(content.getvalue())) if draw(st.integers(0, 2)) == 0 else content.getvalue())


@st.composite
def parts(draw: st.DrawFn, table: pd.DataFrame) -> bytes:
    """The content of a Parquet file like a part of results, with columns or rows too few or too many."""
    rows = table.copy()
    for _ in range(draw(st.integers(0, 2))):
        name = draw(st.sampled_from(sorted(rows)))
        others = {name: draw(st.sampled_from(["else", "", "point", "seed"]))}
        rows = rows.drop(columns=name) if draw(st.booleans()) else rows.rename(columns=others)
        rows = rows.loc[:, ~rows.columns.duplicated()]
    which = draw(st.sampled_from(["all", "all", "all", "none", "half", "twice", "last"]))
    rows = {"all": rows, "none": rows[:0], "half": rows[::2], "twice": pd.concat([rows, rows]), "last": rows[-1:]}[
        which
    ]
    content = io.BytesIO()
    try:
        table = pa.Table.from_pandas(rows, preserve_index=False)
        if table.num_columns and draw(st.integers(0, 7)) == 0:
            name = draw(st.sampled_from(table.column_names))
            table = table.append_column(name, table[name])  # a name that occurs twice
        pq.write_table(table, content)
    except (pa.ArrowException, ValueError, TypeError):  # no Parquet file has such a column
        return Content()
    return Content(draw(damaged(content.getvalue())) if draw(st.integers(0, 3)) == 0 else content.getvalue())
