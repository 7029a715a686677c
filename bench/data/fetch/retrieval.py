"""Retrieval of a data set from the user's files, the cache, or the first of its sources that has it."""

import logging
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.data.dataset import DataSet, LocalCopy, Report, Source, Unavailable, Unreachable
from bench.data.decode import plain
from bench.data.fetch import user_files
from bench.data.fetch.cache import Cached, filling
from bench.data.fetch.prepared import PreparedCopy
from bench.data.fetch.sources import dataset_named
from bench.data.files import ANY, DataFiles
from bench.errors import InputError

log = logging.getLogger(__name__)


def get(name: str, data_files: DataFiles | None = None, *, report: Report | None = None) -> LocalCopy:
    """Return the data set from the first source that has it; it is checked, and cached for the next time.

    The user's files are looked at first, then the cache, then the sources of the table in their order, or those of the
    kind that `data_files` names. Data sets without known checksums are only read from the user's folder. A warning says
    what came from where, and what was tried before.

    Args:
        name: a name of the table.
        data_files: the user's files, and the kind of sources to use; default DataFiles().
        report: receives progress messages, many times a second. A caller that has one says itself what came from where;
            the warning is then only of sources that failed.

    Raises:
        InputError: for an unknown data set; where the content of a user's file does not match its name; where the cache
            cannot be written; or where no source has the data set, with a list of what was tried.
    """
    dataset, data_files, tell = dataset_named(name), data_files or DataFiles(), report or (lambda text: None)
    users, searched = user_files.search(dataset, data_files.data_dir)
    if dataset.user_files:
        if users:
            return users
        raise InputError(f"{name}: not in {searched}: {dataset.by_hand}.")
    cached = Cached(dataset)
    if copy := _credited(cached.load(), users):
        return copy
    with filling(cached.folder) as scratch:
        if copy := _credited(cached.load(), users):  # another process was faster
            return copy
        failures = []
        for path in cached.wrong():
            failures.append(f"{path} was damaged and is now {path.rename(f'{path}.corrupt').name}")
            log.warning(failures[-1])
        if users:
            contents = ((file, plain(file, path.read_bytes())) for file, path in users.files.items())
            return cached.store(contents, users.source)
        sources, unreachable = sources_of(dataset, data_files), {}
        for source in sources:
            try:
                if source.client in unreachable:  # nobody answered it, so it is not started again
                    raise unreachable[source.client]
                tell(str(source))
                with TemporaryDirectory(dir=scratch, ignore_cleanup_errors=True) as empty:
                    copy = cached.store(source.contents(Path(empty), tell), str(source))
            except Unavailable as why:
                failures.append(f"{source}: {why}")
                if isinstance(why, Unreachable):
                    unreachable[source.client] = why
            else:
                if failures or not report:
                    log.warning("%s: from %s%s", name, source, f" ({'; '.join(failures)})" if failures else "")
                return copy
    elsewhere = (
        "cache" if any(isinstance(source, PreparedCopy) for source in sources) else "cache or tensorflow_datasets"
    )
    otherwise = "" if data_files.source == ANY else ", or let BENCH_SOURCE be any"
    failures = "; ".join([f"not in {searched}, {elsewhere}", *failures])
    raise InputError(f"{name}: {failures}: {dataset.by_hand}{otherwise}.")


def find(name: str, data_files: DataFiles | None = None) -> LocalCopy | None:
    """Return the data set from the user's files, without copying them, or from the cache; nothing is fetched.

    Args:
        name: a name of the table.
        data_files: as for `get`.

    Raises:
        InputError: as for `get`, about the user's files.
    """
    dataset = dataset_named(name)
    return user_files.search(dataset, (data_files or DataFiles()).data_dir)[0] or Cached(dataset).load()


def sources_of(dataset: DataSet, data_files: DataFiles) -> list[Source]:
    """Return the sources to try on this machine, of the kind that was asked for."""
    return [source for source in dataset.sources if data_files.source in (ANY, source.kind) and source.is_available()]


def _credited(cached: LocalCopy | None, users: LocalCopy | None) -> LocalCopy | None:
    """Return the cached copy; where there are user's files, they are named as its source."""
    return replace(cached, source=users.source) if cached and users else cached
