"""Files that processes lock, and files under a name of their own until they are complete."""

import os
import secrets
from pathlib import Path


def open_lock(path: Path) -> int:
    """A descriptor of a file to lock, made where there is none.

    A link is not followed and nothing is truncated, since the file may be somebody's.
    """
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)


def unfinished(folder: Path, prefix: str) -> Path:
    """A name in a folder that no other process takes; files of tempfile could be read by their owner alone."""
    return folder / f"{prefix}{os.getpid()}-{secrets.token_hex(6)}"
