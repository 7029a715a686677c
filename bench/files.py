"""Files that several processes lock, or that are written atomically, or read without waiting."""

import errno
import os
import secrets
import stat
from pathlib import Path

PART = ".part-"  # prefix of the names of unfinished files


def open_lock(path: Path) -> int:
    """A descriptor of a file to lock; the file is created where it is missing.

    Links are not followed and nothing is truncated, since the file may belong to somebody else.
    """
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)


def read_regular(path: Path) -> bytes:
    """The content of a regular file.

    Raises:
        OSError: where there is none; at once for a pipe, which an ordinary read would wait for.
    """
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        return file.read()


def check_replaceable(path: Path) -> None:
    """Raise OSError where something is at this path that is no file, such as a device, which must not be replaced."""
    if path.exists() and not path.is_file():
        raise OSError(errno.EEXIST, "it exists and is not a regular file", str(path))


def write_whole(path: Path, content: bytes) -> None:
    """Write a file into an existing folder atomically.

    It is first written under a name that no other process uses. Unlike files of tempfile, it has the usual mode.
    """
    check_replaceable(path)
    part = path.with_name(f"{PART}{os.getpid()}-{secrets.token_hex(6)}")
    try:
        part.write_bytes(content)
        os.replace(part, path)
    except BaseException:  # also Ctrl-C
        part.unlink(missing_ok=True)
        raise
