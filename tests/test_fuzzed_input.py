"""Malformed input at random is one line that names culprit and remedy, with status 2; nothing is half written."""

import pytest
from fuzzing.kinds import KINDS, attempt_all

FEW = {"conditions": 20, "files of clients": 25, "parts of results": 15}
MANY = 400


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzzed")


@pytest.mark.parametrize("kind", FEW)
def test_malformed_input_is_one_line(kind, scratch):
    attempt_all(kind, FEW[kind], scratch)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_much_malformed_input_is_one_line(kind, scratch, request):
    """The same cases every time; `--hypothesis-seed=random`, or a number, tries others."""
    chosen = request.config.getoption("--hypothesis-seed") is not None
    attempt_all(kind, MANY, scratch, derandomize=not chosen)
