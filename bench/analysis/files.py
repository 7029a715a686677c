"""Files that are there whole or not at all."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path


@contextlib.contextmanager
def written_whole(paths: Sequence[Path]) -> Iterator[list[Path]]:
    """Have several files written elsewhere first, and their folders made where there are none.

    Yields a path for each of them, in the same folder and with the same ending. What is written there takes the places
    of `paths` when all is done; after an error, Ctrl-C included, nothing has changed.
    """
    unfinished = [path.with_name(f".{os.getpid()}-{path.name}") for path in paths]
    try:
        for path in paths:
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
    """Write a file, and its folder where there is none; what was there stays until the new one is complete."""
    with written_whole([path]) as (unfinished,):
        unfinished.write_text(text, encoding="utf-8")
