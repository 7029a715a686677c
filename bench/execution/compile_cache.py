"""Maintains the cache of compiled programs: removes broken entries and bounds its size.

An entry is a program that is loaded and run, so the folder must be as trustworthy as the code. Only completeness is
checked here, since JAX would neither use nor rewrite an entry that a full disk has truncated.
"""

import contextlib
import zlib
from pathlib import Path

MOST = 2e9  # bytes
ENTRIES = "*-cache"
CHECKED = ".checked"  # its modification time is that of the last check


def tidy(folder: Path, most: float = MOST) -> None:
    """Remove incomplete entries, and the least recently used ones beyond `most` bytes in total.

    Entries written before the last check are not read again. Other processes may use the folder at the same time.
    """
    stamp = folder / CHECKED
    with contextlib.suppress(OSError):
        since = stamp.stat().st_mtime_ns if stamp.is_file() else 0
        entries = []
        stamp.touch()
        for path in folder.glob(ENTRIES):
            with contextlib.suppress(FileNotFoundError):  # another process was faster
                entry = path.stat()
                if entry.st_mtime_ns >= since and not _is_complete(path.read_bytes()):
                    path.unlink()
                else:
                    entries.append((max(entry.st_atime_ns, entry.st_mtime_ns), entry.st_size, path))
        total = sum(size for _, size, _ in entries)
        for _, size, path in sorted(entries):
            if total <= most:
                break
            path.unlink(missing_ok=True)
            total -= size


def _is_complete(content: bytes) -> bool:
    """Return whether an entry can be unpacked; of one packed by a library that is optional to JAX, whether it is not
    empty."""
    if content[:1] != b"\x78":  # zlib's first byte
        return bool(content)
    try:
        zlib.decompress(content)
    except zlib.error:
        return False
    return True
