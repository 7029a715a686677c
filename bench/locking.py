"""Files that several processes lock, or write and read: each is there whole or not at all."""

import os
import secrets
from pathlib import Path

PART = ".part-"  # how the names of unfinished files begin


def open_lock(path: Path) -> int:
    """A descriptor of a file to lock, made where there is none.

    A link is not followed and nothing is truncated, since the file may be somebody's.
    """
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file into a folder that is there, so that it is there whole or not at all.

    It is written under a name that no other process takes; unlike those of tempfile, it has the usual mode.
    """
    part = path.with_name(f"{PART}{os.getpid()}-{secrets.token_hex(6)}")
    try:
        part.write_bytes(content)
        os.replace(part, path)
    except BaseException:  # Ctrl-C as well
        part.unlink(missing_ok=True)
        raise
