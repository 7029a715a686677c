"""Calls in several processes: their order, their errors, and that no process is left behind."""

import math
import operator
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from bench.errors import InputError
from bench.processes import side_by_side

ASLEEP = """
import time
from bench.processes import side_by_side
if __name__ == "__main__":
    list(side_by_side(time.sleep, [(600,), (600,)], 2))
"""


@pytest.mark.parametrize("processes", [1, 2])
def test_results_come_in_the_order_of_the_calls(processes):
    assert list(side_by_side(operator.sub, [(5, 1), (3, 3), (1, 2)], processes)) == [4, 0, -1]


@pytest.mark.parametrize("processes", [1, 2])
def test_an_error_comes_when_the_turn_of_its_call_does(processes):
    results = side_by_side(math.sqrt, [(4,), (-1,), (9,)], processes)
    assert next(results) == 2
    with pytest.raises(ValueError, match=r"math domain|nonnegative"):
        next(results)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_processes_end_with_the_one_that_started_them(tmp_path, number):
    (tmp_path / "asleep.py").write_text(ASLEEP)
    started = subprocess.Popen(
        [sys.executable, str(tmp_path / "asleep.py")],
        env=os.environ | {"PYTHONPATH": os.getcwd()},
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    parent, until = psutil.Process(started.pid), time.monotonic() + 60
    while len(children := parent.children(recursive=True)) < 2:
        assert time.monotonic() < until
        time.sleep(0.05)
    time.sleep(1)  # for the two to begin
    os.killpg(started.pid, number) if number == signal.SIGINT else started.send_signal(number)
    started.wait(20)
    assert not psutil.wait_procs(children, timeout=20)[1]


def test_a_process_that_is_killed_is_one_line():
    with pytest.raises(InputError, match="a process ended before its work was done: free some memory"):
        list(side_by_side(signal.raise_signal, [(signal.SIGKILL,), (signal.SIGKILL,)], 2))
