"""Workers that are jobs of a Slurm cluster, for sites that offer nothing else. They connect to the driver."""

import contextlib
import io
import os
import queue
import secrets
import socket
import subprocess
import sys
import threading
import time
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from pathlib import Path
from typing import Any

from bench.errors import InputError, cut
from bench.execution.executor import WorkerDied
from bench.execution.processes import ROOT, Processes, Worker, settings
from bench.execution.shared import packed
from bench.execution.worker import keep_alive

FOLDER = "slurm"  # folder of submitit's scripts and logs, in the current folder
HOST = "BENCH_SLURM_HOST"  # environment variable: the driver's name or address, as the nodes see it
POLL_S = 1.0
HANDSHAKE_S = 10.0  # within which a connection must have shown the key of the run
AT_ONCE = 64  # connections that may be showing it at the same time
UNKNOWN_S = 60.0  # between two questions to `squeue` about a job that the accounting does not know


class SlurmJobs(Processes):
    """Workers that are jobs, which submitit submits and which connect to the driver.

    The time, partition and devices of a job are those that `sbatch` reads from the environment (SBATCH_TIMELIMIT,
    SBATCH_PARTITION, SBATCH_GPUS_PER_TASK and so on). The driver must be reachable from the nodes (`own_address`).

    Args:
        workers: the number of jobs.
        budget: bytes that a compiled program may need in a job; None: from the free memory of its node.

    Raises:
        InputError: where submitit is not installed, Slurm is not available, or its folder cannot be written.
    """

    def __init__(self, workers: int, budget: float | None = None):
        try:
            import submitit
        except ImportError:
            raise InputError("--executor slurm needs submitit: pip install '.[slurm]'") from None
        try:
            self._cluster = submitit.AutoExecutor(folder=FOLDER, cluster="slurm")
        except RuntimeError as error:
            raise InputError(f"--executor slurm cannot be used here: {error}") from None
        self._cluster.update_parameters(name="bench", timeout_min=7 * 24 * 60)
        super().__init__(workers, budget)
        key = secrets.token_bytes(32)
        # Others could read the key on a command line, but not in a file of the folder that the nodes share.
        self._key_file = Path(FOLDER) / f"{secrets.token_hex(8)}.key"
        try:
            self._key_file.parent.mkdir(exist_ok=True)
            self._key_file.touch(mode=0o600)
            self._key_file.write_bytes(key)
        except OSError as error:
            raise InputError(
                f"cannot write {FOLDER}/ here ({error.strerror}): run the command in a folder of your own on a file "
                "system that the nodes share"
            ) from None
        self._door = Door(own_address(), key)

    def _start(self, number: int) -> Worker:
        host, port = self._door.address
        name = secrets.token_hex(8)
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH"), os.getcwd()]))
        words = ["env", f"PYTHONPATH={path}", sys.executable, "-P", "-m", "bench.execution.worker"]
        words += ["--address", host, str(port), "--name", name, "--key", str(self._key_file.resolve())]
        arrival = self._door.expect(name)
        job = self._submitted(words)
        connection = self._connection(job, arrival)
        connection.send_bytes(packed(tuple(settings(None, self.budget, 1))))
        return JobWorker(job, connection)

    def _submitted(self, words: list[str]) -> Any:
        """Return the job that runs a command.

        Raises:
            InputError: in the words of the scheduler, where it refuses the job or answers something else.
        """
        from submitit.core.utils import FailedJobError, FailedSubmissionError
        from submitit.helpers import CommandFunction

        printed, refusal = io.StringIO(), ""
        try:
            with contextlib.redirect_stderr(printed):  # submitit prints what the error says
                return self._cluster.submit(CommandFunction(words))
        except FailedJobError as error:
            refusal = str(error)
            said = f"refuses the job ({_in_one_line(refusal) or 'without a word'}): correct the SBATCH_... variables"
        except FailedSubmissionError as error:
            answer = _in_one_line(str(error).partition("\nJob instance")[0])
            said = f"answers without the number of a job ({answer}): see `squeue --me`, and which sbatch is called"
        except OSError as error:
            said = f"cannot be run ({error.filename or 'sbatch'}: {error.strerror}): run the command where it can"
        finally:
            print(printed.getvalue().replace(refusal, "").strip("\n"), end="", file=sys.stderr)
        raise InputError(f"sbatch {said}")

    def _connection(self, job: Any, arrival: queue.SimpleQueue) -> Connection:
        """Return the connection of a job, which may wait for days in Slurm's queue."""
        ask = time.monotonic() + UNKNOWN_S
        while not self._closed.is_set():
            with contextlib.suppress(queue.Empty):
                return arrival.get(timeout=POLL_S)
            over, unknown = _state(job)
            if unknown and time.monotonic() > ask:
                over, ask = _is_in_no_queue(job), time.monotonic() + UNKNOWN_S
            if over:
                with contextlib.suppress(queue.Empty):  # it may have connected just now
                    return arrival.get(timeout=POLL_S)
                raise InputError(
                    f"Slurm job {job.job_id} ended before it could start working: its log is {job.paths.stderr}; if it "
                    f"could not reach {':'.join(map(str, self._door.address))}, set {HOST} to this machine's address"
                )
        _cancel(job)
        raise WorkerDied

    def close(self) -> None:
        """Cancel all jobs."""
        super().close()
        self._door.close()
        self._key_file.unlink(missing_ok=True)


def own_address() -> str:
    """Return the address at which the nodes reach this machine: HOST, or an address of its host name, or else that of
    its way out, since some systems give the host name an address that no other machine can use.
    """
    if given := os.environ.get(HOST):
        return given
    with contextlib.suppress(OSError):
        for address in socket.gethostbyname_ex(socket.gethostname())[2]:
            if not address.startswith("127."):
                return address
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way_out:
        way_out.connect(("192.0.2.1", 9))  # an address for documentation; nothing is sent
        return way_out.getsockname()[0]
    return "127.0.0.1"


class Door:
    """Where jobs arrive: a port of one interface, at which every connection must show the key of the run.

    Each connection shows it in a thread of its own and within HANDSHAKE_S, so that neither a scan nor a connection that
    says nothing or too much keeps the jobs waiting.

    Args:
        host: name or address of this machine. All interfaces are used where none of them has it, as behind a gateway.
        key: of the run.
    """

    def __init__(self, host: str, key: bytes):
        try:
            self._socket = socket.create_server((host, 0), backlog=AT_ONCE)
        except OSError:
            self._socket = socket.create_server(("", 0), backlog=AT_ONCE)
        self._socket.settimeout(POLL_S)
        self.address = host, int(self._socket.getsockname()[1])
        self._key, self._closed = key, threading.Event()
        self._expected: dict[str, queue.SimpleQueue[Connection]] = {}
        self._refused: set[str] = set()  # addresses
        self._reporting = threading.Lock()
        self._places = threading.BoundedSemaphore(AT_ONCE)
        threading.Thread(target=self._accept, daemon=True).start()

    def expect(self, name: str) -> "queue.SimpleQueue[Connection]":
        """Return the queue into which the connection of the job with this name will be put."""
        self._expected[name] = queue.SimpleQueue()
        return self._expected[name]

    def close(self) -> None:
        """Let nobody in any more."""
        self._closed.set()
        self._socket.close()

    def _accept(self) -> None:
        while not self._closed.is_set():
            if not self._places.acquire(timeout=POLL_S):
                continue
            try:
                arrived, (address, _) = self._socket.accept()
            except OSError as error:  # nobody for a second; or a connection that was reset, or too many open files
                self._places.release()
                if not isinstance(error, TimeoutError):
                    self._closed.wait(POLL_S / 10)
                continue
            threading.Thread(target=self._admit, args=(arrived, address), daemon=True).start()

    def _admit(self, arrived: socket.socket, address: str) -> None:
        """Put a connection into the queue of its job once it has shown the key."""
        arrived.setblocking(True)
        limit = threading.Timer(HANDSHAKE_S, _hang_up, [arrived])
        connection = Connection(os.dup(arrived.fileno()))
        try:
            limit.start()
            deliver_challenge(connection, self._key)
            answer_challenge(connection, self._key)
            waiting = self._expected.pop(connection.recv())
            limit.cancel()
            keep_alive(connection)
            waiting.put(connection)
        except Exception as error:  # whatever somebody without the key may send
            connection.close()
            with self._reporting:  # connections of one address may be refused at the same time
                new = address not in self._refused and len(self._refused) < AT_ONCE
                self._refused.add(address)
            if new:
                print(
                    f"refused connections from {address}, without the key of this run ({type(error).__name__})",
                    file=sys.stderr,
                )
        finally:
            limit.cancel()
            arrived.close()
            self._places.release()


def _hang_up(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)


def _in_one_line(text: str) -> str:
    return cut("; ".join(filter(None, map(str.strip, text.splitlines()))), 300)


def _state(job: Any) -> tuple[bool, bool]:
    """Return whether a job has ended, and whether the accounting does not know it."""
    try:
        return job.done(), job.watcher.get_state(job.job_id, mode="cache") == "UNKNOWN"
    except Exception:  # an answer of `sacct` that submitit does not understand
        return False, True


def _is_in_no_queue(job: Any) -> bool:
    """Return whether `squeue` does not know a job, or lists it no more."""
    try:
        asked = subprocess.run(["squeue", "-h", "-j", job.job_id], capture_output=True, timeout=UNKNOWN_S)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return not asked.stdout.strip() if asked.returncode == 0 else b"nvalid job id" in asked.stderr


def _cancel(job: Any) -> None:
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        job.cancel()


class JobWorker(Worker):
    """A job and the connection to it."""

    def __init__(self, job: Any, connection: Connection):
        self.job, self.connection = job, connection

    def kill(self) -> None:
        """Cancel the job; no conversation may be going on."""
        self.connection.close()
        _cancel(self.job)
