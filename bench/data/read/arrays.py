"""Arrays that users and other programs made, most of them in npy and npz files."""

from collections.abc import Collection
from pathlib import Path

import numpy as np
import psutil

from bench.errors import InputError, cut, in_one_line

PACKED = 8  # bytes of memory for a byte, which may be a whole number of an array


def read_arrays(
    source: Path | np.ndarray, name: str, remedy: str, *, bytes_each: int, only: Collection[str] = ()
) -> dict[str, np.ndarray]:
    """Return the arrays of a file by name, a single one as "". Nothing in the file is executed.

    Args:
        source: npy or npz file, or what is to be an array.
        name: of the source, for messages.
        remedy: what to do about a source that cannot be read.
        bytes_each: memory that the caller needs for each number.
        only: the arrays that are read, of those that are there; () for all.

    Raises:
        InputError: for a source that cannot be read, and for numbers that do not fit into memory; those of an archive
            are counted before they are unpacked.
    """
    total = psutil.virtual_memory().total

    def check_size(needed: int) -> None:
        if needed > total:
            raise InputError(
                f"{name} needs {needed / 1e9:.3g} GB of memory, and there are {total / 1e9:.3g}: give fewer numbers"
            )

    try:
        if isinstance(source, Path):
            if not source.is_file():
                raise OSError("no regular file")  # to read a pipe would wait for ever
            check_size(PACKED * source.stat().st_size)
            with open(source, "rb") as file:  # NumPy would leave a damaged archive open
                content = np.load(file, allow_pickle=False)
                if isinstance(content, np.ndarray):
                    arrays = {"": content}
                else:
                    check_size(PACKED * sum(member.file_size for member in content.zip.infolist()))
                    arrays = {each: np.asarray(content[each]) for each in content.files if each in (only or content)}
        else:
            arrays = {"": np.asarray(source)}
    except InputError:
        raise
    except Exception as error:  # a damaged, encrypted or foreign archive raises a dozen kinds
        raise InputError(f"{name} cannot be read ({cut(in_one_line(error))}): {remedy}") from None
    check_size(bytes_each * sum(array.size for array in arrays.values()))
    return arrays
