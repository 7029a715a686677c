"""Options for the sources of data files, as the environment has them."""

import os
from dataclasses import dataclass
from pathlib import Path

from bench.errors import InputError, check_name, cut, expanded

ANY = "any"
SOURCES = (ANY, "publisher", "packages", "tensorflow-datasets", "none")  # what BENCH_SOURCE may name


@dataclass(frozen=True, init=False)
class DataFiles:
    """The user's own files, and where other data may come from: immutable and hashable, so that caches are keyed by it.

    Attributes:
        data_dir: absolute path of the folder with the user's files; None where there is none.
        source: the kind of sources that data are fetched from, one of SOURCES; ANY is one kind after the other.
    """

    data_dir: Path | None
    source: str

    def __init__(self, data_dir: str | os.PathLike | None = None, source: str | None = None):
        """Set the options; by default the current values of BENCH_DATA and BENCH_SOURCE, and else no folder and ANY.

        Raises:
            InputError: where the folder does not exist or cannot be read, or there is no such kind of sources.
        """
        source = source or os.environ.get("BENCH_SOURCE") or ANY
        check_name("source of data (BENCH_SOURCE)", source, SOURCES)
        folder = data_dir or os.environ.get("BENCH_DATA")
        path = expanded(folder, "BENCH_DATA").absolute() if folder else None
        if path:
            try:
                os.listdir(path)
            except (OSError, ValueError) as error:  # a NUL character
                why = getattr(error, "strerror", error)
                raise InputError(f"{cut(str(path))}: {why}: give BENCH_DATA another folder.") from None
        object.__setattr__(self, "data_dir", path)
        object.__setattr__(self, "source", source)
