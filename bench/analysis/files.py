"""Atomic writes of files: a file is complete, or it does not exist."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.errors import InputError
from bench.files import check_replaceable

# For reading tables: the digits of a commit may look like a number, "09351561e448" like infinity.
AS_TEXT = {"commit": str}


@contextlib.contextmanager
def written_whole(paths: Sequence[Path]) -> Iterator[list[Path]]:
    """Replace several files at once by files that are first written elsewhere; missing folders are made.

    Yields a path for each of them, in the same folder and with the same ending. The files written there replace `paths`
    when all is done; after an error, Ctrl-C included, nothing has changed.
    """
    unfinished = [path.with_name(f".{os.getpid()}-{path.name}") for path in paths]
    try:
        for path in paths:
            check_replaceable(path)
            path.parent.mkdir(parents=True, exist_ok=True)
        yield unfinished
        for new, path in zip(unfinished, paths, strict=True):
            os.replace(new, path)
    except BaseException:
        for new in unfinished:
            with contextlib.suppress(OSError):
                new.unlink(missing_ok=True)
        raise


def write_whole(path: Path, text: str) -> None:
    """Write a file, and its folder where it is missing; the old file stays until the new one is complete."""
    with written_whole([path]) as (unfinished,):
        unfinished.write_text(text, encoding="utf-8")


def set_aside(path: Path, remedy: str = "") -> None:
    """Keep a file of an earlier run, if there is one, as earlier-NAME.

    Raises:
        InputError: where it cannot be renamed; it ends in the remedy.
    """
    try:
        if path.is_file():
            path.replace(path.with_name(f"earlier-{path.name}"))
    except OSError as error:
        raise InputError(f"cannot rename {path}: {error.strerror}{remedy}") from None
