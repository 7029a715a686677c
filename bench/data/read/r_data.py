"""Data sets as packages of R hold them: an index, Rdata.rdx, of objects in a second file, Rdata.rdb.

Both hold objects in the serialization format of R (R Internals, section 1.8), XDR form; the index is gzipped, and every
object of the second file is a zlib stream. The few types that tables need are read; nothing is evaluated.
"""

import struct
import zlib
from typing import Any, NamedTuple

import numpy as np

from bench.data.dataset import LocalCopy

NIL, REFERENCE, SYMBOL, PAIRS, WORD, LOGICAL, INTEGER, REAL, WORDS, LIST = 254, 255, 1, 2, 9, 10, 13, 14, 16, 19
HAS_ATTRIBUTES, HAS_TAG = 1 << 9, 1 << 10


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
    """
    contents = _Reader(copy.files[index].read_bytes()).item()
    variables = dict(zip(_names(contents), contents.values, strict=True))["variables"]
    place = dict(zip(_names(variables), variables.values, strict=True))[name]
    start, length = (int(number) for number in place.values)
    # An object is the length that it unpacks to, four bytes, and a zlib stream.
    packed = copy.files[objects].read_bytes()[start + 4 : start + length]
    frame = _Reader(zlib.decompress(packed)).item()
    return {key: _column(column) for key, column in zip(_names(frame), frame.values, strict=True)}


def _names(vector: Vector) -> list[str]:
    return vector.attributes["names"].values


def _column(vector: Vector) -> Column:
    levels = vector.attributes.get("levels")
    values = np.array(vector.values)
    if levels is None:
        return Column(values.astype(float), None)
    return Column(values.astype(np.int64) - 1, levels.values)


class _Reader:
    """Reads an object in XDR form, from the bytes after "X\\n"."""

    def __init__(self, data: bytes):
        self.data, self.position, self.symbols = data, 2, []
        version, _, _ = (self.number() for _ in range(3))
        if version == 3:
            self.take(self.number())  # the encoding

    def take(self, count: int) -> bytes:
        self.position += count
        return self.data[self.position - count : self.position]

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
