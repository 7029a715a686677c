"""Files that are packed, and how much of them is unpacked."""

import gzip
import zlib

import pytest

from bench.data import decode
from bench.errors import InputError


def test_no_more_is_unpacked_than_a_data_set_can_have(monkeypatch):
    monkeypatch.setattr(decode, "MOST_BYTES", 1000)
    assert len(decode.plain("u.data", gzip.compress(bytes(1000)))) == 1000
    with pytest.raises(InputError, match=r"u\.data unpacks to more than"):
        decode.plain("u.data", gzip.compress(bytes(10**7)))


@pytest.mark.parametrize("spoil", [lambda packed: packed[:-4], lambda packed: packed[:12] + b"x" + packed[13:]])
def test_damage_is_told_by_the_errors_that_callers_know(spoil):
    with pytest.raises((EOFError, OSError, zlib.error)):
        decode.plain("u.data", spoil(gzip.compress(bytes(range(256)) * 20)))
