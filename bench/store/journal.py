"""Replaces many files of a folder by few, atomically, with a journal.

The new files are first written to `_pending`. The journal names them and the files that they replace. Once the journal
exists, the new files are valid and the old ones are not, wherever they are; whoever opens the folder next completes the
moves.
"""

import json
import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from bench.errors import InputError, remedy_of
from bench.files import read_regular

JOURNAL, PENDING = "_replaced.json", "_pending"


def read(folder: Path) -> tuple[list[str], list[str]] | None:
    """Names of new files and of those that they replace; None where nothing is under way.

    Raises:
        InputError: where the journal is damaged, or a new file is missing: then the old ones are all that there is.
    """
    path = folder / JOURNAL
    try:
        found = json.loads(read_regular(path))
        new, old = found["new"], found["old"]
        plain = all(isinstance(name, str) and Path(name).name == name and name[0] not in "._" for name in [*new, *old])
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): {remedy_of(error)}") from None
    except (ValueError, KeyError, TypeError, IndexError, RecursionError):
        plain = False
    if not plain:
        raise InputError(f"{path} is damaged: move the whole of {folder} elsewhere, and merge it again") from None
    for name in new:
        if not ((folder / PENDING / name).is_file() or (folder / name).is_file()):
            raise InputError(
                f"{path} replaces {len(old)} files by {len(new)}, of which {name} is missing: copy the folder again "
                f"with {PENDING}, or delete {path}, which keeps the earlier files"
            )
    return new, old


def in_force(folder: Path, names: Sequence[str]) -> list[Path]:
    """Of the files with these names, and those that wait, the ones that count now."""
    under_way = read(folder)
    if under_way is None:
        return [folder / name for name in names]
    new, old = under_way
    waiting = [folder / PENDING / name for name in new]
    return [folder / name for name in names if name not in old] + [path for path in waiting if path.exists()]


def replace(folder: Path, old: Sequence[str], write: Callable[[Path], Sequence[Path]]) -> None:
    """Put new files in place of old ones. Killed at any moment, either all of the old or all of the new are in force.

    Args:
        folder: where the files are; locked by the caller.
        old: names of files to go.
        write: given a folder, writes the new files there, each safely on disk when it returns; their paths.
    """
    finish(folder)
    (folder / PENDING).mkdir()
    new = [path.name for path in write(folder / PENDING)]
    same = set(new) & set(old)  # names say what runs a file has, so these are there already
    for name in same:
        (folder / PENDING / name).unlink()
    entry = {"new": [name for name in new if name not in same], "old": [name for name in old if name not in same]}
    unfinished = folder / f"{JOURNAL}.{os.getpid()}"
    with open(unfinished, "w") as file:
        json.dump(entry, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(unfinished, folder / JOURNAL)
    finish(folder)


def finish(folder: Path) -> None:
    """Do what a journal says and remove it; clear away new files of which none came to say anything."""
    under_way = read(folder)
    if under_way is not None:
        new, old = under_way
        for name in new:
            with suppress(FileNotFoundError):  # moved before
                os.replace(folder / PENDING / name, folder / name)
        for name in old:
            (folder / name).unlink(missing_ok=True)
        (folder / JOURNAL).unlink()
    for unfinished in folder.glob(f"{JOURNAL}.*"):
        unfinished.unlink(missing_ok=True)
    shutil.rmtree(folder / PENDING, ignore_errors=True)
