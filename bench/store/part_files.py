"""Results on disk: one Parquet part per finished chunk, written then renamed, in results/<scale>/<sweep>/.

`pandas.read_parquet` on the folder gives the whole table, one row per run and evaluation. Files and folders
whose names begin with "_" or "." are not part of it: parts being written, and parts set aside. Methods differ in
their columns, and readers of a folder take the columns of its first file: `columns.parquet`, which has no rows.

A part is called part-<runs>-<content>.parquet, with a digest of the runs in it and one of the file's bytes, so that
every reader can check that the file is what was written. A file with another name is no part.
"""

import contextlib
import errno
import hashlib
import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from bench.errors import InputError, unknown_name
from bench.files import write_whole
from bench.store import journal

IDENTITY = ["point", "trial", "seed"]  # names a run: no two rows of one `rounds` share these


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


REQUIRED = {  # columns that every part has, and of which kind
    **dict.fromkeys(("point", "sweep", "algorithm", "task"), _is_text),
    **dict.fromkeys(("trial", "seed", "rounds"), pa.types.is_integer),
}
KINDS = {  # also of columns that may be absent
    **REQUIRED,
    "scale": _is_text,
    **dict.fromkeys(("wall_s", "compile_s"), pa.types.is_floating),
}
DIGEST_IN_NAME = re.compile(r"part-[0-9a-f]{16}-([0-9a-f]{16})\.parquet")
UNNAMED = "its name has no digest of its content, so it was renamed, or written by another program"
COLUMNS = "columns.parquet"
REDO = "run the sweep again, which moves it aside and repeats its runs"


def cannot_store(error: OSError, path: Path) -> InputError:
    """Return the error for results that cannot be stored, which says why; `bench.errors.cannot_write` is for other
    files."""
    culprit = error.filename if isinstance(error.filename, str) else path
    if error.errno in (errno.ENOTDIR, errno.EEXIST, errno.EISDIR, errno.ELOOP):
        return InputError(f"cannot write {path}: {_in_the_way(Path(culprit))} is in the way: move it elsewhere")
    reason = {errno.ENOSPC: "the disk is full", errno.EROFS: "it is read-only", errno.ENOENT: "its folder is gone"}
    text = reason.get(error.errno or 0)
    if text is None:
        text = "no permission" if isinstance(error, PermissionError) else (error.strerror or str(error))
    return InputError(
        f"cannot write {path}: {text}; everything finished so far is kept; choose another --out or free some space"
    )


def check_writable(folder: Path) -> None:
    """Refuse a folder that cannot be made or written, before anything is computed for it; it is not left behind.

    Raises:
        InputError: saying what is in the way.
    """
    missing = [path for path in (folder, *folder.parents) if not os.path.exists(path)]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        writable = os.access(folder, os.W_OK | os.X_OK)
    except OSError as error:
        if error.errno in (errno.ENOTDIR, errno.EEXIST, errno.ELOOP):
            raise cannot_store(error, folder) from None
        raise InputError(f"cannot write {folder}: it cannot be made ({error.strerror}); choose another --out") from None
    finally:
        for path in missing:
            with contextlib.suppress(OSError):
                path.rmdir()
    if not writable:
        raise InputError(f"cannot write {folder}: no permission; choose another --out")


def _in_the_way(path: Path) -> Path:
    """Return what of a path is not a folder, or, where it is one, the path itself."""
    return next((above for above in reversed(path.parents) if above.exists() and not above.is_dir()), path)


def parts_in(folder: Path) -> list[Path]:
    """Return the files of a sweep's runs, by name."""
    names = [path.name for path in folder.glob("*.parquet") if path.name[0] not in "._" and path.name != COLUMNS]
    return sorted(journal.in_force(folder, names), key=lambda path: path.name)


class UnusablePart(InputError):
    """A file that cannot be used as a part, and may be set aside.

    Attributes:
        damaged: whether it was a part once.
    """

    def __init__(self, message: str, *, damaged: bool):
        super().__init__(message)
        self.damaged = damaged


def content_digest(content: bytes | pa.Buffer) -> str:
    """Return the digest of a file's bytes that stands in its name."""
    return hashlib.blake2b(content, digest_size=8).hexdigest()


def parquet(
    content: bytes, only: Collection[str] | None = None, without: Collection[str] = (), *, categories: bool = False
) -> pa.Table | None:
    """Return the table of a Parquet file with this content; None where it is damaged, which its checksums tell, or has
    text that is no text.

    Args:
        content: of the file.
        only: only these of its columns; None for all.
        without: columns that are left out.
        categories: whether text is read as a dictionary of its values, and a number for each row.
    """
    try:
        source, how = pa.BufferReader(content), {"page_checksum_verification": True}
        file = pq.ParquetFile(source, **how)
        names = [
            column for column in file.schema_arrow.names if (only is None or column in only) and column not in without
        ]
        if categories:
            text = [name for name in names if _is_text(file.schema_arrow.field(name).type)]
            file = pq.ParquetFile(source, **how, read_dictionary=text)
        table = file.read(names)
        table.validate(full=True)
        return table
    except (pa.ArrowException, OSError, ValueError):
        return None


def read_part(
    path: Path, only: Collection[str] | None = None, without: Collection[str] = (), *, categories: bool = False
) -> pa.Table:
    """Read and check a single part: the digest in its name, and the columns that identify a run.

    Args:
        path: of the part.
        only: besides those that every part has, only these columns, where they exist; None for all.
        without: columns that are left out, of those that not every part has.
        categories: whether text is read as a dictionary of its values, and a number for each row.

    Raises:
        UnusablePart: where it is damaged, or not a part of results.
        InputError: where it cannot be opened.
    """
    if not path.is_file():
        what = "a folder" if path.is_dir() else "no file" if path.exists() else "a link to nothing"
        raise UnusablePart(f"{path} is {what}, not a part", damaged=False)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): make it readable, or move it") from None
    named = DIGEST_IN_NAME.fullmatch(path.name)
    wanted = None if only is None else {*REQUIRED, *only}
    intact = not named or named[1] == content_digest(content)
    table = parquet(content, wanted, {*without} - {*REQUIRED}, categories=categories) if intact else None
    if table is None:
        raise UnusablePart(f"{path} is damaged", damaged=True)
    if not named:
        raise UnusablePart(f"{path} is not a part of these results ({UNNAMED})", damaged=False)
    if not len(table):
        raise UnusablePart(f"{path} is not a part of these results (no rows)", damaged=False)
    names = Counter(table.column_names)
    for name, number in names.items():
        if number > 1:
            raise UnusablePart(f"{path} is not a part of these results (several columns {name!r})", damaged=False)
    for name, fits in KINDS.items():
        if name not in names:
            if name not in REQUIRED:
                continue
            raise UnusablePart(f"{path} is not a part of these results (no column {name!r})", damaged=False)
        kind = table.schema.field(name).type
        if not fits(kind.value_type if pa.types.is_dictionary(kind) else kind):
            raise UnusablePart(f"{path} is not a part of these results ({name!r} is {kind})", damaged=False)
        if name in REQUIRED and table[name].null_count:
            raise UnusablePart(f"{path} is damaged (no {name!r} in {table[name].null_count:,} rows)", damaged=True)
    return table


def readable_parts(folder: Path, problems: list[str], remedy: str = REDO) -> Iterator[tuple[Path, pa.Table]]:
    """Yield the parts that can be used, and for every other one a sentence that goes to `problems`.

    Args:
        folder: of one sweep at one scale.
        problems: appended to.
        remedy: what to do about a part that cannot be used.
    """
    for path in parts_in(folder):
        try:
            table = read_part(path)
        except UnusablePart as error:
            problems.append(f"{error}: {remedy}")
        except InputError as error:
            problems.append(str(error))
        else:
            yield path, table


def read(
    folder: str | os.PathLike,
    without: Collection[str] = (),
    only: Collection[str] | None = None,
    *,
    columns: Collection[str] | None = None,
    categories: bool = False,
) -> pd.DataFrame:
    """Return the whole table of one sweep at one scale, one row per run and evaluation.

    Args:
        folder: of the sweep.
        without: columns that are left out.
        only: besides those that every part has, only these columns, where they exist; None for all.
        columns: only these, in this order; None for all.
        categories: whether text comes as categories in alphabetical order.

    Raises:
        InputError: where there is no table or no such column, or a part is damaged or foreign; each with what to do.
    """
    folder = Path(folder)
    tables: dict[Path, pa.Table] = {}
    for path in parts_in(folder):
        try:
            tables[path] = read_part(path, only, without, categories=categories)
        except UnusablePart as error:
            raise InputError(f"{error}: {REDO}") from None
    if not tables:
        raise InputError(f"no results in {folder}: first run `python -m bench run {folder.name}` at that scale")
    unified({path: table.schema for path, table in tables.items()})
    table = pa.concat_tables(tables.values(), promote_options="permissive")
    names = {*table.column_names}
    for name in columns or ():
        if name not in names:
            raise unknown_name(f"column of {folder.name}", name, table.column_names)
    wanted = names if columns is None else {*columns, *IDENTITY, "rounds", "sweep"}
    table = table.select([name for name in table.column_names if name in wanted and name not in without])
    if categories:  # each column by itself, without copying numbers: the table is read only, and not used further
        rows = _sorted_categories(table.unify_dictionaries().to_pandas(split_blocks=True, self_destruct=True))
    else:
        rows = table.to_pandas()
    doubled = rows.duplicated([*IDENTITY, "rounds"])
    if doubled.any():
        file = np.repeat(np.arange(len(tables)), [len(table) for table in tables.values()])[int(np.argmax(doubled))]
        raise InputError(f"{list(tables)[file]} has runs that another part already has: {REDO}")
    if rows["sweep"].nunique() > 1:
        names = ", ".join(sorted(rows["sweep"].unique()))
        raise InputError(f"{folder} holds results of several sweeps ({names}): move the foreign parts elsewhere")
    return rows if columns is None else rows[list(columns)]


def _sorted_categories(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with the categories of text in alphabetical order, in which groups and sorted rows come then."""
    text = {name: column for name, column in rows.items() if isinstance(column.dtype, pd.CategoricalDtype)}
    return rows.assign(
        **{str(name): column.cat.set_categories(sorted(column.cat.categories)) for name, column in text.items()}
    )


def unified(schemas: Mapping[Any, pa.Schema], remedy: str = "move the wrong part elsewhere") -> pa.Schema:
    """Return the columns of several tables together.

    Args:
        schemas: name of a table, such as its path -> its columns.
        remedy: what to do where they differ.

    Raises:
        InputError: where a column is of two kinds, such as text and numbers; names two of the tables.
    """
    whole, owner = pa.schema([]), {}
    for path, schema in schemas.items():
        try:
            whole = pa.unify_schemas([whole, schema], promote_options="permissive")
        except pa.ArrowException:
            for field in schema:
                try:
                    pa.unify_schemas([whole, pa.schema([field])], promote_options="permissive")
                except pa.ArrowException:
                    raise InputError(
                        f"column {field.name!r} is {field.type} in {path} and {whole.field(field.name).type} in "
                        f"{owner[field.name]}: {remedy}"
                    ) from None
            raise
        owner |= {name: path for name in schema.names if name not in owner}
    return whole


def runs_in(table: pa.Table) -> pd.DataFrame:
    """Return the runs of a part, one row each."""
    return table.group_by(IDENTITY, use_threads=False).aggregate([]).to_pandas()


def runs_of(table: pa.Table) -> pd.MultiIndex:
    """Return the run of every row."""
    return pd.MultiIndex.from_frame(table.select(IDENTITY).to_pandas())


def renamed(table: pa.Table, ids: Mapping[str, str]) -> pa.Table:
    """Return the rows of a part with other ids of points, where they are to have others."""
    points = table["point"].to_pandas().astype(object)
    changed = points.map(lambda id: ids.get(id, id))
    if changed.equals(points):
        return table
    return table.set_column(table.column_names.index("point"), "point", pa.array(changed, pa.string()))


def part_path(folder: Path, table: pa.Table, content: bytes | pa.Buffer) -> Path:
    """Return where the part with this table goes, whose file has this content."""
    runs = sorted(f"{point}/{trial}/{seed}" for point, trial, seed in runs_in(table).itertuples(index=False))
    digest = hashlib.blake2b("\n".join(runs).encode(), digest_size=8).hexdigest()
    return folder / f"part-{digest}-{content_digest(content)}.parquet"


def as_file(table: pa.Table) -> pa.Buffer:
    """Return the content of the Parquet file of a table."""
    content = pa.BufferOutputStream()
    pq.write_table(table, content, compression="zstd", write_page_checksum=True)
    return content.getvalue()


def write(path: Path, content: bytes | pa.Buffer) -> None:
    """Write a file into a folder that is there; it is on the disk, or it does not exist.

    Raises:
        InputError: where it cannot be written.
    """
    try:
        write_whole(path, memoryview(content), durable=True)
    except OSError as error:
        raise cannot_store(error, path) from None
