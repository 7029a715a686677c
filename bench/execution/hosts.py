"""One run over the devices of several processes, usually one a host, which JAX's distributed runtime connects.

The same command is started in every process. The first is the driver, which reads and writes the results; the others
follow it: they receive each unit and train it with the driver, as one program over all devices.
"""

import atexit
import contextlib
import os
import re
import sys
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import cloudpickle
import jax
import numpy as np
from jax.experimental import multihost_utils

from bench.errors import InputError, in_one_line
from bench.execution import memory
from bench.execution.progress import Report
from bench.execution.shared import Receiver, Sender
from bench.execution.source import code
from bench.execution.unit import Outcome, Trainer, Unit

SILENT_S = 30  # without a sign of life, after which a process counts as dead
PIECE = 2**26  # bytes that are sent at once
LOST = re.compile("gloo|nccl|unavailable|connection|heartbeat|deadline", re.IGNORECASE)  # in messages of collectives
_lost: list[Exception] = []  # why the other processes cannot be reached any more


def join(text: str) -> None:
    """Connect this process with the others.

    Args:
        text: "auto", where the cluster tells JAX who takes part (a TPU slice, Kubernetes, srun, mpirun); or
            HOST:PORT/COUNT/NUMBER: an address that the first process listens at, how many processes there are, and
            which of them this is, from 0.

    Raises:
        InputError: for any other text, or where the others cannot be reached.
    """
    arguments: dict[str, Any] = {}
    if text != "auto":
        address, *numbers = text.split("/")
        if ":" not in address or len(numbers) != 2 or not all(number.isdigit() for number in numbers):
            raise InputError(f"--hosts is {text}: give auto, or HOST:PORT/COUNT/NUMBER")
        arguments = dict(
            zip(("coordinator_address", "num_processes", "process_id"), (address, *map(int, numbers)), strict=True)
        )
    try:
        jax.distributed.initialize(**arguments, heartbeat_timeout_seconds=SILENT_S, shutdown_timeout_seconds=SILENT_S)
    except (RuntimeError, ValueError) as error:
        raise InputError(f"--hosts {text}: the processes cannot be connected: {in_one_line(error)}") from error


def follows() -> bool:
    """Return whether another process is the driver."""
    return jax.process_index() > 0


def _broadcast(content: bytes = b"") -> bytes:
    """Send the driver's content to all processes, and return it on each."""
    size = int(multihost_utils.broadcast_one_to_all(np.uint32(len(content))))
    pieces = []
    for begin in range(0, size, PIECE):
        mine = np.frombuffer(content[begin : begin + PIECE], np.uint8)
        piece = mine if content else np.zeros(min(PIECE, size - begin), np.uint8)
        pieces.append(np.asarray(multihost_utils.broadcast_one_to_all(piece)).tobytes())
    return b"".join(pieces)


class Hosts:
    """The driver's executor, whose only worker is all processes together.

    Args:
        budget: bytes that a compiled program may need on each device; None: what this process can give.
        devices: of all processes.
    """

    num_workers = 1

    def __init__(self, budget: float | None, devices: int):
        budget = budget or memory.budget(jax.local_device_count())
        self.trainer = Trainer(budget, devices)
        self.sender, self.receiver = Sender(), Receiver()
        _broadcast(cloudpickle.dumps((code(), budget)))

    def submit(self, unit: Unit, report: Report) -> "Future[Outcome]":
        """Have all processes train a unit; it is done when this returns.

        Raises:
            InputError: where another process has ended.
        """
        wire = self.sender.wire(unit)
        missing = {key: self.sender.pack(key) for key in self.receiver.missing(wire)}
        future: Future[Outcome] = Future()
        with _connected("a process of --hosts has ended, or cannot be reached: start all of them again to go on"):
            _broadcast(cloudpickle.dumps((wire, missing)))
            for key, content in missing.items():
                self.receiver.take(key, content)
            future.set_result(self.trainer.run(self.receiver.unit(wire), report))
        self.sender.finished(wire)
        return future

    def close(self) -> None:
        """End the other processes; those that cannot be reached end by themselves."""
        if not _lost:
            _broadcast()


def follow() -> None:
    """Train what the driver sends, until it ends.

    Raises:
        InputError: where the driver's source is another than that of this process, or the driver has ended early.
    """
    with _connected("the driver of this run has ended, or cannot be reached"):
        its_code, budget = cloudpickle.loads(_broadcast())
        if its_code != code():
            raise InputError("the suite's source here is not the driver's: install the same commit")
        trainer, receiver = Trainer(budget, jax.device_count()), Receiver()
        while content := _broadcast():
            wire, missing = cloudpickle.loads(content)
            for key, value in missing.items():
                receiver.take(key, value)
            trainer.run(receiver.unit(wire))


@contextlib.contextmanager
def _connected(otherwise: str) -> Iterator[None]:
    """Raise an InputError with this sentence where the processes lose each other."""
    try:
        yield
    except (jax.errors.JaxRuntimeError, ValueError) as error:
        if not LOST.search(str(error)):
            raise
        _lost.append(error)
        # At its exit JAX waits for all processes, and ends this one by a signal if one of them is gone.
        atexit.register(_end_at_once)
        raise InputError(otherwise) from error


def _end_at_once() -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(2)
