"""A process that is killed at a chosen call, so that every moment of a run or a merge can be tried."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

# Every call of the store that changes the disk: object and name of its attribute.
WRITES = [
    (os, "replace"),
    (os, "fsync"),
    (pq, "write_table"),
    (Path, "unlink"),
]


class Killed(BaseException):
    """The process is gone: no handler of errors sees it."""


def killed_at(monkeypatch, number: int, calls: Sequence[tuple[Any, str]]) -> None:
    """Raise `Killed` at the given call, counted from 0 over all of `calls` together."""
    left = [number]

    def dying(original):
        def call(*args, **options):
            if left[0] == 0:
                raise Killed
            left[0] -= 1
            return original(*args, **options)

        return call

    for owner, name in calls:
        monkeypatch.setattr(owner, name, dying(getattr(owner, name)))
