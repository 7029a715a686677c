"""The folder of a sweep's results, held by one writer at a time: what is there, what is set aside, what is added."""

import fcntl
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from bench.errors import InputError, cannot_write, writing
from bench.files import PART, open_lock
from bench.store.complete_runs import STALE, Points, Shape, in_words, settings_in, sound_runs
from bench.store.part_files import (
    COLUMNS,
    IDENTITY,
    UnusablePart,
    as_file,
    parquet,
    part_path,
    parts_in,
    read_part,
    unified,
    write,
)

SET_ASIDE = {"stale": "_stale", "corrupt": "_corrupt", "foreign": "_foreign"}
LOCK = ".lock"


class Store:
    """The folder of one sweep at one scale, held by one writer at a time.

    Use as a context manager.

    Attributes:
        folder: where the parts are.
        notes: what was set aside on opening, a sentence each.
        known_as: id of a point -> `point`, its id in the rows that are there, and their computed columns, where they
            may differ from those of the point.
        recognised: the ids in the rows that are there, of points of the sweep.
    """

    def __init__(self, folder: str | os.PathLike):
        self.folder = Path(folder)
        self.notes: list[str] = []
        self.known_as: dict[str, dict[str, Any]] = {}
        self.recognised: set[str] = set()
        self._schema: pa.Schema | None = None  # of the whole table, as `columns.parquet` has it

    def __enter__(self):
        with writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = open_lock(self.folder / LOCK)
        try:
            self._hold()
        except BaseException as error:  # Ctrl-C as well
            os.close(self._lock)
            if isinstance(error, OSError):
                raise cannot_write(error, self.folder) from None
            raise
        return self

    def _hold(self) -> None:
        """Lock the folder, and clear away what a writer left that was killed."""
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"{self.folder} is in use by another run: wait for it, or choose --out") from None
        for leftover in self.folder.glob(f"{PART}*"):
            if leftover.is_file() or leftover.is_symlink():
                leftover.unlink(missing_ok=True)

    def __exit__(self, *_):
        os.close(self._lock)

    def _set_aside(self, path: Path, why: str) -> Path:
        """Move a part out of the table; it is kept, under a name that does not collide."""
        target = self.folder / SET_ASIDE[why]
        with writing(target):
            target.mkdir(exist_ok=True)
            place = target / path.name
            if os.path.lexists(place):
                place = target / f"{path.stem}-{secrets.token_hex(4)}.parquet"
            os.replace(path, place)
        return place

    def open_parts(
        self,
        shapes: Mapping[str, Shape],
        more: Callable[[], Mapping[str, Shape]] | None = None,
        *,
        twice: bool = False,
        keep_others: bool = False,
    ) -> set[tuple]:
        """Return the complete runs in the folder, (id of the point, trial, seed).

        What is damaged or foreign, and rows of other points than these (another setting, other data, another version of
        a method), of runs with rows missing or doubled, and of runs that are there already, are set aside, and a
        sentence about each part is added to `notes`.

        Args:
            shapes: id of a point -> what its runs look like.
            more: gives further shapes, called where the folder has other points than these.
            twice: whether two parts may hold the same run, as before `replace`.
            keep_others: whether rows of other points stay where they are.

        Raises:
            InputError: where a part cannot be opened, before anything is moved.
        """
        runs: dict[Path, tuple[pa.Table, pa.Schema]] = {}
        settings: dict[Path, pd.DataFrame] = {}
        unusable: dict[Path, UnusablePart] = {}
        for path in parts_in(self.folder):
            try:
                table = read_part(path)
                runs[path], settings[path] = (table.select([*IDENTITY, "rounds"]), table.schema), settings_in(table)
            except UnusablePart as error:
                unusable[path] = error
        points = Points(shapes)
        points_of = {path: points.recognised(rows) for path, rows in settings.items()}
        if more is not None and any(len(points_of[path]) < len(rows) for path, rows in settings.items()):
            points = Points({**more(), **shapes})
            points_of = {path: points.recognised(rows) for path, rows in settings.items()}
        for path, rows in settings.items():
            self._note_ids(rows, points_of[path], points.shapes)
            self.recognised |= {*points_of[path]}
        for path, error in unusable.items():
            place = self._set_aside(path, "corrupt" if error.damaged else "foreign")
            consequence = ", its runs are done again" if error.damaged else ""
            self.notes.append(f"{error}: set aside as {place}{consequence}")
        stored: set[tuple] = set()
        schemas = {}
        for path, (rows, schema) in runs.items():
            earlier = frozenset() if twice else stored
            sound = sound_runs(rows, schema, points.shapes, points_of[path], earlier, keep_others=keep_others)
            if sound.left_out:
                # Aside first, good rows back second: a kill in between has them done again, never twice.
                place = self._set_aside(path, "stale" if STALE in sound.left_out else "corrupt")
                self.notes.append(f"{path} has {in_words(sound.left_out)}: set aside as {place}")
                if sound.runs:
                    table = parquet(place.read_bytes())
                    assert table is not None, f"{place} was readable a moment ago"
                    self._write_part(table.filter(pa.array(sound.kept)))
            if sound.runs:
                schemas[path] = schema
            stored |= sound.runs
        self._name_columns(schemas)
        return stored

    def _note_ids(self, settings: pd.DataFrame, point_of: Mapping[str, str], shapes: Mapping[str, Shape]) -> None:
        """Add to `known_as` under which ids, and with which computed numbers, points have runs here.

        Args:
            settings: a row for each id, from `settings_in`.
            point_of: id in the rows -> id of the point.
            shapes: id of a point -> what its runs look like.
        """
        for row in settings[settings["point"].isin(list(point_of))].to_dict("records"):
            id = point_of[row["point"]]
            if id not in self.known_as and (row["point"] != id or shapes[id].computed):
                numbers = {name: row[name] for name in shapes[id].computed if name in row}
                self.known_as[id] = {"point": row["point"], **numbers}

    def _name_columns(self, schemas: Mapping[Any, pa.Schema]) -> None:
        """Make `columns.parquet` name exactly the columns of these tables."""
        path = self.folder / COLUMNS
        if not schemas:
            path.unlink(missing_ok=True)
            return
        schema = unified(schemas)
        if schema == self._schema and path.exists():
            return
        stored = parquet(path.read_bytes()) if path.is_file() else None
        # The order of the columns is that in which parts were read, and means nothing.
        if stored is None or {*stored.schema} != {*schema}:
            write(path, as_file(schema.empty_table()))
        self._schema = schema

    def _write_part(self, table: pa.Table) -> Path:
        """Write a part."""
        content = as_file(table)
        path = part_path(self.folder, table, content)
        write(path, content)
        return path

    def replace(self, tables: Sequence[pa.Table]) -> None:
        """Replace all parts by parts with these tables.

        If the process is killed on the way, no run is lost; some exist twice, which the next writer sets aside.

        Raises:
            InputError: where they cannot be written; what was there stays.
        """
        old = parts_in(self.folder)
        self._name_columns({f"part {number}": table.schema for number, table in enumerate(tables, 1)})
        new = [self._write_part(table) for table in tables]
        for path in {*old} - {*new}:
            path.unlink()

    def write(self, rows: pd.DataFrame) -> Path:
        """Add a finished chunk."""
        table = pa.Table.from_pandas(rows, preserve_index=False).replace_schema_metadata(None)
        schemas = {self.folder: self._schema} if self._schema else {}
        self._name_columns(schemas | {"the table of new rows": table.schema})
        return self._write_part(table)
