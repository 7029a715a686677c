"""Files that several processes share: locked, written atomically or read without waiting, and the cache of what can be
computed or fetched again.
"""

import contextlib
import errno
import json
import os
import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import platformdirs

from bench.errors import InputError, expanded

PART = ".part-"  # prefix of the names of unfinished files
# For reading tables: the digits of a commit may look like a number, "09351561e448" like infinity.
AS_TEXT = {"commit": str}


def open_lock(path: Path) -> int:
    """Return a descriptor of a file to lock; the file is created where it is missing.

    Links are not followed and nothing is truncated, since the file may belong to somebody else.
    """
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)


@contextlib.contextmanager
def written_whole(paths: Sequence[Path], *, durable: bool = False) -> Iterator[list[Path]]:
    """Replace several files at once by files that are first written elsewhere.

    Yields a path for each of them, in the same folder and with the same ending, that no other process uses. The files
    written there replace `paths` when all is done; after an error, Ctrl-C included, nothing has changed. Unlike those
    of tempfile, they have the usual mode.

    Args:
        paths: the files. Missing folders are made, unless `durable`.
        durable: whether the files are to be on the disk itself before they replace others.

    Raises:
        OSError: also where something is at a path that is no file, such as a device, which must not be replaced.
    """
    unfinished = [path.with_name(f"{PART}{os.getpid()}-{secrets.token_hex(6)}-{path.name}") for path in paths]
    try:
        for path in paths:
            if path.exists() and not path.is_file():
                raise OSError(errno.EEXIST, "it exists and is not a regular file", str(path))
            if not durable:
                path.parent.mkdir(parents=True, exist_ok=True)
        yield unfinished
        for new in unfinished if durable else ():
            with open(new, "rb") as file:
                os.fsync(file.fileno())
        for new, path in zip(unfinished, paths, strict=True):
            os.replace(new, path)
    except BaseException:
        for new in unfinished:
            with contextlib.suppress(OSError):
                new.unlink(missing_ok=True)
        raise


def write_whole(path: Path, content: str | bytes | memoryview, *, durable: bool = False) -> None:
    """Write a file atomically, text in UTF-8; see `written_whole`."""
    with written_whole([path], durable=durable) as (unfinished,):
        unfinished.write_bytes(content.encode() if isinstance(content, str) else content)


def check_writable(folder: Path) -> None:
    """Refuse a folder that cannot be made or written, before anything is computed for it.

    Raises:
        InputError: saying what is in the way.
    """
    existing = next(path for path in (folder.absolute(), *folder.absolute().parents) if os.path.lexists(path))
    if not existing.is_dir():
        raise InputError(f"cannot write {folder}: {existing} is in the way: move it elsewhere")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise InputError(f"cannot write {folder}: no permission; choose another --out")


def cache_folder(name: str) -> Path:
    """Return the folder of one kind of cached files, in BENCH_CACHE or the user's cache folder. It may not exist yet.

    Args:
        name: the kind: a data set, compiled programs, calibrated noise.
    """
    if root := os.environ.get("BENCH_CACHE"):
        return expanded(root, "BENCH_CACHE") / name
    return Path(platformdirs.user_cache_dir("private-federated-bench")) / name


def recall(path: Path) -> Any:
    """Return the content of a file that `remember` wrote; None where it is missing or damaged."""
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None


def remember(path: Path, content: Any) -> None:
    """Write a JSON file atomically, so that any number of processes can share it.

    Where writing fails, nothing is written and no error is raised: the content can be computed again.
    """
    with contextlib.suppress(OSError):
        write_whole(path, json.dumps(content))


def recorded(path: Path) -> dict[str, Any]:
    """Return the entries of a file of `record`, by name; none where it is missing or damaged."""
    content = recall(path)
    return content if isinstance(content, dict) else {}


def record(path: Path, name: str, entry: Any) -> None:
    """Set one entry of a JSON file of entries by name, atomically."""
    write_whole(path, json.dumps(recorded(path) | {name: entry}, indent=1, sort_keys=True) + "\n")
