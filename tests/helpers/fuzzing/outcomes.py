"""A command line run in this process, and what is wrong with how it ended."""

import contextlib
import importlib
import io
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from unittest import mock

LONGEST = 2000  # characters of a line that names culprit and remedy, without the words that were given


class Reached(BaseException):
    """The input was taken, and work would begin."""


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[None]:
    """Work in a folder, so that what is written to a wrong place is seen."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def fault(program: str, words: Sequence[str], work: Path) -> str | None:
    """What is wrong with how `python -m PROGRAM WORDS` ends in this folder; None where nothing is.

    It may succeed, find something (status 1, from commands that say so), or end with status 2 and one line of error,
    the last of standard error, that begins with the culprit. It leaves no unfinished file.
    """
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors=how) for how in ("strict", "backslashreplace"))
    main = importlib.import_module(f"{program}.__main__").main
    try:
        with inside(work), mock.patch.object(sys, "argv", [program, *words]):
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                status = main()
            out.flush()
    except Reached:
        status = 0
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        place = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}: {error}"
    err.flush()
    said = err.buffer.getvalue().decode()  # pyright: ignore[reportAttributeAccessIssue]
    if unfinished := [path.name for path in work.rglob(".*") if path.is_file() and path.name not in (".lock",)]:
        return f"unfinished files: {unfinished}"
    if "Traceback" in said:
        return f"a traceback: {said[-300:]}"
    errors = [line for line in said.splitlines() if line.startswith("error: ")]
    if any(line.startswith("error: unexpected ") for line in errors):
        return f"an exception that nobody expected: {said[-300:]}"
    if status == 2:
        given = sum(map(len, words))
        if len(errors) != 1 or not said.endswith(errors[0] + "\n"):
            return f"not one line at the end: {said[-300:]!r}"
        if len(errors[0]) > LONGEST + 3 * given:
            return f"a line of {len(errors[0])} characters: {errors[0][:300]}"
        return None
    if status not in (0, 1) or (errors and status == 0):
        return f"exit status {status}: {said[-300:]!r}"
    return None
