"""Search for data files that the user already has, by name and checksum."""

import os
from collections.abc import Iterator
from pathlib import Path

from bench.data.dataset import DataSet, LocalCopy
from bench.data.fetch.cache import checksum, md5, sha256
from bench.data.fetch.sources import DATASETS
from bench.errors import InputError

SOURCE = "user files"
DEPTH = 4  # levels of folders below the given one


def search(dataset: DataSet, folder: Path | None) -> tuple[LocalCopy | None, str]:
    """Return the data set from the user's files, gzipped or not and not copied, or the reason why it is missing.

    MNIST and Fashion-MNIST have the same file names, so the md5 decides. Files of another known data set are
    ignored.

    Args:
        dataset: the data set.
        folder: the folder to search, four levels deep; None for none.

    Returns:
        the data set, or None; in that case also the places that were searched, in words, for an error.

    Raises:
        InputError: a file has the right name and the wrong content, and there is no better one; files of a set
            without known checksums exist twice.
    """
    if folder is None:
        return None, "BENCH_DATA"
    candidates: dict[str, list[Path]] = {}
    names = {*dataset.files, *(file for files in dataset.user_files for file in files)}
    for path in _walk(folder):
        file = path.name if dataset.user_files else path.name.removesuffix(".gz")
        file = file.replace(".idx", "-idx")  # as in train-images.idx3-ubyte
        if file in names:
            candidates.setdefault(file, []).append(path)
    files, missing = (_pick_unchecked if dataset.user_files else _pick)(dataset, candidates)
    if missing:
        return None, f"{folder} (no {', '.join(missing)}{' of that set' if candidates else ''})"
    sums = dataset.files or {file: sha256(path) for file, path in files.items()}
    return LocalCopy(dataset.name, files, SOURCE, checksum(sums)), ""


def _walk(root: Path) -> Iterator[Path]:
    for parent, below, files in os.walk(root, followlinks=True):
        depth = len(Path(parent).relative_to(root).parts)
        below[:] = sorted(name for name in below if depth < DEPTH and not name.startswith("."))
        yield from (Path(parent) / file for file in sorted(files))


def _pick(dataset: DataSet, candidates: dict[str, list[Path]]) -> tuple[dict[str, Path], list[str]]:
    files, missing = {}, []
    for file, right in dataset.files.items():
        known = {other.files.get(file) for other in DATASETS.values()}  # of other sets' files of this name
        first: dict[str, Path] = {}  # md5 -> the first of the files with it
        for path in candidates.get(file, []):
            first.setdefault(md5(path), path)
        if right in first:
            files[file] = first[right]
        elif unknown := [got for got in first if got not in known]:
            got = unknown[0]
            fault = f"md5 {got}, not {right}" if got else "a damaged .gz"
            raise InputError(f"{first[got]}: {fault}: not {dataset.name} as published: replace it or move it away.")
        else:
            missing.append(file)
    return files, missing


def _pick_unchecked(dataset: DataSet, candidates: dict[str, list[Path]]) -> tuple[dict[str, Path], list[str]]:
    """Return the first alternative whose files all exist; without checksums there must be only one copy of it."""
    for files in dataset.user_files:
        if all(file in candidates for file in files):
            for file in files:
                if len(candidates[file]) > 1:
                    copies = " and ".join(str(path) for path in candidates[file][:2])
                    raise InputError(f"{dataset.name}: {copies}: keep only one, since no checksum can tell them apart.")
            return {file: candidates[file][0] for file in files}, []
    return {}, [dataset.file_names]
