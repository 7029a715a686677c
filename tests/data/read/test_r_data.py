"""Tables in packages of R: what is read is what a writer of the documented format wrote."""

import struct
import zlib

import numpy as np
import pytest

from bench.data.dataset import LocalCopy
from bench.data.read import r_data


def number(value):
    return struct.pack(">i", value)


def word(text):
    return number(9) + number(len(text.encode())) + text.encode()


def vector(kind, values, attributes=None):
    """A vector as R writes it; attributes are pairs whose tags are symbols."""
    if kind == "words":
        body = number(16 | (512 if attributes else 0)) + number(len(values)) + b"".join(map(word, values))
    elif kind == "list":
        body = number(19 | (512 if attributes else 0)) + number(len(values)) + b"".join(values)
    else:
        code, form = {"integer": (13, "i"), "real": (14, "d")}[kind]
        body = number(code | (512 if attributes else 0)) + number(len(values))
        body += struct.pack(f">{len(values)}{form}", *values)
    if attributes:
        body += b"".join(number(2 | 1024) + number(1) + word(tag) + value for tag, value in attributes.items())
        body += number(254)
    return body


def whole(item, version=3):
    head = b"X\n" + number(version) + number(0x40201) + number(0x30500)
    return head + (number(5) + b"UTF-8" if version == 3 else b"") + item


def frame(**columns):
    return vector("list", list(columns.values()), {"names": vector("words", list(columns))})


def written(folder, item, version=3):
    """The files of a package with one object, "Lectures", after another one."""
    data = whole(item, version)
    stored = struct.pack(">I", len(data)) + zlib.compress(data)
    place = vector("integer", [3, len(stored)])
    names = {"names": vector("words", ["Lectures"])}
    index = vector("list", [vector("list", [place], names)], {"names": vector("words", ["variables"])})
    (folder / "it.rdx").write_bytes(whole(index, version))
    (folder / "it.rdb").write_bytes(b"abc" + stored)
    return LocalCopy("it", {name: folder / name for name in ("it.rdx", "it.rdb")}, "made up", "0")


@pytest.mark.parametrize("version", [2, 3])
def test_a_table_is_read_as_it_was_written(tmp_path, version):
    who = vector("integer", [2, 1, 2], {"levels": vector("words", ["Ann", "Zoë"])})
    copy = written(tmp_path, frame(s=who, y=vector("real", [1.0, 2.5, 5.0]), n=vector("integer", [4, 5, 6])), version)
    table = r_data.table(copy, "it.rdx", "it.rdb", "Lectures")
    assert list(table) == ["s", "y", "n"]
    assert table["s"].levels == ["Ann", "Zoë"]
    np.testing.assert_array_equal(table["s"].values, [1, 0, 1])
    np.testing.assert_array_equal(table["y"].values, [1.0, 2.5, 5.0])
    assert table["y"].levels is None
    np.testing.assert_array_equal(table["n"].values, [4.0, 5.0, 6.0])
