"""Where data files may come from: said on the command line or in Python, and handed down to whatever reads them."""

import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from bench.errors import InputError

Result = TypeVar("Result")


@dataclass(frozen=True, init=False)
class DataFiles:
    """The user's own files, and whether data may be downloaded: immutable and hashable, so that caches are keyed by it.

    Attributes:
        data_dir: absolute path of the folder with the user's files; None where there is none.
        download: whether the authors' addresses may be asked for data that nothing else has.
    """

    data_dir: Path | None
    download: bool

    def __init__(self, data_dir: str | os.PathLike | None = None, download: bool = False):
        """The options as given; without a folder, the one that BENCH_DATA names now, if any.

        Raises:
            InputError: there is no such folder, or it cannot be read.
        """
        folder = data_dir or os.environ.get("BENCH_DATA")
        path = Path(folder).expanduser().absolute() if folder else None
        if path:
            try:
                os.listdir(path)
            except OSError as error:
                raise InputError(f"{path}: {error.strerror}: give --data-dir (BENCH_DATA) another folder.") from None
        object.__setattr__(self, "data_dir", path)
        object.__setattr__(self, "download", download)


def with_files(function: Callable[..., Result], data_files: DataFiles | None) -> Callable[..., Result]:
    """A function, such as the maker of a task, with these options for its argument `data_files`.

    Those without such an argument, makers of generated data among them, and those to which it was given before, with
    functools.partial, stay as they are.
    """
    parameter = inspect.signature(function).parameters.get("data_files")
    unset = parameter is not None and parameter.default is None
    return partial(function, data_files=data_files) if unset else function
