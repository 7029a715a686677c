"""The interface of an executor, and the executor that works in this process."""

from concurrent.futures import Future
from typing import Protocol

from bench.execution import memory
from bench.execution.progress import Report
from bench.execution.unit import Outcome, Trainer, Unit


class Executor(Protocol):
    """The interface that takes units and returns their outcomes.

    num_workers: units that it works on at the same time; the driver submits no more.
    """

    num_workers: int

    def submit(self, unit: Unit, report: Report) -> "Future[Outcome]":
        """Begin a unit. The future fails with WorkerDied where the unit may be tried again.

        Args:
            unit: the unit to train.
            report: receives the steps, from any thread.
        """
        ...

    def close(self) -> None:
        """End all workers at once; results that they had not returned are lost."""
        ...


class InProcess:
    """One worker, this process: a submitted unit is done when `submit` returns.

    devices: over which the clients of every run are divided.
    """

    num_workers = 1

    def __init__(self, devices: int = 1):
        self.trainer = Trainer(memory.budget(devices), devices)

    def submit(self, unit: Unit, report: Report) -> "Future[Outcome]":
        future: Future[Outcome] = Future()
        future.set_result(self.trainer.run(unit, report))
        return future

    def close(self) -> None:
        """Do nothing, since nothing outlives a unit."""
