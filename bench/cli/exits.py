"""Runs a command line and turns errors into exit statuses, for every `python -m` of the suite."""

import errno
import io
import os
import re
import signal
import sys
import traceback

import typer

from bench.cli.signals import LINE, on_stop, stop_line, stopping
from bench.errors import TRACEBACK, InputError, in_one_line

# Messages of the system, and of libraries that cannot start a thread. Chunks that do not fit are halved first.
NO_MEMORY = re.compile(
    r"out of memory|cannot allocate memory|resource temporarily unavailable|returned NULL without setting",
    re.IGNORECASE,
)
UNEXPECTED = "unexpected"


def exit_status(app: typer.Typer) -> int:
    """Run a command. Bad input prints one line (status 2), a missing command the help, Ctrl-C one line (status 130)."""
    on_stop(LINE)
    if isinstance(sys.stdout, io.TextIOWrapper):  # what took hours to compute is printed in the letters that there are
        sys.stdout.reconfigure(errors="replace")
    try:
        code = _run(app)
        if sys.stdout is not None:  # None where it was closed when Python started
            sys.stdout.flush()
    except BrokenPipeError:  # nobody reads the output any more
        return 128 + signal.SIGPIPE
    except InputError as error:
        if TRACEBACK in os.environ and error.__cause__ is not None:  # an error in a user's code
            traceback.print_exception(error.__cause__)
        print(f"error: {' '.join(str(error).splitlines())}", file=sys.stderr)
        return 2
    except typer.TyperException as error:
        print(f"error: {error.format_message()}", file=sys.stderr)
        return 2
    except SystemExit as error:  # called by a user's method or task; the suite itself never calls it
        if isinstance(error.__context__, BrokenPipeError):  # but typer does where nobody reads the output any more
            return 128 + signal.SIGPIPE
        print(f"error: your code called sys.exit({error.code!r}): remove that call", file=sys.stderr)
        return 2
    except (KeyboardInterrupt, typer.Abort) as error:
        if isinstance(error.__cause__, EOFError):  # typer takes it for the end of typed input
            raise error.__cause__ from None
        code = 130
    except Exception as error:
        if TRACEBACK in os.environ:
            raise
        line, code = _of_exception(error)
        print(f"error: {line}", file=sys.stderr)
        return code
    if code == 130:  # typer also reports Ctrl-C this way
        print(stop_line(), file=sys.stderr)
    return code


def _run(app: typer.Typer) -> int:
    """Run a command; an error after a signal is raised as the KeyboardInterrupt that it began as."""
    try:
        return app(standalone_mode=False) or 0  # of a command that ended with typer.Exit
    except Exception:
        if stopping() and TRACEBACK not in os.environ:
            raise KeyboardInterrupt from None
        raise


def _of_exception(error: Exception) -> tuple[str, int]:
    """Return a line for an exception that is not about an input, and the exit status."""
    if isinstance(error, RecursionError):
        return "the input is nested too deeply: simplify it", 2
    if isinstance(error, UnicodeError):
        return f"a name or file is not in UTF-8 ({in_one_line(error)}): rename it, or convert it", 2
    if isinstance(error, MemoryError) or NO_MEMORY.search(str(error)):
        return f"out of memory ({in_one_line(error)}): free some memory, or use fewer --workers", 2
    if isinstance(error, OSError) and error.filename is None:
        return f"cannot write the output ({error.strerror or error}): free some space, or redirect it elsewhere", 2
    if isinstance(error, OSError):
        remedies = {errno.EISDIR: "move the folder elsewhere", errno.ENAMETOOLONG: "shorten it"}
        remedy = remedies.get(error.errno or 0, "change its permissions, or give another")
        return f"{error.filename}: {error.strerror}: {remedy}", 2
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""
    return (
        f"{UNEXPECTED} {in_one_line(error)}{place}: a fault of the suite, or of code or an environment variable that "
        f"it was given; {TRACEBACK}=1 shows the whole traceback"
    ), 1
