"""The addresses of authors and publishers, with pooch."""

import gzip
import sys
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from bench.data.dataset import Report, Source, Unavailable
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


@dataclass(frozen=True)
class Address(Source):
    """An address of the authors or publishers, or of a mirror; asked once, and left where nobody answers.

    Args:
        files: canonical name -> (URL, the file in that archive; empty where the URL is the file); all on one host.
    """

    files: Mapping[str, tuple[str, str]]
    kind = "publisher"

    @property
    def client(self) -> str:
        """The host of the addresses."""
        return urlsplit(next(iter(self.files.values()))[0]).netloc

    def __str__(self) -> str:
        return self.client

    def contents(self, scratch: Path, report: Report) -> Contents:
        for name, (url, member) in self.files.items():
            file = scratch / "got" / url.rsplit("/", 1)[1]
            if not file.exists():  # an archive has several
                command = [sys.executable, "-c", DOWNLOAD, url, file]
                packages.watch(command, str(self), scratch, report)
            if member:
                members = [inside for _, inside in self.files.values()]
                file = packages.unpack(file, scratch / "unpacked", members) / member
            try:
                yield name, plain(name, file.read_bytes())
            except (EOFError, ValueError, zlib.error, gzip.BadGzipFile) as error:
                raise Unavailable(f"{file.name} is damaged ({error})") from None
