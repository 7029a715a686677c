"""The files a user already has: found by name, told apart by checksum."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from bench.data.fetch import cache
from bench.data.fetch.dataset import Found
from bench.data.fetch.sources import DATASETS
from bench.errors import InputError

SOURCE = "user files"
DEPTH = 4  # folders below the given one


def root(data_dir: str | Path | None = None) -> Path | None:
    """The folder with the user's files: the one given, or the one that BENCH_DATA names, if any.

    Raises:
        InputError: there is no such folder, or it cannot be read.
    """
    where = data_dir or os.environ.get("BENCH_DATA")
    if not where:
        return None
    where = Path(where).expanduser()
    try:
        os.listdir(where)
    except OSError as error:
        raise InputError(f"{where}: {error.strerror}: give --data-dir (BENCH_DATA) another folder.") from None
    return where


def search(name: str, data_dir: str | Path | None = None) -> tuple[Found | None, str]:
    """The data set among the user's files, as they lie there, gzipped or not; or else why not.

    MNIST and Fashion-MNIST have the same file names: the md5 decides. Files of another known data set, and
    files in a folder named after one, are passed over.

    Args:
        name: the data set.
        data_dir: the folder to search, four levels deep; as for root.

    Returns:
        what was found, or None; and in words what was searched, for an error.

    Raises:
        InputError: there is no such folder or it cannot be read; a file has the right name and the wrong
            content, and there is no better one; files of a set without known checksums are there twice.
    """
    where = root(data_dir)
    if where is None:
        return None, "--data-dir"
    candidates: dict[str, list[Path]] = {}
    packed = (".lzma", ".xz") if DATASETS[name].own else (".gz",)
    wanted = {*DATASETS[name].files, *(file for files in DATASETS[name].own for file in files)}
    for path in _walk(where):
        if (file := _canonical(path.name, packed)) in wanted:
            candidates.setdefault(file, []).append(path)
    pick = _pick_unchecked if DATASETS[name].own else _pick
    files, missing = pick(name, candidates, where)
    if missing:
        return None, f"{where} (no {', '.join(missing)}{' of that set' if candidates else ''})"
    sums = dict(DATASETS[name].files) or {file: _sha256(path) for file, path in files.items()}
    return Found(name, files, SOURCE, cache.checksum(sums)), ""


def _walk(root: Path) -> Iterator[Path]:
    for folder, below, files in os.walk(root, followlinks=True):
        depth = len(Path(folder).relative_to(root).parts)
        below[:] = sorted(name for name in below if depth < DEPTH and not name.startswith("."))
        yield from (Path(folder) / file for file in sorted(files))


def _canonical(file: str, packed: tuple[str, ...]) -> str:
    for ending in packed:
        file = file.removesuffix(ending)
    return file.replace(".idx", "-idx")  # as in train-images.idx3-ubyte


def _pick(name: str, candidates: dict[str, list[Path]], root: Path) -> tuple[dict[str, Path], list[str]]:
    files, missing = {}, []
    for file, right in DATASETS[name].files.items():
        sums = {path: cache.md5(path) for path in candidates.get(file, [])}
        others = {path: got for path, got in sums.items() if not _of_another(name, file, path, got, root)}
        good = [path for path, got in sums.items() if got == right]
        if not good and others:
            path, got = next(iter(others.items()))
            fault = f"md5 {got}, not {right}" if got else "a damaged .gz"
            raise InputError(f"{path}: {fault}: not {name} as published: replace it or move it away.")
        if good:
            files[file] = good[0]
        else:
            missing.append(file)
    return files, missing


def _of_another(name: str, file: str, path: Path, md5: str, root: Path) -> bool:
    if any(data.files.get(file) == md5 for other, data in DATASETS.items() if other != name):
        return True
    folders = {part.lower().replace("-", "_") for part in path.relative_to(root).parts[:-1]}
    plain = {part.replace("_", "") for part in folders}
    names = {other for other in DATASETS if {other, other.replace("_", "")} & (folders | plain)}
    return bool(names) and name not in names


def _pick_unchecked(name: str, candidates: dict[str, list[Path]], root: Path) -> tuple[dict[str, Path], list[str]]:
    """The first alternative that is there whole: without checksums there must be only one copy of it."""
    for files in DATASETS[name].own:
        if all(file in candidates for file in files):
            for file in files:
                if len(candidates[file]) > 1:
                    both = " and ".join(str(path) for path in candidates[file][:2])
                    raise InputError(f"{name}: {both}: keep one, no checksum tells them apart.")
            return {file: candidates[file][0] for file in files}, []
    return {}, [" or ".join(" and ".join(files) for files in DATASETS[name].own)]


def _sha256(path: Path) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}: make it readable.") from None
