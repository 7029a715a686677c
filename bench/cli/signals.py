"""Stopping a command: SIGINT and SIGTERM end it at any moment with one line and the exit status that shells use.

A signal raises KeyboardInterrupt wherever the program is, so that locks are released and workers end. Where it gets
lost, in a callback whose exceptions Python can only report, it is raised again at once.
"""

import atexit
import importlib
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

SIGNALS = (signal.SIGINT, signal.SIGTERM)
AGAIN_S = 0.05  # until a KeyboardInterrupt that was lost, or came during an import, is raised again
IMPORT_S = 5.0  # the longest wait for an import: extension modules lose or crash on exceptions while they initialise
LINE = "stopped; everything finished is kept, run the same command again to continue"
_said = [LINE]  # of the command that is running


def on_stop(line: str) -> None:
    """Set the line that is printed if this command is stopped, where LINE would not be true."""
    _said[0] = line


def stop_line() -> str:
    """Return the line that is printed if the command is stopped."""
    return _said[0]


def run_command(module: str) -> int:
    """Import a module and run its command line `app`; returns the exit status.

    The previous signal handlers are restored when it returns.
    """
    on_stop(LINE)
    received: list[int] = []
    waited, ended = 0.0, False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal waited
        received.append(number)
        if ended:
            return
        if waited < IMPORT_S and _importing(frame):
            waited += AGAIN_S
            signal.setitimer(signal.ITIMER_REAL, AGAIN_S)
            return
        raise KeyboardInterrupt

    def lost(unraisable: "sys.UnraisableHookArgs") -> None:
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, AGAIN_S)
        else:
            before(unraisable)

    before = sys.unraisablehook
    handlers = {number: signal.signal(number, stop) for number in SIGNALS if _is_ours(number)}
    handlers[signal.SIGALRM] = signal.signal(signal.SIGALRM, lambda _, frame: stop(received[0], frame))
    sys.unraisablehook = lost
    try:
        try:
            code = _status(module)
        finally:
            ended = True  # signals are only noted from here on
    except KeyboardInterrupt:
        ended = True
        print(stop_line(), file=sys.stderr)
        code = 130
    finally:
        sys.unraisablehook = before
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return 128 + received[0] if received and code == 130 else code


def leave(status: int) -> NoReturn:
    """End the process with this status, from `run_command`. A signal that arrives now ends it without a message."""
    for number in filter(_is_ours, SIGNALS):
        signal.signal(number, signal.SIG_DFL)
    if status - 128 in SIGNALS:
        # Python itself would end the process by SIGINT where KeyboardInterrupt has passed through the `exec` of a
        # text, as of a dataclass in an import, whoever caught it.
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:  # None where it was closed when Python started
                stream.flush()
        os._exit(status)
    sys.exit(status)


def _importing(frame: FrameType | None) -> bool:
    """Whether a module is being imported at this frame or above it."""
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


def _is_ours(number: int) -> bool:
    """Whether the signal is not ignored, as shells arrange for background jobs."""
    return signal.getsignal(number) is not signal.SIG_IGN


def _status(module: str) -> int:
    app = importlib.import_module(module).app
    status: Callable[..., int] = importlib.import_module("bench.cli.exits").exit_status
    return status(app)
