"""The choice of the executor of a run from the user's options and the amount of work."""

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import jax

from bench.errors import InputError
from bench.execution import resources
from bench.execution.executor import Executor, InProcess
from bench.execution.processes import Processes
from bench.execution.progress import Command

EXECUTORS = "local, ray or ray://HOST:PORT"
WORTH_S = 2.0  # least seconds of work, as estimated by `queue`, that justify starting further processes


class Pool(ExitStack):
    """Workers for the sweeps of one command; a context manager that ends them.

    command: what the sweeps of the command have in common on the terminal.

    Args:
        executor: "local" (processes of this machine), "ray" (the cluster that RAY_ADDRESS names, or else one of this
            machine), or "ray://HOST:PORT".
        workers: the number of workers, or "auto": the number that suits the machine, and only this process where there
            is little work.
        devices: over which the clients of every run are divided, by this process: a number, or "auto" for all that it
            has; None does not divide them.
        quiet: whether nothing is printed meanwhile.

    Raises:
        InputError: for an executor that is unknown or not installed, for an invalid number of workers or of devices,
            or for devices together with workers.
    """

    def __init__(
        self,
        executor: str = "local",
        workers: int | str = "auto",
        *,
        devices: int | str | None = None,
        quiet: bool = False,
    ):
        super().__init__()
        if executor not in ("local", "ray") and not executor.startswith("ray://"):
            raise InputError(f"no executor is called {executor!r}: choose from {EXECUTORS}")
        self.kind = executor
        self.asked = resources.number_of("--workers", workers)
        self.devices = 1
        if devices is not None:
            if executor != "local" or (self.asked or 1) > 1:
                raise InputError(
                    "--devices divides each run over the devices of one process, --workers distribute them to several: "
                    "give one or the other"
                )
            self.devices, self.asked = resources.number_of_devices(devices), 1
        self.gpus = resources.gpus() if executor == "local" else []  # before the driver stops using them
        self._executors: dict[str, Any] = {}
        self.command = Command(quiet)
        if self.kind != "local" or (self.asked or len(self.gpus)) > 1:
            # The driver only distributes work, and leaves the accelerators to the workers.
            jax.config.update("jax_platforms", "cpu")

    def executor(self, seconds: float) -> Executor:
        """Return the executor for this many seconds of work; one with several workers is started once and kept."""
        if self.kind == "local":
            workers = self.asked or (resources.automatic_workers(self.gpus) if seconds >= WORTH_S else 1)
            if workers == 1:
                return self._kept("process", lambda: InProcess(self.devices))
            return self._kept("local", lambda: Processes(workers, self.gpus))
        from bench.execution.ray_tasks import RayTasks

        return self._kept("ray", lambda: RayTasks(self.kind, self.asked))

    def _kept(self, name: str, make: Callable[[], Any]) -> Executor:
        if name not in self._executors:
            self._executors[name] = make()
            self.callback(self._executors[name].close)
        return self._executors[name]
