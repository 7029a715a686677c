"""What the tests of both pages share: the page that was written, as text and as its elements."""

import pytest
from html_page import Page


@pytest.fixture(scope="module")
def text(path):
    return path.read_text()


@pytest.fixture(scope="module")
def page(text):
    return Page(text)
