"""Problems of tests in the table of tasks."""

from collections.abc import Callable

import pytest

from bench.comparison.problem import Problem
from bench.comparison.problems import KINDS
from bench.data.tasks.registry import TASKS, Listed


def put(patch: pytest.MonkeyPatch, name: str, problem: Callable[[], Problem], board: int | None = None) -> None:
    """Enter a problem as a task of the table, with so many rounds on the board, until the patch ends."""
    patch.setitem(TASKS, name, Listed(problem().test, name, board=board))
    patch.setitem(KINDS, name, lambda name, make: problem())
