"""A digest of the suite's source, by which processes and files recognise the same code."""

import hashlib
from functools import cache

from bench.errors import SUITE


@cache
def code() -> str:
    """Return a digest of the suite's source."""
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted(SUITE.rglob("*.py")):
        digest.update(path.relative_to(SUITE).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
