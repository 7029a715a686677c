"""What the tests of figures share: pictures that are made quickly, and the command line in this process."""

import pytest
from calling import caller
from matplotlib.figure import Figure

from bench.analysis import style


@pytest.fixture(autouse=True)
def small_pictures(monkeypatch):
    """Pictures of few pixels."""
    monkeypatch.setitem(style.STYLE, "savefig.dpi", 40)


@pytest.fixture(autouse=True)
def no_repository(monkeypatch):
    """The report of made-up results has none of the repository's beside them."""
    monkeypatch.setattr("figures.command_line.REPOSITORY", None)


@pytest.fixture
def no_layout(monkeypatch):
    """For tests that read what is written: laying it out is most of the time."""
    monkeypatch.setattr(Figure, "tight_layout", lambda *_, **__: None)


@pytest.fixture
def command(monkeypatch, capsys):
    """Runs `python -m figures` with these words in this process: status, lines of output, lines of error."""
    from figures.__main__ import main as run

    whole = caller("figures", run, monkeypatch, capsys)

    def call(*words):
        status, out, lines = whole(*words)
        return status, out.splitlines(), lines

    return call
