"""Files that several processes lock, or that are written atomically."""

import os
import secrets
from pathlib import Path

PART = ".part-"  # prefix of the names of unfinished files


def open_lock(path: Path) -> int:
    """A descriptor of a file to lock; the file is created where it is missing.

    Links are not followed and nothing is truncated, since the file may belong to somebody else.
    """
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file into an existing folder atomically.

    It is first written under a name that no other process uses. Unlike files of tempfile, it has the usual mode.
    """
    part = path.with_name(f"{PART}{os.getpid()}-{secrets.token_hex(6)}")
    try:
        part.write_bytes(content)
        os.replace(part, path)
    except BaseException:  # also Ctrl-C
        part.unlink(missing_ok=True)
        raise
