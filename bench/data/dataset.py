"""The types that describe a data set, with its files, terms and sources, and a copy of it on this machine."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from bench.data.decode import Contents

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


class Source(ABC):
    """A source of a data set; its str is its name in results.

    Attributes:
        kind: what BENCH_SOURCE calls it.
        client: the program or host that is asked.
    """

    kind: ClassVar[str]
    client: str

    def is_available(self) -> bool:
        """Return whether the source can be tried on this machine."""
        return True

    @abstractmethod
    def contents(self, scratch: Path, report: Report) -> Contents:
        """Yield canonical names and their bytes, not yet checked against the table.

        Args:
            scratch: an empty folder, for the caller to remove.
            report: receives progress messages.

        Raises:
            Unreachable: the client is not installed, or nobody answers it.
            Unavailable: it does not have the data set, or not as expected.
            OSError: the disk is full.
        """


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
        instead: a task of the same kind that needs no file of the user's, if there is one.
    """

    name: str
    what: str
    files: Mapping[str, str]
    licence: str
    citation: str
    sources: tuple[Source, ...] = ()
    user_files: tuple[tuple[str, ...], ...] = ()
    instead: str = ""

    @property
    def file_names(self) -> str:
        """The names of its files, in words."""
        return " or ".join(" and ".join(files) for files in self.user_files) or ", ".join(self.files)

    @property
    def by_hand(self) -> str:
        """How to provide the files, or which task needs none."""
        instead = f", or take the task {self.instead}, which needs no file of yours" if self.instead else ""
        return f"put {self.file_names} in a folder and name it by BENCH_DATA{instead}"
