"""A user's own examples as tables: CSV or Parquet, one example per row, with a column that names the client."""

import csv
import hashlib
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from bench.errors import InputError

CLIENT, LABEL = "client", "label"  # columns, unless the caller names others
KINDS = {  # ending -> what such a file is, and what to do where it cannot be read
    ".csv": ("CSV", "save it as UTF-8 text with a header line and equally many cells in every row"),
    ".parquet": ("Parquet", "write it again"),
}
ENDINGS = tuple(KINDS)
MOST_CLASSES = 1000
EMPTY = ("", "NA", "N/A", "NaN", "nan", "null")  # the content of a CSV's cell without a number


@cache
def client_table(
    path: Path, client: str, label: str, regression: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray, str]:
    """Return inputs float32 [example, feature], classes int64 from 0 or numbers float32 [example], clients as words
    [example], and a checksum of all of them.

    Args:
        path: of a file, or of a folder of files, which are read in the order of their names.
        client, label: columns; all others are features.
        regression: whether labels are numbers to predict, and not classes.

    Raises:
        InputError: in one line, naming the file, and the column where one is wrong.
    """
    if client == label:
        raise InputError(f"column {client!r} is given as both client and label: name two columns")
    files = _files(path)
    tables = [_read(file, client) for file in files]
    columns = list(tables[0].columns)
    for file, table in zip(files, tables, strict=True):
        for column in (client, label):
            if column not in table.columns:
                raise InputError(f"{file} has no column {column!r}: it has {', '.join(map(str, table.columns))}")
        if set(table.columns) != set(columns) or len(set(table.columns)) < len(table.columns):
            raise InputError(
                f"{file} has other columns than {files[0]}, or a duplicate column: give all files the same columns"
            )
        for column in table.columns:
            _check(file, table, column, features=column not in (client, label), number=column == label and regression)
    whole = pd.concat([table[columns] for table in tables], ignore_index=True)
    features = [column for column in columns if column not in (client, label)]
    if not features:
        raise InputError(f"{path} has no columns other than {client!r} and {label!r}: add features")
    if whole.empty:
        raise InputError(f"{path} has no rows: give examples")
    with np.errstate(over="ignore"):
        inputs = whole[features].to_numpy(np.float32)
        numbers = whole[label].to_numpy(np.float32) if regression else None
    if not np.isfinite(inputs).all():
        raise InputError(f"{path}: a feature is too large for 32 bits: scale it")
    if numbers is not None and not np.isfinite(numbers).all():
        raise InputError(f"{path}: {label!r} has a number that is too large for 32 bits: scale it")
    targets = _classes(path, label, whole[label]) if numbers is None else numbers
    names = whole[client].to_numpy(str)
    parts = (repr((features, regression)).encode(), inputs.tobytes(), targets.tobytes(), "\0".join(names).encode())
    return inputs, targets, names, hashlib.blake2b(b"\1".join(parts)).hexdigest()[:12]


def is_table(path: Path) -> bool:
    """Return whether a path is meant as a table, which is a folder, or a file with a known ending."""
    return path.suffix in ENDINGS or path.is_dir()


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        if not path.is_file():
            raise InputError(f"{path} is not a file or folder: give one of CSV or Parquet")
        return [path]
    files = sorted(file for file in path.iterdir() if file.suffix in ENDINGS and file.name[0] not in "._")
    for file in files:
        if not file.is_file():
            raise InputError(f"{file} is not a regular file: move it elsewhere")
    if not files:
        raise InputError(f"{path} has no file that ends in {' or '.join(ENDINGS)}: put some there")
    return files


def _read(file: Path, client: str) -> pd.DataFrame:
    try:
        if file.suffix == ".parquet":
            table = pq.ParquetFile(file).read().to_pandas()
        else:
            # A client may be called NA or 007, so its column is read as words.
            columns = _header(file)
            empty = {column: [""] if column == client else list(EMPTY) for column in columns}
            with warnings.catch_warnings():
                # Without index_col=False, pandas takes the first column for row names where rows have one cell more.
                warnings.simplefilter("error", pd.errors.ParserWarning)
                table = pd.read_csv(file, dtype={client: str}, na_values=empty, keep_default_na=False, index_col=False)
    except PermissionError:
        raise InputError(f"{file} cannot be read (no permission): make it readable") from None
    except pd.errors.ParserWarning:
        raise InputError(f"{file} has rows with more cells than its header line: give as many in each") from None
    except (OSError, ValueError, csv.Error, pa.ArrowException) as error:
        kind, remedy = KINDS[file.suffix]
        reason = str(error).strip().splitlines()
        raise InputError(
            f"{file} cannot be read as {kind} ({reason[0] if reason else type(error).__name__}): {remedy}"
        ) from None
    return table.reset_index(drop=True)


def _header(file: Path) -> list[str]:
    """Return the names in the first line of a CSV file that is not blank.

    Raises:
        InputError: for a name that occurs twice, which pandas would change.
        ValueError: where there is no such line, or it is not UTF-8.
    """
    with open(file, encoding="utf-8-sig", newline="") as lines:
        names = next((row for row in csv.reader(lines) if row), None)
    if names is None:
        raise ValueError("it has no header line")
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{file} has several columns {name!r}: give each a name of its own")
    return names


def _check(file: Path, table: pd.DataFrame, column: str, *, features: bool, number: bool) -> None:
    """Refuse an invalid column, with the row of the first bad cell (the first row is 1)."""
    values = table[column]
    nested = next((value for value in values if isinstance(value, list | dict | np.ndarray)), None)
    if nested is not None:
        raise InputError(
            f"{file}: {column!r} has lists in its cells: give one number or word per cell, or write a "
            "task of your own, as for images (docs/adding-a-network.md)"
        )
    missing = np.flatnonzero(values.isna())
    if len(missing):
        raise InputError(f"{file}: {column!r} is empty in row {missing[0] + 1}: leave the row out, or fill it in")
    if not (features or number):
        return
    if not len(values):
        return
    if not pd.api.types.is_numeric_dtype(values) or pd.api.types.is_complex_dtype(values):
        bad = np.flatnonzero(pd.to_numeric(values, errors="coerce").isna())
        where = f"{values.iloc[bad[0]]!r} in row {bad[0] + 1}" if len(bad) else str(values.dtype)
        raise InputError(f"{file}: {column!r} has {where}: give numbers, or leave the column out")
    infinite = np.flatnonzero(~np.isfinite(values.to_numpy(float)))
    if len(infinite):
        raise InputError(f"{file}: {column!r} is infinite in row {infinite[0] + 1}: give finite numbers")


def _classes(path: Path, label: str, values: pd.Series) -> np.ndarray:
    """Return numbers from 0 of the classes, in the order of their values, [example]."""
    if pd.api.types.is_float_dtype(values) and (values % 1 != 0).any():
        raise InputError(f"{path}: {label!r} has numbers that are not whole: give classes, or choose regression")
    names, classes = np.unique(
        values.to_numpy() if values.dtype != object else values.to_numpy(str), return_inverse=True
    )
    if not 2 <= len(names) <= MOST_CLASSES:
        raise InputError(f"{path}: {label!r} has {len(names)} classes: give 2 to {MOST_CLASSES}, or choose regression")
    return classes.astype(np.int64)
