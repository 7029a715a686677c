"""Stopping a command: SIGINT and SIGTERM end it at any moment with one line and the exit status that shells use.

A signal raises KeyboardInterrupt wherever the program is, so that locks are released, temporary files removed and
workers ended. In two places it would get lost, so that the command went on, or crash a library; there it is raised a
moment later, by a timer (SIGALRM):

- in a callback such as `__del__`, whose exceptions Python reports and drops (`sys.unraisablehook`);
- while a module is imported, since extension modules can lose exceptions, or crash on them, while they initialise.

`except KeyboardInterrupt` alone loses this: without the hook, or where the hook itself raises, a command goes on;
without the wait an import is broken off; with `sys.exit` in place of `os._exit` threads delay the end, and the status
is wrong after an `exec`. tests/cli/test_signals.py has a test that fails without each of these four.
"""

import atexit
import contextlib
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

SIGNALS = (signal.SIGINT, signal.SIGTERM)
AGAIN_S = 0.05  # until a KeyboardInterrupt that was lost, or came during an import, is raised again
IMPORT_S = 5.0  # the longest wait for an import
LINE = "stopped; everything finished is kept, run the same command again to continue"
_stop_line = [LINE]  # of the command that is running
_received: list[int] = []  # signals, by the command that is running


def on_stop(line: str) -> None:
    """Set the line that is printed if this command is stopped, where LINE would not be true."""
    _stop_line[0] = line


def stop_line() -> str:
    """Return the line that is printed if the command is stopped."""
    return _stop_line[0]


def stopping() -> bool:
    """Return whether a signal has arrived that ends the command.

    An error that follows it is not one of the command: compiled modules can turn the KeyboardInterrupt into an error of
    their own, or into a wrong answer, on which their caller then fails.
    """
    return bool(_received)


def until_stopped(work: Callable[[], int]) -> int:
    """Return the exit status of `work`, or that of the signal which stopped it.

    The previous signal handlers are restored when it returns.
    """
    on_stop(LINE)
    _received.clear()
    waited, ended = 0.0, False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal waited
        if number in SIGNALS:
            _received.append(number)
        if ended:
            return
        if waited < IMPORT_S and _importing(frame):
            waited += AGAIN_S
            signal.setitimer(signal.ITIMER_REAL, AGAIN_S)
            return
        raise KeyboardInterrupt

    def on_unraisable(unraisable: "sys.UnraisableHookArgs") -> None:
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, AGAIN_S)
        else:
            hook(unraisable)

    hook = sys.unraisablehook
    handlers = {number: signal.getsignal(number) for number in (signal.SIGALRM, *filter(_is_handled, SIGNALS))}
    try:
        try:  # a signal may arrive as soon as its handler is there
            sys.unraisablehook = on_unraisable
            for number in handlers:
                signal.signal(number, stop)
            code = work()
        finally:
            ended = True  # signals are only noted from here on
    except KeyboardInterrupt:
        ended = True
        print(stop_line(), file=sys.stderr)
        code = 130
    finally:
        sys.unraisablehook = hook
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in handlers.items():
            signal.signal(number, handler)
    number, stopped = next(iter(_received), 0), code == 130
    _received.clear()
    return 128 + number if number and stopped else code


def leave(status: int) -> NoReturn:
    """End the process with this status, from `until_stopped`. A signal that arrives now ends it without a message."""
    for number in filter(_is_handled, SIGNALS):
        signal.signal(number, signal.SIG_DFL)
    # sys.exit would wait for threads: of workers that a second signal kept from being ended, or of a user's code. And
    # Python would end the process by SIGINT where KeyboardInterrupt has passed through the `exec` of a text, as of a
    # dataclass in an import, whoever caught it.
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):  # the status says already that the output cannot be written
            if stream is not None:
                stream.flush()
    os._exit(status)


def _importing(frame: FrameType | None) -> bool:
    """Return whether a module is being imported at this frame or above it."""
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


def _is_handled(number: int) -> bool:
    """Return whether the signal is not ignored, as shells arrange for background jobs."""
    return signal.getsignal(number) is not signal.SIG_IGN
