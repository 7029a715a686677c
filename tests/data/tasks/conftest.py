"""A made-up table of ratings in place of MovieLens-100K."""

import pytest
from tiny_ratings import made_up, put


@pytest.fixture
def table():
    return made_up()


@pytest.fixture
def here(table, tmp_path, monkeypatch):
    """The made-up table where BENCH_DATA points."""
    put(table, tmp_path, monkeypatch)
