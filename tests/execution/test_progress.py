"""Progress on a terminal that is none: how much is done, at which rate, what is left, and that work goes on."""

import re
import threading
import time

from bench.execution.estimate import Command, Shorter
from bench.execution.progress import Meter
from bench.execution.steps import Compiled, Compiling, Trained


def said(capsys) -> list[str]:
    """The lines so far."""
    return capsys.readouterr().err.splitlines()


def test_where_nothing_is_measured_a_line_says_that_it_goes_on(capsys):
    with Meter("x", 10, every=0.1) as meter:
        time.sleep(0.5)
        lines = said(capsys)
        assert 1 <= len(lines) <= 5
        assert all(re.fullmatch(r"x: starting since \d+ s", line) for line in lines)
        meter.part("kind", 10).report(Compiled(1.0))
        time.sleep(0.3)
        assert re.fullmatch(r"x: 0 % since \d+ s, still computing", said(capsys)[-1])
    time.sleep(0.3)
    assert said(capsys) == []


def test_nothing_of_a_meter_runs_on_while_the_interpreter_ends():
    """A thread that outlives it may free the last arrays then, and JAX aborts the process: 2 of 45 short commands."""
    before = set(threading.enumerate())
    with Meter("x", 10):
        assert len(set(threading.enumerate()) - before) == 1
    assert set(threading.enumerate()) <= before


def test_compiling_is_named_and_a_fast_sweep_says_one_line(capsys):
    with Meter("x", 10, every=0.1) as meter:
        meter.command.estimate.programs = 3
        part = meter.part("kind", 10)
        part.report(Compiling())
        time.sleep(0.3)
        assert set(said(capsys)) == {"x: compiling program 1 of 3 for 0 s"}
    with Meter("x", 10, every=0.5) as meter:
        meter.part("kind", 10).report(Trained(10, 1.0))
        time.sleep(0.3)
    assert said(capsys) == ["x: 100 %, 10 run-rounds/s"]


def test_what_is_left_counts_the_seconds_of_rounds_apart_from_those_of_compiling(capsys):
    """100 run-rounds in 50 s; of three programs one took 40 s, whatever the clock of the driver says."""
    with Meter("x", 1000, every=0.1) as meter:
        meter.command.estimate.now, meter.command.estimate.programs = {"kind": 1000}, 3
        meter.command.warned = True
        part = meter.part("kind", 400)
        part.report(Compiling())
        part.report(Compiled(40.0))
        part.report(Trained(100, 50.0))
        time.sleep(0.3)
        assert set(said(capsys)) == {"x: 10 %, 2 run-rounds/s, about 9 min left, 80 s of it for compiling"}
        part.undo()
        time.sleep(0.3)
        assert said(capsys)[-1] == "x: 0 %, 2 run-rounds/s, about 10 min left, 80 s of it for compiling"


def test_a_command_that_takes_more_than_five_minutes_says_so_once(capsys):
    command = Command()
    command.shorter = [Shorter("--seeds 2", 0.5), Shorter("fewer --baselines")]
    asked = []
    for _ in range(2):
        command.estimate.now = {"kind": 1000}
        with Meter("x", 1000, every=0.1, command=command, reasons=lambda: asked.append(1) or ["metrics"]) as meter:
            meter.part("kind", 1000).report(Trained(10, 10.0))
            time.sleep(0.3)
    lines = [line for line in said(capsys) if line.startswith("This takes about")]
    assert lines == [
        "This takes about 17 min in all. Why: metrics. Shorter: --seeds 2 (about 8 min), fewer --baselines."
    ]
    assert asked == [1]
