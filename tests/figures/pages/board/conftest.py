"""What the tests of the board's page share: a page that was written once."""

import pytest
from made_up_board import made_up_board

from figures.pages.board.write import write


@pytest.fixture(scope="session")
def path(tmp_path_factory):
    """The page of a board of three tasks; nothing in its folder may be changed."""
    return write(made_up_board(tmp_path_factory.mktemp("board")), None)[0]
