"""Workers that are jobs of a Slurm cluster, for sites that offer nothing else. They connect to the driver."""

import contextlib
import os
import queue
import secrets
import socket
import sys
import threading
from multiprocessing.connection import Connection, Listener
from pathlib import Path
from typing import Any

from bench.errors import InputError
from bench.execution.executor import WorkerDied
from bench.execution.processes import ROOT, Processes, Worker, settings
from bench.execution.shared import packed

FOLDER = "slurm"  # folder of submitit's scripts and logs, in the current folder
CLUSTER = "slurm"  # submitit's name; "local" starts processes of this machine in place of jobs
POLL_S = 1.0


class SlurmJobs(Processes):
    """Workers that are jobs, which submitit submits and which connect to the driver.

    The time, partition and devices of a job are those that `sbatch` reads from the environment (SBATCH_TIMELIMIT,
    SBATCH_PARTITION, SBATCH_GPUS_PER_TASK and so on). The driver must be reachable from the nodes under its host name.

    Args:
        workers: the number of jobs.
        budget: bytes that a compiled program may need in a job; None: from the free memory of its node.

    Raises:
        InputError: where submitit is not installed, or Slurm is not available.
    """

    def __init__(self, workers: int, budget: float | None = None):
        try:
            import submitit
        except ImportError:
            raise InputError("--executor slurm needs submitit: pip install '.[slurm]'") from None
        try:
            self._cluster = submitit.AutoExecutor(folder=FOLDER, cluster=CLUSTER)
        except RuntimeError as error:
            raise InputError(f"--executor slurm cannot be used here: {error}") from None
        self._cluster.update_parameters(name="bench", timeout_min=7 * 24 * 60)
        super().__init__(workers, budget)
        key = secrets.token_bytes(32)
        # Others could read the key on a command line, but not in a file of the folder that the nodes share.
        self._key_file = Path(FOLDER) / f"{secrets.token_hex(8)}.key"
        self._key_file.touch(mode=0o600)
        self._key_file.write_bytes(key)
        self._listener = Listener(("", 0), authkey=key, backlog=64)
        self._arrivals: dict[str, queue.SimpleQueue[Any]] = {}  # connections, by the name of their worker
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while not self._closed.is_set():
            try:
                connection = self._listener.accept()
                self._arrivals[connection.recv()].put(connection)
            except OSError:
                return
            except Exception as error:  # a connection from elsewhere, without the key
                print(f"refused a connection: {error}", file=sys.stderr)

    def _start(self, number: int) -> Worker:
        from submitit.helpers import CommandFunction

        host = socket.gethostname() if CLUSTER == "slurm" else "localhost"
        name, port = secrets.token_hex(8), str(self._listener.address[1])
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH"), os.getcwd()]))
        words = ["env", f"PYTHONPATH={path}", sys.executable, "-P", "-m", "bench.execution.worker"]
        words += ["--address", host, port, "--name", name, "--key", str(self._key_file.resolve())]
        self._arrivals[name] = queue.SimpleQueue()
        job = self._cluster.submit(CommandFunction(words))
        connection = self._connection(job, self._arrivals[name])
        connection.send_bytes(packed(tuple(settings(None, self.budget, 1))))
        return JobWorker(job, connection)

    def _connection(self, job: Any, arrival: queue.SimpleQueue) -> Connection:
        """Return the connection of a job, which may wait for days in Slurm's queue."""
        while not self._closed.is_set():
            with contextlib.suppress(queue.Empty):
                return arrival.get(timeout=POLL_S)
            if job.done():
                raise InputError(
                    f"Slurm job {job.job_id} ended before it could start working: its log is {job.paths.stderr}"
                )
        job.cancel()
        raise WorkerDied

    def close(self) -> None:
        """Cancel all jobs."""
        super().close()
        self._listener.close()
        self._key_file.unlink(missing_ok=True)


class JobWorker(Worker):
    """A job and the connection to it."""

    def __init__(self, job: Any, connection: Connection):
        self.job, self.connection = job, connection

    def kill(self) -> None:
        """Cancel the job; no conversation may be going on."""
        self.connection.close()
        self.job.cancel()
