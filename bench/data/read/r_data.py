"""Data sets as packages of R hold them: an index, Rdata.rdx, of objects in a second file, Rdata.rdb.

Both hold objects in the serialization format of R (R Internals, section 1.8), XDR form; the index is gzipped, and every
object of the second file is a zlib stream. The few types that tables need are read; nothing is evaluated.
"""

import struct
import zlib
from typing import Any, NamedTuple

import numpy as np

from bench.data.dataset import LocalCopy
from bench.data.read.formats import content
from bench.errors import InputError

MOST_BYTES = 10**8  # of an object that is unpacked
NIL, REFERENCE, SYMBOL, PAIRS, WORD, LOGICAL, INTEGER, REAL, WORDS, LIST = 254, 255, 1, 2, 9, 10, 13, 14, 16, 19
HAS_ATTRIBUTES, HAS_TAG = 1 << 9, 1 << 10
BROKEN = (struct.error, zlib.error, ValueError, KeyError, IndexError, TypeError, RecursionError, AttributeError)


class Vector(NamedTuple):
    """A vector of R: its values, and its attributes by name."""

    values: Any
    attributes: dict


class Column(NamedTuple):
    """A column of a table.

    values: numbers [row]; of a factor the codes of its levels, 0 for the first.
    levels: of a factor, in words; None for numbers.
    """

    values: np.ndarray
    levels: list[str] | None


def table(copy: LocalCopy, index: str, objects: str, name: str) -> dict[str, Column]:
    """Return the columns of a data frame in a package.

    Args:
        copy: the package's two files.
        index, objects: their names there.
        name: of the data frame.

    Raises:
        InputError: a file that cannot be read, or no such table in it.
    """
    path = copy.files[objects]
    try:
        contents = _parsed(content(copy.files[index]))
        variables = dict(zip(_names(contents), contents.values, strict=True))["variables"]
        place = dict(zip(_names(variables), variables.values, strict=True))[name]
        start, length = (int(number) for number in place.values)
        # An object is the length that it unpacks to, four bytes, and a zlib stream.
        frame = _parsed(_unpacked(content(path)[start + 4 : start + length]))
        columns = {key: _column(column) for key, column in zip(_names(frame), frame.values, strict=True)}
        if len({len(column.values) for column in columns.values()}) != 1:
            raise ValueError("columns of different lengths")
        return columns
    except BROKEN:
        raise InputError(f"{path}: holds no table {name} in the format of R: replace it by the original.") from None


def _unpacked(data: bytes) -> bytes:
    stream = zlib.decompressobj()
    out = stream.decompress(data, MOST_BYTES)
    if stream.unconsumed_tail:
        raise ValueError("too long")
    return out


def _parsed(data: bytes) -> Vector:
    if data[:2] != b"X\n":
        raise ValueError("not in XDR form")
    return _Reader(data).item()


def _names(vector: Vector) -> list[str]:
    return vector.attributes["names"].values


def _column(vector: Vector) -> Column:
    levels = vector.attributes.get("levels")
    values = np.array(vector.values)
    if levels is None:
        return Column(values.astype(float), None)
    codes = values.astype(np.int64) - 1
    if codes.min() < 0 or codes.max() >= len(levels.values):
        raise ValueError("a code without a level")
    return Column(codes, levels.values)


class _Reader:
    """Reads an object from the bytes after "X\\n"."""

    def __init__(self, data: bytes):
        self.data, self.position, self.symbols = data, 2, []
        version, _, _ = (self.number() for _ in range(3))
        if version == 3:
            self.take(self.number())  # the encoding

    def take(self, count: int) -> bytes:
        out = self.data[self.position : self.position + count]
        if count < 0 or len(out) < count:
            raise ValueError("ends early")
        self.position += count
        return out

    def number(self) -> int:
        return struct.unpack(">i", self.take(4))[0]

    def array(self, kind: str, size: int) -> np.ndarray:
        return np.frombuffer(self.take(self.number() * size), kind)

    def item(self) -> Any:
        flags = self.number()
        kind = flags & 0xFF
        if kind == NIL:
            return None
        if kind == REFERENCE:
            return self.symbols[(flags >> 8 or self.number()) - 1]
        if kind == SYMBOL:
            self.symbols.append(self.item())
            return self.symbols[-1]
        if kind == PAIRS:
            return self.pairs(flags)
        if kind == WORD:
            length = self.number()
            return None if length < 0 else self.take(length).decode()
        if kind in (LOGICAL, INTEGER):
            values = self.array(">i4", 4)
        elif kind == REAL:
            values = self.array(">f8", 8)
        elif kind in (WORDS, LIST):
            values = [self.item() for _ in range(self.number())]
        else:
            raise ValueError(f"type {kind}")
        return Vector(values, self.item() if flags & HAS_ATTRIBUTES else {})

    def pairs(self, flags: int) -> dict:
        """Return a list of pairs, tag -> value."""
        if flags & HAS_ATTRIBUTES:
            self.item()
        tag = self.item() if flags & HAS_TAG else None
        return {tag: self.item()} | (self.item() or {})
