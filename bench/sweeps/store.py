"""The folder of a sweep's results, held by one writer at a time: what is there, what is set aside, what is added."""

import fcntl
import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bench.errors import InputError
from bench.sweeps import journal
from bench.sweeps.part_files import COLUMNS, IDENTITY, cannot_write, parquet, parts_in, read_part, runs_in, write

SET_ASIDE = {"stale": "_stale", "corrupt": "_corrupt"}


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
        there = parquet(path) if path.exists() else None
        if there is None or there.schema != schema:
            write(path, schema.empty_table())
        self._schema = schema

    def _write_part(self, table: pa.Table, folder: Path | None = None) -> Path:
        """Write a part, to the store's folder or another; its name follows from the runs in it."""
        runs = runs_in(table).astype(str).agg("/".join, axis=1)
        digest = hashlib.blake2b("\n".join(sorted(runs)).encode(), digest_size=8).hexdigest()
        path = (folder or self.folder) / f"part-{digest}.parquet"
        write(path, table)
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
