"""A user's own examples as tables: CSV or Parquet, one example per row, with a column that names the client."""

import csv
import hashlib
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from bench.errors import InputError, cut, in_one_line, shown

CLIENT, LABEL = "client", "label"  # columns, unless the caller names others
KINDS = {  # ending -> what such a file is, and what to do where it cannot be read
    ".csv": ("CSV", "save it as UTF-8 text with a header line and equally many cells in every row"),
    ".parquet": ("Parquet", "write it again"),
}
MOST_CLASSES = 1000
EMPTY = ("", "NA", "N/A", "NaN", "nan", "null")  # the content of a CSV's cell without a number or a class
NAMELESS = r"\s*|Unnamed: [0-9]+"  # the column of row numbers that pandas writes, and what it calls it once it is read
ROUNDED = r"[+-]?[0-9](?:\.[0-9]*)?[eE]\+(?:1[5-9]|[2-9][0-9])"  # as programs write whole numbers that they rounded
EXACT = "give names or whole numbers"  # the remedy for a column of numbers that may have been rounded


class Clients(NamedTuple):
    """A user's own examples.

    inputs: float32 [example, feature]; for a network [example, ...], where they may be int32.
    targets: classes, int64 from 0, or numbers, float32, [example].
    clients: whose each example is, [example].
    checksum: of all of them.
    features: the names of the columns; () where they have none.
    """

    inputs: np.ndarray
    targets: np.ndarray
    clients: np.ndarray
    checksum: str
    features: tuple[str, ...] = ()

    @property
    def sizes(self) -> np.ndarray:
        """The number of examples of each client, in the order of their names."""
        return np.unique(self.clients, return_counts=True)[1]


@cache
def client_table(path: Path, client: str, label: str, regression: bool) -> Clients:
    """Return the examples of a table, their clients as words.

    Clients and classes are compared as words, as the files have them: a client is one user in whatever file its
    examples are. So no two of its words may be the same number.

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
    words = (client,) if regression else (client, label)
    tables = [_read(file, words) for file in files]
    columns = list(tables[0].columns)
    for file, cells in zip(files, tables, strict=True):
        for column in (client, label):
            if column not in cells.columns:
                has = cut(", ".join(cells.columns))
                remedy = "FILE:client=COLUMN or FILE:label=COLUMN names another"
                raise InputError(f"{file} has no column {shown(column)}: it has {has}; {remedy}")
        if set(cells.columns) != set(columns):
            raise InputError(f"{file} has other columns than {files[0]}: give all files the same columns")
        for column in columns:
            _check(file, column, cells[column], number=column not in words)
    rows = pd.concat([cells[columns] for cells in tables], ignore_index=True)
    features = [column for column in columns if column not in (client, label)]
    if not features:
        raise InputError(f"{path} has no columns other than {client!r} and {label!r}: add features")
    if rows.empty:
        raise InputError(f"{path} has no rows: give examples")
    inputs = rows[features].to_numpy(np.float32)
    targets = rows[label].to_numpy(np.float32) if regression else _classes(path, label, rows[label])
    names = rows[client].to_numpy(object)
    distinct(path, client, pd.unique(names))
    contents = (repr((features, regression)).encode(), inputs.tobytes(), targets.tobytes(), "\0".join(names).encode())
    checksum = hashlib.blake2b(b"\1".join(contents)).hexdigest()[:12]
    return Clients(inputs, targets, names, checksum, tuple(features))


def is_table(path: Path) -> bool:
    """Return whether a path is meant as a table, which is a folder, or a file with a known ending."""
    return path.suffix in KINDS or path.is_dir()


def _files(path: Path) -> list[Path]:
    files = [path]
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.suffix in KINDS and file.name[0] not in "._")
    for file in files:
        if not file.is_file():
            raise InputError(f"{file} is not a regular file: give CSV or Parquet files")
    if not files:
        raise InputError(f"{path} has no file that ends in {' or '.join(KINDS)}: put some there")
    return files


def _read(file: Path, words: Sequence[str]) -> pd.DataFrame:
    """Return a file, one example a row, with these columns read as words, None where a cell is empty."""
    try:
        return (_parquet if file.suffix == ".parquet" else _csv)(file, words)
    except InputError:
        raise
    except PermissionError:
        raise InputError(f"{file} cannot be read (no permission): make it readable") from None
    except Exception as error:  # a damaged or foreign file raises a dozen kinds
        kind, remedy = KINDS[file.suffix]
        raise InputError(f"{file} cannot be read as {kind} ({cut(in_one_line(error))}): {remedy}") from None


def _csv(file: Path, words: Sequence[str]) -> pd.DataFrame:
    names, separator = _header(file)
    empty = {column: [""] if column in words else list(EMPTY) for column in names}
    with warnings.catch_warnings():
        # Without index_col=False, pandas takes the first column for row names where rows have one cell more.
        warnings.simplefilter("error", pd.errors.ParserWarning)
        # With low_memory, pandas would guess the kind of a column for each piece of a long file.
        table = pd.read_csv(
            file,
            sep=separator,
            header=0,
            names=names,
            dtype=dict.fromkeys(words, str),
            na_values=empty,
            keep_default_na=False,
            index_col=False,
            low_memory=False,
        )
    for column in {*words} & {*table.columns}:
        table[column] = pd.Series(table[column].to_numpy(object), dtype=object)
    for label in {*words[1:]} & {*table.columns}:  # a client may be called NA or 007
        unclear = np.flatnonzero(table[label].isin(EMPTY))
        if len(unclear):
            word, row = shown(table[label][unclear[0]]), unclear[0] + 1
            raise InputError(
                f"{file}: {shown(label)} is {word} in row {row}, as some programs write what is missing: leave the row "
                "out, or give that class another name"
            )
    return table


def _parquet(file: Path, words: Sequence[str]) -> pd.DataFrame:
    content = pq.ParquetFile(file).read()
    _check_names(file, content.column_names)
    table = content.to_pandas().reset_index(drop=True)  # without the names of rows that pandas may have written
    for column in words:
        if column in content.column_names:
            table[column] = _words(file, column, content[column], client=column == words[0])
    return table


def _words(file: Path, column: str, values: pa.ChunkedArray, *, client: bool) -> pd.Series:
    """Return the values of a column as words, None where there are none, [row].

    Raises:
        InputError: for values that are not words or whole numbers; classes may have a decimal point.
    """
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    kind = values.type
    known = (pa.types.is_string, pa.types.is_large_string, pa.types.is_integer, pa.types.is_boolean, pa.types.is_null)
    if not (any(is_kind(kind) for is_kind in known) or (pa.types.is_floating(kind) and not client)):
        raise InputError(f"{file}: {column!r} has values of type {kind}: write them as words or whole numbers")
    return pd.Series(values.cast(pa.large_string()).to_pylist(), dtype=object)


def _header(file: Path) -> tuple[list[str], str]:
    """Return the names in the first line of a CSV file that is not blank, without spaces around them, and the letter
    that separates them: a comma, or else a semicolon or a tab.

    Raises:
        InputError: for a name that is missing or occurs twice, which pandas would change.
        ValueError: where there is no such line, or it is not UTF-8.
    """
    with open(file, encoding="utf-8-sig", newline="") as lines:
        names = next((row for row in csv.reader(lines) if row), None)
    if names is None or "\0" in "".join(names):
        raise ValueError("it has no header line in UTF-8")
    separator = ","
    for letter in ";\t":
        if len(names) == 1 and letter in names[0]:
            names, separator = next(csv.reader(names, delimiter=letter)), letter
    names = [name.strip() for name in names]
    _check_names(file, names)
    return names, separator


def _check_names(file: Path, names: Sequence[str]) -> None:
    """Refuse a column without a name, and a name that several columns have."""
    for name, number in Counter(names).items():
        if re.fullmatch(NAMELESS, name):
            raise InputError(
                f"{file} has a column without a name, as pandas writes the numbers of rows, among {shown(names)}: "
                "write the file with index=False, or name the column if it is a feature"
            )
        if number > 1:
            raise InputError(f"{file} has several columns {shown(name)}: give each a name of its own")


def _check(file: Path, column: str, values: pd.Series, *, number: bool) -> None:
    """Refuse an invalid column, with the row of the first bad cell (the first row is 1)."""
    if values.dtype == object and any(isinstance(value, list | dict | np.ndarray) for value in values):
        raise InputError(
            f"{file}: {shown(column)} has lists in its cells: give one number or word per cell, or write a task of "
            "your own, as for images (docs/adding-a-network.md)"
        )
    missing = np.flatnonzero(values.isna())
    if len(missing):
        raise InputError(f"{file}: {shown(column)} is empty in row {missing[0] + 1}: leave the row out, or fill it in")
    if not len(values):
        return
    if not number:
        rounded = np.flatnonzero(values.str.fullmatch(ROUNDED))
        if len(rounded):
            word = shown(values.iloc[rounded[0]])
            raise InputError(
                f"{file}: {shown(column)} has {word} in row {rounded[0] + 1}, which may be rounded: {EXACT}"
            )
        return
    text = values.dtype == object or pd.api.types.is_string_dtype(values)  # or long whole numbers
    numbers = pd.to_numeric(values.astype(str), errors="coerce") if text else values
    bad = np.flatnonzero(numbers.isna()) if text else []
    if len(bad) or not pd.api.types.is_numeric_dtype(numbers):
        content = f"{shown(str(values.iloc[bad[0]]))} in row {bad[0] + 1}" if len(bad) else str(values.dtype)
        remedy = "write decimal points and no commas" if re.search(r"\d?,\d", content) else "give numbers"
        raise InputError(f"{file}: {shown(column)} has {content}: {remedy}, or leave the column out")
    with np.errstate(over="ignore"):
        infinite = np.flatnonzero(~np.isfinite(numbers.to_numpy(np.float32)))
    if len(infinite):
        raise InputError(
            f"{file}: {shown(column)} is infinite in row {infinite[0] + 1}, or too large for 32 bits: scale the column"
        )


def _classes(path: Path, label: str, words: pd.Series) -> np.ndarray:
    """Return numbers from 0 of the classes, in the order of their values, or of words by letters, [example]."""
    codes, values_found = pd.factorize(words.to_numpy(object))
    names = [str(name) for name in values_found]
    if not 2 <= len(names) <= MOST_CLASSES:
        raise InputError(f"{path}: {label!r} has {len(names)} classes: give 2 to {MOST_CLASSES}, or choose regression")
    values = pd.to_numeric(pd.Series(names), errors="coerce")
    if values.isna().any():
        distinct(path, label, names)
        values = pd.Series(names)
    else:
        if (values % 1 != 0).any():  # an infinite one as well
            raise InputError(f"{path}: {label!r} has numbers that are not whole: give classes, or choose regression")
        distinct(path, label, names, dict(zip(names, values, strict=True)).__getitem__)
    return (values.rank() - 1).to_numpy(np.int64)[codes]


def _plain(name: str) -> str:
    """Return a name without the spaces around it, a whole number without leading zeros and decimal point, and 1 or 0
    for true or false.
    """
    name = name.strip()
    integer, _, decimals = name.removeprefix("+").partition(".")
    digits = integer.removeprefix("-")
    if digits.isascii() and digits.isdigit() and not decimals.strip("0"):
        return ("-" if integer != digits else "") + (digits.lstrip("0") or "0")
    return {"true": "1", "false": "0"}.get(name.casefold(), name)


def distinct(path: Path, column: str, names: Iterable[str], meaning: Callable[[str], object] = _plain) -> None:
    """Refuse names of clients or classes that may be one and the same, such as 7 and 007, 7 and 7.0, or 1 and True.

    Args:
        path, column: for the message.
        names: without duplicates.
        meaning: name -> what is equal where two names may be one.

    Raises:
        InputError: naming the two.
    """
    first_name: dict[object, str] = {}
    for name in names:
        earlier = first_name.setdefault(meaning(name), name)
        if earlier != name:
            raise InputError(
                f"{path}: {column!r} has {shown(earlier)} and {shown(name)}, which may be the same: write it in one way"
            )
