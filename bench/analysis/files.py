"""Files that are there whole or not at all."""

import contextlib
import os
from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Write a file, and its folder where there is none; what was there stays until the new one is complete."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_text(text, encoding="utf-8")
        os.replace(unfinished, path)
    except BaseException:  # Ctrl-C as well
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)
        raise
