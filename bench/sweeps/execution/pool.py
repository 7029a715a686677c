"""Chooses the executor of a run from the user's options and the amount of work."""

from typing import Any

import jax

from bench.errors import InputError
from bench.sweeps.execution import memory, resources
from bench.sweeps.execution.executor import Executor, InProcess
from bench.sweeps.execution.processes import Processes

EXECUTORS = "local, ray, ray://HOST:PORT or slurm"
WORTH_S = 2.0  # seconds of work, by the guess of `queue`, from which further processes are worth their start


class Pool:
    """Workers for the sweeps of one command; a context manager, whose end is theirs.

    Args:
        executor: "local" (processes of this machine), "ray" (the cluster that RAY_ADDRESS names, or else one of this
            machine), "ray://HOST:PORT", or "slurm".
        workers: how many, or "auto": as many as the machine is good for, and none but this process where there is
            little to do.
        budget: bytes that a compiled program may need in all workers of a machine together; default from the memory
            at hand.

    Raises:
        InputError: for an executor that nobody knows or that is not installed, or for another number of workers.
    """

    def __init__(self, executor: str = "local", workers: int | str = "auto", *, budget: float | None = None):
        if executor not in ("local", "ray", "slurm") and not executor.startswith("ray://"):
            raise InputError(f"no executor is called {executor!r}: choose from {EXECUTORS}")
        self.kind, self.budget = executor, budget
        self.asked = resources.number_of_workers(workers)
        self.gpus = resources.gpus() if executor == "local" else []  # before the driver turns its back on them
        self._executors: dict[str, Any] = {}
        if self.kind != "local" or (self.asked or len(self.gpus)) > 1:
            # The driver only hands out work: it leaves the accelerators to the workers.
            jax.config.update("jax_platforms", "cpu")

    def __enter__(self) -> "Pool":
        return self

    def __exit__(self, *_) -> None:
        for executor in self._executors.values():
            executor.close()
        self._executors.clear()

    def executor(self, seconds: float) -> Executor:
        """The executor for so many seconds of work; one of several workers is started once and kept."""
        if self.kind == "local":
            workers = self.asked or (resources.automatic_workers(self.gpus) if seconds >= WORTH_S else 1)
            if workers == 1:
                return self._kept("process", lambda: InProcess(self.budget or memory.budget()))
            return self._kept("local", lambda: Processes(workers, self.budget and self.budget / workers, self.gpus))
        if self.kind == "slurm":
            from bench.sweeps.execution.slurm_jobs import SlurmJobs

            return self._kept("slurm", lambda: SlurmJobs(self.asked or 1, self.budget))
        from bench.sweeps.execution.ray_tasks import RayTasks

        return self._kept("ray", lambda: RayTasks(self.kind, self.asked, self.budget))

    def _kept(self, name: str, make) -> Executor:
        if name not in self._executors:
            self._executors[name] = make()
        return self._executors[name]
