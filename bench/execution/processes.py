"""Workers that are processes of this machine, each with its own cores or its own GPU."""

import contextlib
import os
import queue
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing.connection import Connection

import cloudpickle
import jax

from bench.errors import SUITE, InputError
from bench.execution import resources
from bench.execution.executor import WorkerDied
from bench.execution.progress import Report
from bench.execution.shared import Sender, Wire
from bench.execution.source import code
from bench.execution.unit import Outcome, Unit
from bench.execution.worker import Settings

ROOT = SUITE.parent
PASSED_ON = (
    "jax_compilation_cache_dir",
    "jax_persistent_cache_min_compile_time_secs",
    "jax_enable_x64",
    "jax_default_matmul_precision",
)


def settings(cores: tuple[int, ...] | None, budget: float | None, workers_here: int) -> Settings:
    """Return the settings of a worker with these cores and this budget, on a machine with `workers_here` workers."""
    config = {name: getattr(jax.config, name) for name in PASSED_ON}
    return Settings(cores, config, code(), budget, workers_here)


class Worker:
    """One process and the connection to it.

    Args:
        number: of the worker, from 0.
        workers: the number of workers.
        budget: bytes that a compiled program may need; None: its share of the free memory.
        gpus: of the machine, which the workers share.
    """

    def __init__(self, number: int, workers: int, budget: float | None, gpus: Sequence[str]):
        mine, its = socket.socketpair()
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH"), os.getcwd()]))
        environment = os.environ | {"PYTHONPATH": path}
        if gpus:
            environment["CUDA_VISIBLE_DEVICES"] = gpus[number % len(gpus)]
            here = -(-workers // len(gpus))
            if here > 1:
                environment["XLA_PYTHON_CLIENT_MEM_FRACTION"] = f"{0.75 / here:.3f}"
        else:
            here = workers
        # -P, since PYTHONPATH has the current folder last, where another package may also be called bench.
        command = [sys.executable, "-P", "-m", "bench.execution.worker", str(its.fileno())]
        with its:
            self.process = subprocess.Popen(
                command,
                env=environment,
                pass_fds=[its.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C goes only to the driver, which ends its workers
            )
        self.connection = Connection(mine.detach())
        cores = None if gpus else resources.shares(workers)[number]
        self.connection.send_bytes(cloudpickle.dumps(tuple(settings(cores, budget, here))))

    def converse(self, wire: Wire, sender: Sender, report: Report) -> Outcome:
        """Have a unit trained, and return its outcome.

        Raises:
            WorkerDied: where the process ends before.
            InputError: as the unit did.
            RuntimeError: with the worker's traceback, for any other error there.
        """
        try:
            self.connection.send_bytes(cloudpickle.dumps(wire))
            while True:
                kind, *content = self.connection.recv()
                if kind == "need":
                    self.connection.send_bytes(sender.pack(content[0]))
                elif kind == "progress":
                    report(content[0])
                elif kind == "outcome":
                    return content[0]
                elif kind == "error":
                    refused, text = content
                    raise InputError(refused) if refused is not None else RuntimeError(f"in a worker:\n{text}")
        except (EOFError, OSError):
            raise WorkerDied from None

    def hang_up(self) -> None:
        """End the conversation; the thread that leads it notices this, and ends the worker."""
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(self.connection.fileno())) as end:
            end.shutdown(socket.SHUT_RDWR)

    def kill(self) -> None:
        """End the process at once; no conversation may be going on."""
        self.process.kill()
        self.process.wait()
        with contextlib.suppress(OSError):
            self.connection.close()


class Processes:
    """Workers of this machine, started when there is work for them.

    Args:
        workers: the number of workers.
        budget: bytes that a compiled program of each may need; None: its share of the free memory.
        gpus: of the machine, as `resources.gpus` names them.
    """

    def __init__(self, workers: int, budget: float | None = None, gpus: Sequence[str] = ()):
        self.num_workers, self.budget, self.gpus = workers, budget, gpus
        self.sender = Sender()
        self._free: queue.SimpleQueue[int] = queue.SimpleQueue()
        for number in range(workers):
            self._free.put(number)
        self._workers: dict[int, Worker] = {}
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="worker")
        self._closed = threading.Event()

    def submit(self, unit: Unit, report: Report) -> "Future[Outcome]":
        wire = self.sender.wire(unit)
        future = self._threads.submit(self._run, wire, report)
        future.add_done_callback(lambda _: self.sender.finished(wire))
        return future

    def _run(self, wire: Wire, report: Report) -> Outcome:
        number = self._free.get()
        try:
            if self._closed.is_set():
                raise WorkerDied
            if number not in self._workers:
                self._workers[number] = Worker(number, self.num_workers, self.budget, self.gpus)
                if self._closed.is_set():  # closed while the worker was started
                    raise WorkerDied
            return self._workers[number].converse(wire, self.sender, report)
        except WorkerDied:
            if number in self._workers:
                self._workers.pop(number).kill()
            raise
        finally:
            self._free.put(number)

    def close(self) -> None:
        """End all workers at once."""
        self._closed.set()
        for worker in list(self._workers.values()):
            worker.hang_up()
        self._threads.shutdown(wait=True, cancel_futures=True)
        for worker in self._workers.values():
            worker.kill()
        self._workers.clear()
