"""A process that is killed at a chosen call, so that every moment of a run or a merge can be tried."""

from collections.abc import Sequence
from typing import Any

from bench.store import part_files

# Every call of the store that changes the disk: object and name of its attribute.
WRITES = [
    (part_files.os, "replace"),
    (part_files.os, "fsync"),
    (part_files.pq, "write_table"),
    (part_files.Path, "unlink"),
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
