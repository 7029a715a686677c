"""Progress on a terminal that is none: how much is done, at which rate, and that work goes on where nothing is."""

import re
import time

from bench.sweeps.progress import Meter


def said_while(capsys, seconds, *, add=0, **options):
    """The lines of a meter that is told nothing for some time."""
    with Meter("x", 10, **options) as meter:
        if add:
            meter.add(add)
        time.sleep(seconds)
    return capsys.readouterr().err.splitlines()


def test_where_nothing_is_finished_a_line_says_that_it_goes_on(capsys):
    lines = said_while(capsys, 0.5, quiet=0.1)
    assert 1 <= len(lines) <= 5
    assert all(re.fullmatch(r"x: 0 % since \d+ s, still computing", line) for line in lines)


def test_it_is_silent_after_a_line_and_at_the_end(capsys):
    (line,) = said_while(capsys, 0.1, add=4, every=0.0, quiet=0.5)
    assert line.startswith("x: 40 %, ")
    assert said_while(capsys, 0.05, quiet=0.5) == []
    time.sleep(0.6)
    assert capsys.readouterr().err == ""


def test_the_rate_and_the_rest_follow_from_what_is_done(capsys):
    with Meter("x", 10, every=0.0) as meter:
        part = meter.part()
        part.add(4)
        part.undo()
        meter.add(10)
    assert capsys.readouterr().err.splitlines()[-1].startswith("x: 100 %, ")
