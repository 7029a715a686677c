"""What the tests of the report's page share: a page that was written once."""

import pytest
from made_up_report import made


@pytest.fixture(scope="session")
def path(tmp_path_factory):
    """The page of made-up results; nothing of it may be changed."""
    return made(tmp_path_factory.mktemp("report"))
