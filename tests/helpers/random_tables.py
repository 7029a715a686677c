"""Random tables of a user's own examples: who is one user and what is one class, as a plain reader finds it."""

import csv
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.data.read.tables import client_table
from bench.errors import InputError

COLUMNS = ("client", "label", "x")
WIDE = 4100  # columns at which pandas reads 128 rows of a CSV file in one piece


class Written(NamedTuple):
    """A table as it was written.

    path: of its file or folder.
    people, classes: of each row, in the order of the files' names.
    alike: whether every column has one kind in all files, so that the table must be read and not refused.
    what: it is made of, in words.
    """

    path: Path
    people: list[int]
    classes: list[int]
    alike: bool
    what: str


def names(kind: str, number: int, chance: random.Random) -> list[Any]:
    """So many different names of clients or classes, of one kind."""
    numbers = chance.sample(range(100), number)
    return {
        "words": [chance.choice(["Ada ", "x", "NA", "é,", '"q"', "E", "True", "1_", "a\0"]) + str(n) for n in numbers],
        "codes": [f"{n:03d}" if n % 3 else f"E{n}" for n in numbers],
        "numbers": [n - 50 for n in numbers],
        "long numbers": [2**60 + n for n in numbers],
        "longest numbers": [2**64 - 1 - n for n in numbers],
        "truths": [True, False][:number],
    }[kind]


KINDS = ("words", "codes", "numbers", "long numbers", "longest numbers", "truths")


def ways(kind: str) -> list[pa.DataType]:
    """The types of a Parquet column that write these names as they are."""
    if kind == "truths":
        return [pa.bool_()]
    if kind in ("words", "codes"):
        return [pa.string(), pa.large_string(), pa.binary(), pa.dictionary(pa.int32(), pa.string())]
    if kind == "longest numbers":
        return [pa.uint64()]
    return [pa.int64(), pa.dictionary(pa.int8(), pa.int64())] + [pa.int8(), pa.int32()] * (kind == "numbers")


def otherwise(kind: str, chance: random.Random) -> tuple[str, Any]:
    """Another kind of column for the same names, and what it makes of one."""
    if kind == "truths":
        return chance.choice(
            [("digits", lambda name: str(int(name))), ("0 and 1", int), ("lower", lambda n: str(n).lower())]
        )
    if kind in ("words", "codes"):
        return chance.choice([("spaces", lambda name: f" {name}"), ("other words", lambda name: name.lstrip("0"))])
    return chance.choice([("doubles", float), ("zeros", lambda name: f"{name:05d}"), ("decimals", lambda n: f"{n}.0")])


def write(folder: Path, chance: random.Random) -> Written:
    """Write a random table: CSV or Parquet, a file or a folder of several, all files alike or one unlike the others."""
    of_client, of_label = chance.choice(KINDS[:-1]), chance.choice(KINDS)
    clients = names(of_client, chance.randint(2, 6), chance)
    labels = names(of_label, 2 if of_label == "truths" else chance.randint(2, 4), chance)
    number = chance.randint(20, 60)
    people = [*range(len(clients)), *(chance.randrange(len(clients)) for _ in range(number - len(clients)))]
    classes = [*range(len(labels)), *(chance.randrange(len(labels)) for _ in range(number - len(labels)))]
    chance.shuffle(people)
    chance.shuffle(classes)
    ends = sorted(chance.sample(range(1, number), chance.randint(0, 3)))
    files = list(zip([0, *ends], [*ends, number], strict=True))
    endings = [chance.choice(["csv", "parquet"]) for _ in files]
    unlike = chance.randrange(len(files)) if len(files) > 1 and chance.random() < 0.4 else None
    column = chance.choice(COLUMNS[:2])
    said, changed = otherwise({"client": of_client, "label": of_label}[column], chance)
    for place, ((begin, end), ending) in enumerate(zip(files, endings, strict=True)):
        rows = {"client": [clients[p] for p in people[begin:end]], "label": [labels[c] for c in classes[begin:end]]}
        types = {"client": chance.choice(ways(of_client)), "label": chance.choice(ways(of_label))}
        if place == unlike:
            rows[column] = [changed(name) for name in rows[column]]
            types[column] = None
        _put(folder / f"{place}.{ending}", rows, types, range(begin, end))
    one = len(files) == 1 and chance.random() < 0.5
    described = f"clients {of_client}, classes {of_label}, files {endings}"
    described += "" if unlike is None else f", {said} of {column} in file {unlike}"
    return Written(folder / f"0.{endings[0]}" if one else folder, people, classes, unlike is None, described)


def write_wide(folder: Path, chance: random.Random) -> Written:
    """Write one CSV file that pandas reads in pieces, with codes that are numbers in one piece and words in another."""
    codes, later = ["01", "02", "E10"], chance.randrange(130, 145)
    people = [row // 30 for row in range(150)]
    classes = [row % (2 if row < later else 3) for row in range(150)]
    with open(folder / "wide.csv", "w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["x", "client", "label", *(f"x{place}" for place in range(WIDE))])
        for row, (person, of) in enumerate(zip(people, classes, strict=True)):
            lines.writerow([row, f"{person:02d}", codes[of], *["0"] * WIDE])
    return Written(folder / "wide.csv", people, classes, True, "one wide CSV file")


def _put(path: Path, rows: dict[str, list], types: dict[str, pa.DataType | None], numbers: Sequence[int]) -> None:
    if path.suffix == ".csv":
        with open(path, "w", newline="", encoding="utf-8") as file:
            lines = csv.writer(file)
            lines.writerow(COLUMNS)
            lines.writerows(zip(rows["client"], rows["label"], numbers, strict=True))
        return
    columns = {name: pa.array(values, types[name]) for name, values in rows.items()}
    pq.write_table(pa.table(columns | {"x": pa.array(list(numbers))}), path)


def plain(path: Path) -> Counter:
    """How many rows each pair of client and class has, by their text, read with no help of pandas."""
    found: Counter = Counter()
    for file in sorted(path.iterdir()) if path.is_dir() else [path]:
        if file.suffix == ".csv":
            with open(file, newline="", encoding="utf-8") as lines:
                rows = list(csv.DictReader(lines))
        else:
            rows = pq.read_table(file).to_pylist()
        for row in rows:
            found[tuple(v.decode() if isinstance(v, bytes) else str(v) for v in (row["client"], row["label"]))] += 1
    return found


def wrong(table: Written) -> str | None:
    """What is wrong with how a table is read; None where nothing is.

    A user is a person and a class is a class, whatever the files. A table whose files are alike is read, and has the
    counts of the plain reader. Another one may be refused in one line.
    """
    try:
        inputs, targets, clients, *_ = client_table.__wrapped__(table.path, "client", "label", False)
    except InputError as error:
        if table.alike or "\n" in str(error):
            return f"refused: {error}"
        return None
    if not np.array_equal(inputs[:, 0], np.arange(len(table.people))):
        return "other rows"
    for what, mine, theirs in (("users", clients, table.people), ("classes", targets, table.classes)):
        pairs, here, there = {*zip(mine, theirs, strict=True)}, {*mine}, {*theirs}
        if not len(pairs) == len(here) == len(there):
            return f"{len(here)} {what} of {len(there)}"
    counts = Counter(zip(clients, targets, strict=True))
    if table.alike and _by_client(counts) != _by_client(plain(table.path)):
        return "other counts"
    return None


def _by_client(counts: Counter) -> dict[str, list[int]]:
    """How many examples each client has of its classes, ascending."""
    return {client: sorted(count for (of, _), count in counts.items() if of == client) for client, _ in counts}
