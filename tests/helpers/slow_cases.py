"""Cases of parametrized tests of which some are run with `--slow` alone."""

from collections.abc import Container, Iterable
from typing import Any

import pytest

MANY_POINTS = {"isrl_heterogeneity", "isrl_rounds", "p2p_dimensions"}  # sweeps of the most points


def cases(values: Iterable[Any], slow: Container[Any]) -> list[Any]:
    """The values of a test's parameter, of which those in `slow` are marked."""
    return [pytest.param(value, marks=pytest.mark.slow) if value in slow else value for value in values]


def rows(values: Iterable[tuple], slow: Container[tuple]) -> list[Any]:
    """The same for a test of several parameters: each value is a tuple of theirs."""
    return [pytest.param(*value, marks=pytest.mark.slow) if value in slow else value for value in values]
