"""Options for the sources of data files, passed on to everything that reads data."""

import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from bench.errors import InputError, expanded, shown

Result = TypeVar("Result")


@dataclass(frozen=True, init=False)
class DataFiles:
    """The user's own files, and whether data may be downloaded: immutable and hashable, so that caches are keyed by it.

    Attributes:
        data_dir: absolute path of the folder with the user's files; None where there is none.
        download: whether data that no other source has may be downloaded from its authors' addresses.
    """

    data_dir: Path | None
    download: bool

    def __init__(self, data_dir: str | os.PathLike | None = None, download: bool = False):
        """Set the options; the default folder is the current value of BENCH_DATA, if any.

        Raises:
            InputError: where the folder does not exist or cannot be read.
        """
        folder = data_dir or os.environ.get("BENCH_DATA")
        path = expanded(folder, "--data-dir (BENCH_DATA)").absolute() if folder else None
        if path:
            try:
                os.listdir(path)
            except OSError as error:
                raise InputError(f"{path}: {error.strerror}: give --data-dir (BENCH_DATA) another folder.") from None
            except ValueError:  # a NUL character
                raise InputError(f"{shown(str(path))} is not a path: give --data-dir another folder.") from None
        object.__setattr__(self, "data_dir", path)
        object.__setattr__(self, "download", download)


def with_files(function: Callable[..., Result], data_files: DataFiles | None) -> Callable[..., Result]:
    """Bind these options to the argument `data_files` of a function that makes a task.

    Functions without such an argument, as for generated data, and those with the argument already bound by
    functools.partial are returned unchanged.
    """
    parameter = inspect.signature(function).parameters.get("data_files")
    unset = parameter is not None and parameter.default is None
    return partial(function, data_files=data_files) if unset else function
