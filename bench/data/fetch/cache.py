"""The cache of data sets: one folder per data set, filled once and only with checked bytes."""

import contextlib
import fcntl
import gzip
import hashlib
import json
import shutil
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from bench.data.dataset import DataSet, LocalCopy, Unavailable
from bench.data.decode import Contents, plain
from bench.errors import InputError
from bench.files import PART, cache_folder, open_lock, write_whole

RECORD = "source.json"  # a record beside the files of their source


def md5(path: Path) -> str:
    """Return the md5 of a file's content, gunzipped where it is gzipped; empty for a damaged .gz.

    Raises:
        InputError: the file cannot be read.
    """
    try:
        return hashlib.md5(plain(path.name, path.read_bytes())).hexdigest()
    except (EOFError, zlib.error, gzip.BadGzipFile):
        return ""
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}: make it readable.") from None


def sha256(path: Path) -> str:
    """Return the sha256 of a file.

    Raises:
        InputError: the file cannot be read.
    """
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}: make it readable.") from None


def checksum(sums: Mapping[str, str]) -> str:
    """Return twelve hexadecimal digits over a set of files.

    Args:
        sums: name -> digest of the content.
    """
    lines = "".join(f"{name} {digest}\n" for name, digest in sorted(sums.items()))
    return hashlib.sha256(lines.encode()).hexdigest()[:12]


class Cached:
    """The folder of a data set in the cache, which need not exist."""

    def __init__(self, dataset: DataSet):
        self.dataset, self.folder = dataset, cache_folder(dataset.name)

    def load(self) -> LocalCopy | None:
        """Return the data set; None unless every file exists with the right md5."""
        files = {file: self.folder / file for file in self.dataset.files}
        present = files and all(path.is_file() for path in files.values())
        if not present or self.wrong():
            return None
        try:
            source = json.loads((self.folder / RECORD).read_text())["source"]
        except (OSError, ValueError, KeyError, TypeError):
            source = "cache"  # put there by hand, or by a process that ended before it wrote the record
        return LocalCopy(self.dataset.name, files, source, checksum(self.dataset.files))

    def wrong(self) -> list[Path]:
        """Return the files that have a wrong checksum."""
        paths = {self.folder / file: right for file, right in self.dataset.files.items()}
        return [path for path, right in paths.items() if path.is_file() and md5(path) != right]

    def store(self, contents: Contents, source: str) -> LocalCopy:
        """Fill the folder: each file is checked, written under another name, then moved into place.

        Args:
            contents: the canonical file names with their bytes.
            source: the source in words, which is recorded beside them.

        Raises:
            Unavailable: the bytes of a file have another md5; files before it are kept, since they are right.
        """
        for file, data in contents:
            if (got := hashlib.md5(data).hexdigest()) != self.dataset.files[file]:
                raise Unavailable(f"its {file} has md5 {got}, not {self.dataset.files[file]}")
            write_whole(self.folder / file, data)
        write_whole(self.folder / RECORD, json.dumps({"source": source}))
        if copy := self.load():
            return copy
        raise InputError(f"{self.folder}: what was just written there reads back differently: check the disk.")


@contextlib.contextmanager
def filling(folder: Path) -> Iterator[Path]:
    """Lock a folder of the cache for writing, one process at a time, and yield a scratch folder.

    Raises:
        InputError: the folder cannot be written, or the disk is full.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with open(open_lock(folder / ".lock")) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # waits for a process that is filling it now
            for leftover in folder.glob(f"{PART}*"):  # left by a process that was killed
                shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()
            with tempfile.TemporaryDirectory(prefix=PART, dir=folder, ignore_cleanup_errors=True) as scratch:
                yield Path(scratch)
    except OSError as error:
        remedy = "set BENCH_CACHE to a folder with room that can be written"
        raise InputError(f"{folder}: {error.strerror or error}: {remedy}.") from None
