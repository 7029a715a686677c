"""Workers that are jobs of a Slurm cluster, for sites that have nothing else. They connect to the driver."""

import os
import queue
import secrets
import shlex
import socket
import sys
import threading
from multiprocessing.connection import Connection, Listener
from typing import Any

from bench.errors import InputError
from bench.sweeps.execution.processes import ROOT, Processes, Worker, settings
from bench.sweeps.execution.shared import packed

FOLDER = "slurm"  # of submitit's scripts and logs, where the command was typed
WAIT_S = 24 * 3600.0  # in the cluster's queue


class SlurmJobs(Processes):
    """Each worker is a job, which submitit hands in and which connects to the driver.

    The time, partition and devices of a job are what `sbatch` reads from the environment (SBATCH_TIMELIMIT,
    SBATCH_PARTITION, SBATCH_GPUS_PER_TASK and so on). The driver must be reachable from the nodes under its host name.

    Args:
        workers: how many jobs.
        budget: bytes that a compiled program may need in a job; None: from what its node has free.
        cluster: of submitit: "slurm", or "local", which starts processes of this machine.

    Raises:
        InputError: where submitit is not installed, or Slurm is not there.
    """

    def __init__(self, workers: int, budget: float | None = None, *, cluster: str = "slurm"):
        try:
            import submitit
        except ImportError:
            raise InputError("--executor slurm needs submitit: pip install '.[slurm]'") from None
        super().__init__(workers, budget)
        self._key = secrets.token_bytes(32)
        self._listener = Listener(("", 0), authkey=self._key, backlog=64)
        self._connections: queue.SimpleQueue[Any] = queue.SimpleQueue()
        try:
            self._cluster = submitit.AutoExecutor(folder=FOLDER, cluster=cluster)
        except RuntimeError as error:
            raise InputError(f"--executor slurm cannot be used here: {error}") from None
        self._cluster.update_parameters(name="bench", timeout_min=7 * 24 * 60)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while not self._closed.is_set():
            try:
                self._connections.put(self._listener.accept())
            except OSError:
                return
            except Exception as error:  # somebody else knocked, without the key
                print(f"refused a connection: {error}", file=sys.stderr)

    def _start(self, number: int) -> Worker:
        host = socket.gethostname() if self._cluster.cluster == "slurm" else "localhost"
        job = self._cluster.submit(_work, host, self._listener.address[1], self._key.hex(), str(ROOT))
        try:
            connection = self._connections.get(timeout=WAIT_S)
        except queue.Empty:
            job.cancel()
            raise InputError(f"Slurm job {job.job_id} did not start within a day: see its log in {FOLDER}/") from None
        connection.send_bytes(packed(tuple(settings(None, self.budget, 1))))
        return JobWorker(job, connection)

    def close(self) -> None:
        """Cancel all jobs."""
        super().close()
        self._listener.close()


class JobWorker(Worker):
    """A job and the connection to it."""

    def __init__(self, job: Any, connection: Connection):
        self.job, self.connection = job, connection

    def kill(self) -> None:
        """Cancel the job, which has no driver any more."""
        self.connection.close()
        self.job.cancel()


def _work(host: str, port: int, key: str, root: str) -> None:
    """Be a worker; runs in the job."""
    os.environ["BENCH_WORKER_KEY"] = key
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-m", "bench.sweeps.execution.worker", "--address", host, str(port)]
    print(shlex.join(command), flush=True)
    os.execv(command[0], command)
