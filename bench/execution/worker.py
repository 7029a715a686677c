"""A worker process: takes units from the driver over a connection, trains them, and sends the outcomes back.

It is started by `processes` with a connection that it inherits, whose file descriptor is its argument. It ends when the
connection does, and so never outlives its driver.

    driver                      worker
    settings              ->
    unit                  ->
                          <-    need KEY
    the object            ->
                          <-    progress (a Step), any number of times
                          <-    outcome | error
"""

import os
import platform
import queue
import sys
import threading
import traceback
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import Any, NamedTuple


class Settings(NamedTuple):
    """The settings that a worker needs before its first unit.

    cores: the cores that it may use; () is one core that no other worker has claimed, None leaves them as they are.
    config: of jax, by name.
    code: digest of the suite's source, which must be the driver's.
    budget: bytes that a compiled program may need; None: its share of the free memory.
    workers_here: the number of workers that share the machine's memory.
    """

    cores: tuple[int, ...] | None
    config: Mapping[str, Any]
    code: str
    budget: float | None
    workers_here: int


def serve(connection: Connection) -> None:
    """Answer the driver at the other end, until it closes the connection."""
    arrived: queue.SimpleQueue = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(connection, arrived), daemon=True).start()
    settings = Settings(*_loads(arrived.get()))
    try:
        trainer, receiver = prepared(settings)
    except Exception as error:
        _send_error(connection, error)
        return
    while True:
        wire = _loads(arrived.get())
        try:
            for key in receiver.missing(wire):
                _send(connection, "need", key)
                receiver.take(key, arrived.get())
            outcome = trainer.run(receiver.unit(wire), lambda step: _send(connection, "progress", step))
        except Exception as error:
            _send_error(connection, error)
        else:
            _send(connection, "outcome", outcome)


def _listen(connection: Connection, arrived: queue.SimpleQueue) -> None:
    """Queue what arrives; if the driver has ended, end this process at once."""
    while True:
        try:
            arrived.put(connection.recv_bytes())
        except (EOFError, OSError):
            os._exit(0)


def _send(connection: Connection, *message: Any) -> None:
    """Send the driver a message; if the driver has ended, end this process at once."""
    try:
        connection.send(message)
    except OSError:
        os._exit(0)


def _loads(content: bytes) -> Any:
    import cloudpickle

    return cloudpickle.loads(content)


def prepared(settings: Settings):
    """Return the trainer and the receiver. Cores are set before jax starts its threads, one for each core.

    NumPy and SciPy bring an OpenBLAS of their own, which starts a thread for each core of the machine when it is
    imported. On fewer cores these threads wait for each other busily: a worker with one of two cores took three times
    as long.
    """
    if settings.cores is not None:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", str(max(1, len(settings.cores))))

    import jax

    from bench.errors import InputError
    from bench.execution import resources, source

    resources.keep_to(settings.cores)

    if source.code() != settings.code:
        raise InputError(f"the suite's source on {platform.node()} is not the driver's: install the same commit there")

    from bench.execution import memory, shared, unit  # which takes a second

    for name, value in settings.config.items():
        jax.config.update(name, value)
    return unit.Trainer(settings.budget or memory.budget(settings.workers_here)), shared.Receiver()


def _send_error(connection: Connection, error: Exception) -> None:
    """Send the error itself where it can be sent, and its traceback in any case."""
    from bench.errors import InputError

    text = "".join(traceback.format_exception(error))
    _send(connection, "error", str(error) if isinstance(error, InputError) else None, text)


if __name__ == "__main__":
    serve(Connection(int(sys.argv[1])))
