"""A suite of one small sweep, in which nothing long is begun."""

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

from tiny_sweeps import walks

from fuzzing.outcomes import Reached


def _reached(*_: Any, **__: Any) -> Any:
    raise Reached


@contextlib.contextmanager
def small_suite() -> Iterator[None]:
    """The sweep is run in a moment; comparisons are not begun."""
    import bench.comparison.stages
    from bench.papers import SWEEPS

    with (
        mock.patch.dict(SWEEPS, {"tiny": lambda scale: walks()}, clear=True),
        mock.patch.object(bench.comparison.stages, "run_sweep", _reached),
    ):
        yield
