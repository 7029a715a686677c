"""Options for the sources of data files, passed on to everything that reads data."""

import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from bench.errors import InputError, check_name, cut, expanded

Result = TypeVar("Result")
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


def with_files(function: Callable[..., Result], data_files: DataFiles | None) -> Callable[..., Result]:
    """Bind these options to the argument `data_files` of a function that makes a task.

    Functions without such an argument, as for generated data, and those with the argument already bound by
    functools.partial are returned unchanged.
    """
    parameter = inspect.signature(function).parameters.get("data_files")
    unset = parameter is not None and parameter.default is None
    return partial(function, data_files=data_files) if unset else function
