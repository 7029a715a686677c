"""Results on disk: one Parquet part per finished chunk, written then renamed, in results/<scale>/<sweep>/.

`pandas.read_parquet` on the folder gives the whole table, one row per run and evaluation. Files and folders
whose names begin with "_" or "." are not part of it: parts being written, and parts set aside. Methods differ in
their columns, and readers of a folder take the columns of its first file: `columns.parquet`, which has no rows.
"""

import contextlib
import errno
import hashlib
import json
import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from bench.errors import InputError
from bench.sweeps import journal

IDENTITY = ["point", "trial", "seed"]  # names a run: no two rows of one `rounds` share these
REQUIRED = [*IDENTITY, "sweep", "algorithm", "task", "rounds"]
COLUMNS = "columns.parquet"
REDO = "run the sweep again, which sets it aside and redoes it"


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


def parquet(path: Path) -> pa.Table | None:
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
    table = parquet(path)
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


def read(folder: str | os.PathLike, without: Collection[str] = ()) -> pd.DataFrame:
    """The whole table of one sweep at one scale, one row per run and evaluation.

    Args:
        folder: of the sweep.
        without: columns that are left out.

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
    table = pa.concat_tables(tables, promote_options="permissive")
    rows = table.select([name for name in table.column_names if name not in without]).to_pandas()
    if rows.duplicated([*IDENTITY, "rounds"]).any():
        raise InputError(f"{folder} holds some runs twice: move one of the copied parts elsewhere")
    if rows["sweep"].nunique() > 1:
        names = ", ".join(sorted(rows["sweep"].unique()))
        raise InputError(f"{folder} holds results of several sweeps ({names}): move the foreign parts elsewhere")
    return rows


def runs_in(table: pa.Table) -> pd.DataFrame:
    """The runs of a part, one row each."""
    return table.group_by(IDENTITY, use_threads=False).aggregate([]).to_pandas()


def write(path: Path, table: pa.Table) -> None:
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
