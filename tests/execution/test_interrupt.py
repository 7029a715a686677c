"""Processes that are killed, or stopped with Ctrl-C, while they run a sweep."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tiny_sweeps import EVERY, ROOT, ROUNDS, assert_same_rows, run, table, walks

from bench import __main__ as command
from bench.papers import SWEEPS

RUNS = 24 * 2  # 24 points, one at a time, two seeds
STEPS = [round(0.1 + 0.05 * place, 2) for place in range(24)]

# The command line as a person uses it, with a sweep of random walks; a pause after each part, that there is time.
SCRIPT = f"""
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's background job would ignore
from bench import __main__ as command
from bench.papers import SWEEPS
from bench.store import store
from tiny_sweeps import walks
write = store.Store.write
store.Store.write = lambda self, rows: (write(self, rows), time.sleep(float(os.environ["PAUSE"])))
SWEEPS["tiny"] = lambda scale: walks(steps={STEPS})
sys.exit(command.main())
"""


def words(out) -> list[str]:
    return ["run", "tiny", "--chunk", "1", "--out", str(out)]


def start(out, pause: float = 0) -> subprocess.Popen:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(["tests/helpers", "."]), "PAUSE": str(pause)}
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, *words(out)], env=environment, cwd=ROOT, stderr=subprocess.PIPE, text=True
    )


def parts(out) -> int:
    return len(list((out / "smoke" / "tiny").glob("part-*.parquet")))


def wait_for_parts(process, out, number):
    while parts(out) < number:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.005)


def assert_whole(out, reference):
    here = table(out / "smoke" / "tiny")
    assert len(here) == RUNS * (1 + ROUNDS // EVERY)
    assert_same_rows(here, run(walks(steps=STEPS), reference))


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_a_signal_ends_in_how_to_go_on_and_a_second_writer_is_refused(tmp_path, number, monkeypatch, capsys):
    out = tmp_path / "out"
    process = start(out, pause=5)
    wait_for_parts(process, out, 1)
    monkeypatch.setitem(SWEEPS, "tiny", lambda scale: walks(steps=STEPS))
    monkeypatch.setattr(sys, "argv", ["bench", *words(out)])
    assert command.main() == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line == f"error: {out / 'smoke' / 'tiny'} is in use by another run: wait for it, or choose --out"
    kept = parts(out)
    process.send_signal(number)
    said = process.communicate()[1]
    assert process.returncode == 128 + number, said
    assert said.splitlines()[-1] == "stopped; everything finished is kept, run the same command again to continue"
    assert "Traceback" not in said
    assert kept <= parts(out) < RUNS
    assert not list(Path(out).rglob(".part-*"))
    run(walks(steps=STEPS), out)
    assert_whole(out, tmp_path / "reference")
