"""The addresses of authors and publishers, with pooch."""

import gzip
import sys
import zlib
from pathlib import Path

from bench.data.dataset import Address, Report, Unavailable
from bench.data.decode import Contents, plain
from bench.data.fetch import packages

# A process of its own, since only a process can be ended whatever it waits for: a name server, or one of a host's many
# addresses after another.
DOWNLOAD = f"""
import sys
sys.excepthook = lambda kind, error, trace: print("error:", error)
import pooch
pooch.HTTPDownloader(timeout=({packages.CONNECT}, {packages.STALLED}))(*sys.argv[1:], None)
"""


def contents(address: Address, scratch: Path, report: Report) -> Contents:
    """Return the canonical files at an address, each archive downloaded once.

    Args:
        address: the address.
        scratch: an empty folder, for the caller to remove.
        report: receives progress messages.

    Returns:
        an iterator over canonical names and their bytes, not yet checked.

    Raises:
        Unreachable: no answer, after one attempt of a few seconds.
        Unavailable: not the expected file, or the download broke off.
        OSError: the disk is full.
    """
    got = scratch / "got"
    got.mkdir()
    for name, (url, member) in address.files.items():
        file = got / url.rsplit("/", 1)[1]
        if not file.exists():
            command = [sys.executable, "-c", DOWNLOAD, url, file]
            packages.watch(command, str(address), scratch, report, silent_s=packages.SILENT / 2)
        if member:
            members = [inside for _, inside in address.files.values()]
            file = packages.unpack(file, scratch / "unpacked", members) / member
        try:
            yield name, plain(name, file.read_bytes())
        except (EOFError, ValueError, zlib.error, gzip.BadGzipFile) as error:
            raise Unavailable(f"{file.name} is damaged ({error})") from None
