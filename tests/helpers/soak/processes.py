"""Runs of the command line in processes that can be killed: forked where all is imported, or started from cold."""

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Sequence
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).parents[3]
MARK = "BENCH_SOAK"  # in the environment of all that a run starts, workers included
GONE_S = 20.0  # for workers to see that their driver is gone


class Running:
    """A run that is under way.

    Attributes:
        pid: of its process.
        log: the file of its standard error.
        mark: in the environment of its process and of those that it starts.
    """

    def __init__(self, pid: int, log: Path, mark: str, ended: Callable[[float | None], int | None]):
        self.pid, self.log, self.mark, self._ended = pid, log, mark, ended
        self.status: int | None = None

    def wait(self, seconds: float | None = None) -> int | None:
        """The exit status, negative for a signal; None where it has not ended by then."""
        if self.status is None:
            self.status = self._ended(seconds)
        return self.status

    def end(self, number: int) -> int:
        """Send a signal; the exit status."""
        if self.wait(0) is None:
            os.kill(self.pid, number)
        status = self.wait(120)
        assert status is not None, f"process {self.pid} outlives signal {number}"
        return status

    def said(self) -> str:
        """What it wrote to standard error."""
        return self.log.read_text(errors="replace")

    def orphans(self) -> list[int]:
        """Processes that it started and that outlive it for longer than they may."""
        until = time.monotonic() + GONE_S
        while (left := _marked(self.mark)) and time.monotonic() < until:
            time.sleep(0.05)
        return left


def _marked(mark: str) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                marked = f"{MARK}={mark}".encode() in (entry / "environ").read_bytes()
                if marked and psutil.Process(int(entry.name)).status() != psutil.STATUS_ZOMBIE:
                    found.append(int(entry.name))
            except (OSError, psutil.Error):
                continue
    return found


class Forks:
    """A process that has imported everything, and forks one run after the other.

    Nothing of XLA has been started in it: it is the state of a fresh process after its imports. A context manager.

    Args:
        prepare: called once, after the imports.
    """

    def __init__(self, prepare: Callable[[], Any]):
        self._mine, its = Pipe()
        self._pid = os.fork()
        if self._pid == 0:
            self._mine.close()
            prepare()
            _serve(its)
        its.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._mine.close()
        os.waitpid(self._pid, 0)

    def start(self, words: Sequence[str], log: Path) -> Running:
        """Run `python -m bench WORDS`."""
        mark = uuid.uuid4().hex
        self._mine.send((list(words), str(log), {MARK: mark}))
        pid = self._mine.recv()

        def ended(seconds: float | None) -> int | None:
            return self._mine.recv() if self._mine.poll(seconds) else None

        return Running(pid, log, mark, ended)


def _serve(connection: Any) -> None:
    while True:
        try:
            words, log, environment = connection.recv()
        except EOFError:
            os._exit(0)
        pid = os.fork()
        if pid == 0:
            connection.close()
            _become(words, log, environment)
        connection.send(pid)
        connection.send(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def _become(words: list[str], log: str, environment: dict[str, str]) -> None:
    """Be `python -m bench WORDS` from here on."""
    status = 99
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.environ.update(environment)
        file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, 1)
        os.dup2(file, 2)
        sys.argv = ["bench", *words]
        from bench import __main__ as command

        status = command.main()
    except BaseException:
        import traceback

        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def from_cold(words: Sequence[str], log: Path) -> Running:
    """Run `python -m bench WORDS` in a fresh interpreter."""
    mark = uuid.uuid4().hex
    new = os.environ | {"PYTHONPATH": str(ROOT), MARK: mark}
    with open(log, "wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "bench", *words],
            cwd=ROOT,
            env=new,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )

    def ended(seconds: float | None) -> int | None:
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    return Running(process.pid, log, mark, ended)


def handles_signals(running: Running) -> bool:
    """Whether its process has come so far that it catches SIGTERM."""
    try:
        status = Path(f"/proc/{running.pid}/status").read_text()
    except OSError:
        return False
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt:")).split()[1]
    return bool(int(caught, 16) >> (signal.SIGTERM - 1) & 1)
