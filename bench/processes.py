"""Worker processes of this machine, for sweeps, figures, claims and benchmarks.

A worker is started once and calls the functions that it is sent, one after the other. It ends with the connection to
the process that started it, and so never outlives it, and Ctrl-C goes to that process alone. Nothing here needs JAX.
"""

import contextlib
import gc
import os
import pickle
import queue
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from bench.errors import SUITE, InputError

Result = TypeVar("Result")

ROOT = SUITE.parent
# -P, since PYTHONPATH has the current folder last, where another package may also be called bench.
COMMAND = (sys.executable, "-P", "-c", "import bench.processes; bench.processes.serve()")
_driver: list[Connection] = []  # in a worker, the connection to the process that started it


class WorkerDied(Exception):
    """A worker has ended, for any reason. What it had not returned is lost."""


def cores() -> list[int]:
    """Return the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def shares(workers: int) -> list[tuple[int, ...]]:
    """Return the cores of each worker in equal shares; several workers share a core where there are more workers."""
    all_cores: Sequence[int] = cores()
    if workers >= len(all_cores):
        return [(all_cores[number % len(all_cores)],) for number in range(workers)]
    bounds = [round(number * len(all_cores) / workers) for number in range(workers + 1)]
    return [tuple(all_cores[low:high]) for low, high in pairwise(bounds)]


class Worker:
    """A process, and the connection to it.

    known: what whoever calls it has sent it before.

    Args:
        cores: that it keeps to, where the system supports it; none leaves that to the system. The BLAS of NumPy and
            SciPy gets as many threads, or one: it would start one for each core of the machine, and on fewer cores they
            wait for each other busily, so that a worker with one of two cores took three times as long.
        environment: changes of this process's environment.
    """

    def __init__(self, cores: Sequence[int] = (), environment: Mapping[str, str] | None = None):
        driver_end, worker_end = socket.socketpair()
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH"), os.getcwd()]))
        threads = {"OPENBLAS_NUM_THREADS": str(max(1, len(cores)))}
        with worker_end:
            self.process = subprocess.Popen(
                [*COMMAND, str(worker_end.fileno()), *map(str, cores)],
                env={**threads, **os.environ, "PYTHONPATH": path, **(environment or {})},
                pass_fds=[worker_end.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        self.connection = Connection(driver_end.detach())
        self.sent: list[str] = []

    def call(self, function: Callable, *args: Any, report: Callable[[Any], object] = lambda message: None) -> Any:
        """Return what the worker's call of a function returns.

        Args:
            function: of a module.
            args: of it.
            report: receives what the function tells on the way.

        Raises:
            WorkerDied: where the process ends before.
            Exception: that of the call, with the worker's traceback as a note.
        """
        content = pickle.dumps((function, args))
        try:
            self.connection.send_bytes(content)
            while (answer := self.connection.recv())[0] == "told":
                report(answer[1])
        except (EOFError, OSError):
            raise WorkerDied from None
        if answer[0] == "raised":
            raise answer[1]
        return answer[1]

    def hang_up(self) -> None:
        """End the conversation; the thread that leads it notices this."""
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(self.connection.fileno())) as end:
            end.shutdown(socket.SHUT_RDWR)

    def kill(self) -> None:
        """End the process at once; no conversation may be going on."""
        self.process.kill()
        self.process.wait()
        with contextlib.suppress(OSError):
            self.connection.close()


class Workers:
    """Workers that are started when there is a call for them; a context manager that ends them at once.

    Args:
        places: cores and environment of each, as `Worker` takes them.
    """

    def __init__(self, places: Sequence[tuple[Sequence[int], Mapping[str, str]]]):
        self.places = places
        self._free: queue.SimpleQueue[int] = queue.SimpleQueue()
        for number in range(len(places)):
            self._free.put(number)
        self._started: dict[int, Worker] = {}
        self._threads = ThreadPoolExecutor(len(places), thread_name_prefix="worker")
        self._closed = threading.Event()

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def submit(self, function: Callable[..., Result], *args: Any) -> Future[Result]:
        """Have the worker that has been free for longest call a function; as many calls at once have one each."""
        return self.use(lambda worker: worker.call(function, *args))

    def use(self, conversation: Callable[[Worker], Result]) -> Future[Result]:
        """Lead a conversation with a worker. The future fails with WorkerDied where the worker ends before."""
        return self._threads.submit(self._lead, conversation)

    def _lead(self, conversation: Callable[[Worker], Result]) -> Result:
        number = self._free.get()
        try:
            if number not in self._started and not self._closed.is_set():
                self._started[number] = Worker(*self.places[number])
            if self._closed.is_set():  # perhaps while the worker was started
                raise WorkerDied
            return conversation(self._started[number])
        except WorkerDied:
            if number in self._started:
                self._started.pop(number).kill()
            raise
        finally:
            self._free.put(number)

    def close(self) -> None:
        """End all workers at once."""
        self._closed.set()
        for worker in list(self._started.values()):
            worker.hang_up()
        self._threads.shutdown(wait=True, cancel_futures=True)
        for worker in self._started.values():
            worker.kill()
        self._started.clear()


def side_by_side(
    function: Callable[..., Result], calls: Sequence[tuple], processes: int | None = None
) -> Iterator[Result]:
    """Yield the results of the calls in their order, each as soon as it and those before it are finished.

    Args:
        function: of a module.
        calls: the arguments of each call.
        processes: at most; default one for each core. With one, or a single call, everything runs in this process.

    Raises:
        InputError: where a process is killed.
        Exception: that of a call, when its turn comes; the calls after it are dropped.
    """
    number = min(processes or len(cores()), len(calls))
    if number < 2:
        yield from (function(*call) for call in calls)
        return
    with Workers([((), {})] * number) as workers:
        for answer in [workers.submit(function, *call) for call in calls]:
            try:
                yield answer.result()
            except WorkerDied:
                raise InputError("a process ended before its work was done: free some memory, and repeat it") from None


# ---- In a worker ----


def tell(message: Any) -> None:
    """Tell the process that started this worker something, before the call returns."""
    _send(pickle.dumps(("told", message)))


def serve() -> None:
    """Call what arrives at the file descriptor that is the first argument, until it is closed; the others are cores.

    Garbage is looked for a hundredth as often: with many tables that takes a fifteenth of the time.
    """
    number, *assigned = map(int, sys.argv[1:])
    if assigned and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, assigned)
    gc.set_threshold(100 * gc.get_threshold()[0])
    _driver.append(Connection(number))
    arrived: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(arrived,), daemon=True).start()
    while True:
        try:
            function, args = pickle.loads(arrived.get())
            answer = pickle.dumps(("returned", function(*args)))
        except Exception as error:
            answer = _raised(error)
        _send(answer)


def _raised(error: Exception) -> bytes:
    """Return the message of an error: itself with its traceback as a note, or that alone where it cannot be sent."""
    text = f"in a worker:\n{''.join(traceback.format_exception(error))}"
    try:
        error.add_note(text)
        answer = pickle.dumps(("raised", error))
        pickle.loads(answer)
    except Exception:
        answer = pickle.dumps(("raised", RuntimeError(text)))
    return answer


def _listen(arrived: queue.SimpleQueue) -> None:
    """Queue what arrives; if the process that started this one has ended, end at once."""
    while True:
        try:
            arrived.put(_driver[0].recv_bytes())
        except (EOFError, OSError):
            os._exit(0)


def _send(content: bytes) -> None:
    try:
        _driver[0].send_bytes(content)
    except OSError:
        os._exit(0)
