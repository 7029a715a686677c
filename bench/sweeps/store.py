"""Results on disk: one Parquet part per finished chunk, written then renamed, in results/<scale>/<sweep>/.

`pandas.read_parquet` on the folder gives the whole table, one row per run and evaluation. Files and folders
whose names begin with "_" or "." are not part of it: parts being written, and parts set aside. Methods differ in
their columns, and readers of a folder take the columns of its first file: `columns.parquet`, which has no rows.
"""

import contextlib
import errno
import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bench.errors import InputError
from bench.sweeps import journal

IDENTITY = ["point", "trial", "seed"]  # names a run: no two rows of one `rounds` share these
REQUIRED = [*IDENTITY, "sweep", "algorithm", "task", "rounds"]
COLUMNS = "columns.parquet"
REDO = "run the sweep again, which sets it aside and redoes it"
SET_ASIDE = {"stale": "_stale", "corrupt": "_corrupt"}


def point_id(settings: Mapping[str, Any]) -> str:
    """A short digest of everything that may change a point's numbers, other than its trial and seed."""
    text = json.dumps(settings, sort_keys=True, default=lambda value: value.item())
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def cannot_write(path: Path, error: OSError) -> InputError:
    """The error for a file or folder that could not be written: says why."""
    reason = {errno.ENOSPC: "the disk is full", errno.EROFS: "it is read-only"}.get(error.errno or 0)
    if reason is None:
        reason = "no permission" if isinstance(error, PermissionError) else (error.strerror or str(error))
    return InputError(f"cannot write {path}: {reason}; everything finished before is kept, choose --out or make room")


def parts_in(folder: Path) -> list[Path]:
    """The files of a sweep's runs, by name."""
    names = [path.name for path in folder.glob("*.parquet") if path.name[0] not in "._" and path.name != COLUMNS]
    return sorted(journal.in_force(folder, names), key=lambda path: path.name)


def _parquet(path: Path) -> pa.Table | None:
    """A Parquet file's table; None where its content is damaged, which its checksums tell."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): make it readable, or move it") from None
    try:
        return pq.ParquetFile(pa.BufferReader(content), page_checksum_verification=True).read()
    except (pa.ArrowException, OSError, ValueError):
        return None


def read_part(path: Path) -> pa.Table | None:
    """One part; None where its content is damaged.

    Raises:
        InputError: where it cannot be opened, or is a Parquet file of something else.
    """
    table = _parquet(path)
    missing = [name for name in REQUIRED if table is not None and name not in table.column_names]
    if missing:
        raise InputError(f"{path} is not a part of these results (no column {missing[0]!r}): move it elsewhere")
    return table


def readable_parts(folder: Path, problems: list[str], remedy: str = REDO) -> Iterator[tuple[Path, pa.Table]]:
    """The parts that can be read, and for every other one a sentence that goes to `problems`.

    Args:
        folder: of one sweep at one scale.
        problems: appended to.
        remedy: what to do about a damaged part.
    """
    for path in parts_in(folder):
        try:
            table = read_part(path)
        except InputError as error:
            problems.append(str(error))
            continue
        if table is None:
            problems.append(f"{path} is damaged: {remedy}")
        else:
            yield path, table


def read(folder: str | os.PathLike) -> pd.DataFrame:
    """The whole table of one sweep at one scale, one row per run and evaluation.

    Raises:
        InputError: where there is none, or a part is damaged or foreign; each with what to do.
    """
    folder = Path(folder)
    tables = []
    for path in parts_in(folder):
        table = read_part(path)
        if table is None:
            raise InputError(f"{path} is damaged: {REDO}")
        tables.append(table)
    if not tables:
        raise InputError(f"no results in {folder}: first run `python -m bench run {folder.name}` at that scale")
    rows = pa.concat_tables(tables, promote_options="permissive").to_pandas()
    if rows.duplicated([*IDENTITY, "rounds"]).any():
        raise InputError(f"{folder} holds some runs twice: move one of the copied parts elsewhere")
    if rows["sweep"].nunique() > 1:
        names = ", ".join(sorted(rows["sweep"].unique()))
        raise InputError(f"{folder} holds results of several sweeps ({names}): move the foreign parts elsewhere")
    return rows


def runs_in(table: pa.Table) -> pd.DataFrame:
    """The runs of a part, one row each."""
    return table.group_by(IDENTITY, use_threads=False).aggregate([]).to_pandas()


def _write(path: Path, table: pa.Table) -> None:
    """Write a file so that it is there whole or not at all."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(unfinished, "wb") as file:
            pq.write_table(table, file, compression="zstd", write_page_checksum=True)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except BaseException as error:  # Ctrl-C as well
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise cannot_write(path, error) from None
        raise


class Store:
    """The folder of one sweep at one scale, held by one writer at a time.

    Use as a context manager.

    Attributes:
        folder: where the parts are.
        notes: what was set aside on opening, a sentence each.
    """

    def __init__(self, folder: str | os.PathLike):
        self.folder = Path(folder)
        self.notes: list[str] = []
        self._schema: pa.Schema | None = None  # of the whole table, as `columns.parquet` has it

    def __enter__(self):
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = open(self.folder / ".lock", "w")
        except OSError as error:
            raise cannot_write(self.folder, error) from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._lock.close()
            if not isinstance(error, BlockingIOError):
                raise cannot_write(self.folder, error) from None
            raise InputError(f"{self.folder} is in use by another run: wait for it, or choose --out") from None
        try:
            for leftover in self.folder.glob(".*.parquet.*"):  # of a writer that was killed
                leftover.unlink(missing_ok=True)
            journal.finish(self.folder)
        except BaseException as error:  # Ctrl-C as well
            self._lock.close()
            if isinstance(error, OSError):
                raise cannot_write(self.folder, error) from None
            raise
        return self

    def __exit__(self, *_):
        self._lock.close()

    def _set_aside(self, path: Path, why: str) -> Path:
        """Move a part out of the table; it is kept, under a name that does not collide."""
        target = self.folder / SET_ASIDE[why]
        try:
            target.mkdir(exist_ok=True)
            place = target / path.name
            for number in range(1, 1000):
                if not place.exists():
                    break
                place = target / f"{path.stem}-{number}.parquet"
            os.replace(path, place)
        except OSError as error:
            raise cannot_write(target, error) from None
        return place

    def open_parts(
        self,
        valid_points: Iterable[str],
        more_points: Callable[[], Iterable[str]] | None = None,
        *,
        twice: bool = False,
    ) -> pd.DataFrame:
        """The runs that are there, one row each with the columns of IDENTITY.

        Damaged parts, and rows of points that are not in `valid_points` (another setting, other data, another
        version of a method), are set aside, and a sentence about each is added to `notes`. `twice`: whether two parts
        may hold the same run, as before `replace`.

        Args:
            valid_points: ids.
            more_points: gives further ones, in case there are other points than these here.

        Raises:
            InputError: where a part cannot be opened or is of something else, before anything is moved; where
                two parts hold the same run.
        """
        valid, parts = set(valid_points), []
        for path in parts_in(self.folder):
            table = read_part(path)
            parts.append((path, None if table is None else (runs_in(table), table.schema)))
        here = {point for _, content in parts if content for point in content[0]["point"]}
        if more_points is not None and not here <= valid:
            valid |= set(more_points())
        found, schemas = [], []
        for path, content in parts:
            if content is None:
                place = self._set_aside(path, "corrupt")
                self.notes.append(f"{path} is damaged: set aside as {place}, its runs are done again")
                continue
            runs, schema = content
            current = runs["point"].isin(valid)
            if not current.all():
                # Aside first, good rows back second: a kill in between has them done again, never twice.
                place = self._set_aside(path, "stale")
                self.notes.append(
                    f"{sum(~current)} runs of other settings, data or code versions are set aside as {place}"
                )
                if not current.any():
                    continue
                table = read_part(place)
                assert table is not None, f"{place} was readable a moment ago"
                self._write_part(table.filter(pc.field("point").isin(list(valid))))
            found.append(runs[current])
            schemas.append(schema)
        self._name_columns(schemas)
        if not found:
            return pd.DataFrame(columns=IDENTITY)
        runs = pd.concat(found, ignore_index=True)
        if not twice and runs.duplicated().any():
            raise InputError(f"{self.folder} holds some runs twice: move one of the copied parts elsewhere")
        return runs

    def _name_columns(self, schemas: list[pa.Schema]) -> None:
        """Have `columns.parquet` name the columns of these schemas, and no others."""
        path = self.folder / COLUMNS
        if not schemas:
            path.unlink(missing_ok=True)
            return
        try:
            schema = pa.unify_schemas(schemas, promote_options="permissive")
        except pa.ArrowTypeError as error:
            text = str(error).splitlines()[0]
            raise InputError(f"a column of {self.folder} is of two kinds ({text}): give it one") from None
        there = _parquet(path) if path.exists() else None
        if there is None or there.schema != schema:
            _write(path, schema.empty_table())
        self._schema = schema

    def _write_part(self, table: pa.Table, folder: Path | None = None) -> Path:
        """Write a part, to the store's folder or another; its name follows from the runs in it."""
        runs = runs_in(table).astype(str).agg("/".join, axis=1)
        digest = hashlib.blake2b("\n".join(sorted(runs)).encode(), digest_size=8).hexdigest()
        path = (folder or self.folder) / f"part-{digest}.parquet"
        _write(path, table)
        return path

    def clear(self) -> None:
        """Set everything aside, for a run from the beginning."""
        paths = parts_in(self.folder)
        for path in paths:
            self._set_aside(path, "stale")
        if paths:
            self.notes.append(f"{len(paths)} parts are set aside in {self.folder / SET_ASIDE['stale']}")

    def replace(self, tables: Sequence[pa.Table]) -> None:
        """Put parts with these tables in place of all that are there, at one moment (`bench.sweeps.journal`).

        Raises:
            InputError: where they cannot be written; what was there stays.
        """
        old = [path.name for path in parts_in(self.folder)]
        self._name_columns([table.schema for table in tables])
        try:
            journal.replace(self.folder, old, lambda folder: [self._write_part(table, folder) for table in tables])
        except OSError as error:
            raise cannot_write(self.folder, error) from None

    def write(self, rows: pd.DataFrame) -> Path:
        """Add a finished chunk."""
        table = pa.Table.from_pandas(rows, preserve_index=False).replace_schema_metadata(None)
        self._name_columns([self._schema, table.schema] if self._schema else [table.schema])
        return self._write_part(table)
