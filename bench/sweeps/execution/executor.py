"""What an executor is, and the one that works in this process."""

from collections.abc import Callable
from concurrent.futures import Future
from typing import Protocol

from bench.sweeps.execution.unit import Outcome, Trainer, Unit

OnBlock = Callable[[int], None]


class WorkerDied(Exception):
    """The process that had a unit is gone, whatever the reason. What it had not given back is lost."""


class Executor(Protocol):
    """Takes units and gives their outcomes back.

    num_workers: units that it works on at the same time; the driver submits no more.
    """

    num_workers: int

    def submit(self, unit: Unit, on_block: OnBlock) -> "Future[Outcome]":
        """Begin a unit. The future fails with WorkerDied where the unit may be tried again.

        Args:
            unit: what to train.
            on_block: may be called from any thread with the run-rounds done since the last call.
        """
        ...

    def close(self) -> None:
        """End all workers at once; what they had not given back is lost."""
        ...


class InProcess:
    """One worker, this process: a submitted unit is done when `submit` returns."""

    num_workers = 1

    def __init__(self, budget: float):
        self.trainer = Trainer(budget)

    def submit(self, unit: Unit, on_block: OnBlock) -> "Future[Outcome]":
        future: Future[Outcome] = Future()
        future.set_result(self.trainer.run(unit, on_block))
        return future

    def close(self) -> None:
        """Nothing of it outlives a unit."""
