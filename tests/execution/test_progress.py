"""Progress: how much is done, at which rate, and what is left; a bar on a terminal, and lines elsewhere."""

import io
from itertools import pairwise

import pytest
from rich.console import Console

from bench.execution import progress
from bench.execution.progress import Command, Increment, Meter, Piece, duration


def said(capsys) -> list[str]:
    """The lines so far."""
    return capsys.readouterr().err.splitlines()


def test_what_is_left_counts_the_seconds_of_rounds_that_were_measured_here(capsys, monkeypatch):
    """100 run-rounds in 20 s, and 300 that an earlier command did."""
    monkeypatch.setattr(progress, "OFTEN_S", 0.0)
    monkeypatch.setattr(progress, "SELDOM_S", 0.0)
    with Meter("x", 1000) as meter:
        piece = Piece(meter)
        piece.report(Increment(300, message="300 are done"))
        piece.report(Increment(100, 20.0))
        assert said(capsys) == ["300 are done", "x: 30 %", "x: 40 %, 5 run-rounds/s, about 2 min left"]
        piece.undo()
        meter.workers = 4
        meter.report(Increment(1000, 200.0))
    assert said(capsys)[-1] == "x: 100 %, 20 run-rounds/s"


def test_lines_become_seldom(capsys, monkeypatch):
    """Ten seconds apart at first, and a minute in a long sweep."""
    times = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: times[-1])
    with Meter("x", 10_000) as meter:
        lines = []
        for second in range(5000):
            times.append(float(second))
            meter.report(Increment(1, 1.0))
            lines += [second] * len(said(capsys))
    gaps = [two - one for one, two in pairwise(lines)]
    assert gaps[0] == 10
    assert gaps[-1] == 60
    assert sorted(gaps) == gaps


def test_a_quiet_command_prints_nothing(capsys):
    with Meter("x", 10, command=Command(quiet=True)) as meter:
        meter.report(Increment(1, 1.0, message="1 is done"))
        meter.report(Increment(9, 1000.0))
    assert said(capsys) == []


def test_every_sweep_that_is_worked_on_has_a_bar_on_a_terminal(monkeypatch):
    written = io.StringIO()
    monkeypatch.setattr(progress, "Console", lambda **_: Console(file=written, force_terminal=True, width=100))
    command = Command()
    with Meter("first", 10, command=command) as first, Meter("second", 10, command=command) as second:
        first.report(Increment(5, 1.0))
        second.say("a note")
        assert [(task.description, task.completed) for task in command.bar.tasks] == [("first", 5), ("second", 0)]
        assert command.bar.tasks[0].fields["now"] == "5 run-rounds/s, about 1 s left"
    assert "a note" in written.getvalue()
    assert not command.bar.tasks


@pytest.mark.parametrize(
    ("seconds", "text"), [(45, "45 s"), (720, "12 min"), (12_600, "3.5 h"), (360_000_000, "100,000 h")]
)
def test_durations_in_words(seconds, text):
    assert duration(seconds) == text
