"""Results on disk: one Parquet part per finished chunk, written then renamed, in the folder of a sweep.

`pandas.read_parquet` on the folder gives the whole table, one row per run and evaluation. Files and folders
whose names begin with "_" or "." are not part of it: parts being written, and parts set aside. Methods differ in
their columns, and readers of a folder take the columns of its first file: `columns.parquet`, which has no rows.

A part is called part-<runs>-<content>.parquet, with a digest of the runs in it and one of the file's bytes, so that
every reader can check that the file is what was written. A file with another name is no part.
"""

import hashlib
import os
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from bench.errors import InputError, in_one_line, writing
from bench.files import write_whole

IDENTITY = ["point", "trial", "seed"]  # names a run: no two rows of one `rounds` share these


INTEGER, TEXT = (pa.types.is_integer,), (pa.types.is_string, pa.types.is_large_string)
REQUIRED = {  # columns that every part has, and of which kind
    **dict.fromkeys(("point", "sweep", "algorithm", "task"), TEXT),
    **dict.fromkeys(("trial", "seed", "rounds"), INTEGER),
}
DIGEST_IN_NAME = re.compile(r"part-[0-9a-f]{16}-([0-9a-f]{16})\.parquet")
COLUMNS = "columns.parquet"
REDO = "run the sweep again, which moves it aside and repeats its runs"


def parts_in(folder: Path) -> list[Path]:
    """Return the files of a sweep's runs, by name."""
    return sorted(path for path in folder.glob("*.parquet") if path.name[0] not in "._" and path.name != COLUMNS)


class UnusablePart(InputError):
    """A file that cannot be used as a part, and may be set aside.

    Attributes:
        damaged: whether it was a part once.
    """

    def __init__(self, message: str, *, damaged: bool):
        super().__init__(message)
        self.damaged = damaged


def content_digest(content: bytes | pa.Buffer) -> str:
    """Return the digest of a file's bytes, which is part of its name."""
    return hashlib.blake2b(content, digest_size=8).hexdigest()


def parquet(
    content: bytes, only: Collection[str] | None = None, without: Collection[str] = (), *, categories: bool = False
) -> pa.Table | None:
    """Return the table of a Parquet file with this content; None where it is damaged.

    Args:
        content: of the file.
        only: only these of its columns; None for all.
        without: columns that are left out.
        categories: whether text is read as a dictionary of its values, and a number for each row.
    """
    try:
        schema = pq.read_schema(pa.BufferReader(content))
        names = [name for name in schema.names if (only is None or name in only) and name not in without]
        text = [name for name in names if schema.field(name).type in (pa.string(), pa.large_string())]
        return pq.read_table(pa.BufferReader(content), columns=names, read_dictionary=text if categories else None)
    except (pa.ArrowException, OSError, ValueError, KeyError):  # the last for a column that is there twice
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
    named = DIGEST_IN_NAME.fullmatch(path.name)
    if not named or not path.is_file():
        raise UnusablePart(
            f"{path} is not a part of these results (its name has no digest of its content)", damaged=False
        )
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): make it readable, or move it") from None
    wanted = None if only is None else {*REQUIRED, *only}
    intact = named[1] == content_digest(content)
    table = parquet(content, wanted, {*without} - {*REQUIRED}, categories=categories) if intact else None
    if table is None:
        raise UnusablePart(f"{path} is damaged", damaged=True)
    if lacking := [name for name in REQUIRED if name not in table.column_names]:
        raise UnusablePart(f"{path} is not a part of these results (no column {lacking[0]!r})", damaged=False)
    for name, kinds in REQUIRED.items():
        kind = table.schema.field(name).type
        if not any(fits(kind.value_type if pa.types.is_dictionary(kind) else kind) for fits in kinds):
            raise UnusablePart(f"{path} is not a part of these results (column {name!r} has {kind})", damaged=False)
    return table


def shape(path: Path) -> tuple[int, int]:
    """Return the number of rows and of columns of a part; 0 where it cannot be read."""
    try:
        found = pq.read_metadata(path) if path.is_file() else None
    except (pa.ArrowException, OSError):
        found = None
    return (found.num_rows, found.num_columns) if found else (0, 0)


def readable_parts(
    folder: Path, problems: list[str], remedy: str = REDO, only: Collection[str] | None = None
) -> Iterator[tuple[Path, pa.Table]]:
    """Yield the parts that can be used; a sentence about every other one is added to `problems`.

    Args:
        folder: of one sweep at one scale.
        problems: appended to.
        remedy: what to do about a part that cannot be used.
        only: as for `read_part`.
    """
    for path in parts_in(folder):
        try:
            table = read_part(path, only)
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
    categories: bool = False,
) -> pd.DataFrame:
    """Return the whole table of one sweep at one scale, one row per run and evaluation.

    Args:
        folder: of the sweep.
        without: columns that are left out.
        only: besides those that every part has, only these columns, where they exist; None for all.
        categories: whether text comes as categories in alphabetical order.

    Raises:
        InputError: where there is no table, or a part is damaged or foreign; each with what to do.
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
    table = table.select([name for name in table.column_names if name not in without])
    if categories:  # each column by itself, without copying numbers: the table is read only, and not used further
        rows = _sorted_categories(table.unify_dictionaries().to_pandas(split_blocks=True, self_destruct=True))
    else:
        rows = table.to_pandas(ignore_metadata=True)  # what pandas noted may not fit the columns
    doubled = rows.duplicated([*IDENTITY, "rounds"])
    if doubled.any():
        file = np.repeat(np.arange(len(tables)), [len(table) for table in tables.values()])[int(np.argmax(doubled))]
        raise InputError(f"{list(tables)[file]} has runs that another part already has: {REDO}")
    if rows["sweep"].nunique() > 1:
        names = ", ".join(sorted(rows["sweep"].unique()))
        raise InputError(f"{folder} holds results of several sweeps ({names}): move the foreign parts elsewhere")
    return rows


def _sorted_categories(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with the categories of text in alphabetical order, by which groups and rows are then sorted."""
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
        InputError: where a column is of two kinds, such as text and numbers; names the second table and the column.
    """
    union = pa.schema([])
    for path, schema in schemas.items():
        try:
            union = pa.unify_schemas([union, schema], promote_options="permissive")
        except pa.ArrowException as error:
            raise InputError(f"{path} does not fit the others ({in_one_line(error)}): {remedy}") from None
    return union


def runs_in(table: pa.Table) -> pd.DataFrame:
    """Return the runs of a part, one row each."""
    return table.group_by(IDENTITY, use_threads=False).aggregate([]).to_pandas()


def renamed(table: pa.Table, ids: Mapping[str, str]) -> pa.Table:
    """Return the rows of a part with the ids of points replaced: `ids` is old id -> new id, for those that change."""
    points = table["point"].to_pandas().astype(object)
    changed = points.map(lambda id: ids.get(id, id))
    if changed.equals(points):
        return table
    return table.set_column(table.column_names.index("point"), "point", pa.array(changed, pa.string()))


def part_path(folder: Path, table: pa.Table, content: bytes | pa.Buffer) -> Path:
    """Return the path of the part with this table, whose file has this content."""
    runs = sorted(f"{point}/{trial}/{seed}" for point, trial, seed in runs_in(table).itertuples(index=False))
    digest = hashlib.blake2b("\n".join(runs).encode(), digest_size=8).hexdigest()
    return folder / f"part-{digest}-{content_digest(content)}.parquet"


def as_file(table: pa.Table) -> pa.Buffer:
    """Return the content of the Parquet file of a table."""
    content = pa.BufferOutputStream()
    pq.write_table(table, content, compression="zstd", write_page_checksum=True)
    return content.getvalue()


def write(path: Path, content: bytes | pa.Buffer) -> None:
    """Write a file into an existing folder, atomically and durably.

    Raises:
        InputError: where it cannot be written.
    """
    with writing(path):
        write_whole(path, memoryview(content), durable=True)
