"""Calls a function in several processes at a time, where this machine has several cores."""

import gc
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.connection import wait
from typing import TypeVar

Result = TypeVar("Result")


def side_by_side(
    function: Callable[..., Result], calls: Sequence[tuple], processes: int | None = None
) -> Iterator[Result]:
    """Yield the results of the calls in their order, each as soon as it and those before it are finished.

    The processes end with this one, however it ends.

    Args:
        function: a function of a module, since other processes import it.
        calls: the arguments of each call, which are sent to a process, as is the result.
        processes: at most; default one for each core. With one, or a single call, everything runs in this process.

    Raises:
        Exception: that of a call, when its turn comes; the calls after it are dropped.
    """
    number = min(processes or _cores(), len(calls))
    if number < 2:
        yield from (function(*call) for call in calls)
        return
    # Forked processes would share the locks of jax's threads.
    pool = ProcessPoolExecutor(number, multiprocessing.get_context("spawn"), initializer=_set_up)
    try:
        for answer in [pool.submit(function, *call) for call in calls]:
            yield answer.result()
    except BaseException:
        for process in multiprocessing.active_children():
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _set_up() -> None:
    """Make this process end without a word at Ctrl-C, which every process of a terminal gets, and with its parent.

    Garbage is looked for a hundredth as often: with many tables that takes a fifteenth of the time.
    """
    gc.set_threshold(100 * gc.get_threshold()[0])
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=lambda: (wait([parent.sentinel]), os._exit(1)), daemon=True).start()
