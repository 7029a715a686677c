"""Single bits flipped in parts, footers included: each is noticed, or changes nothing."""

import random
from collections import Counter
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
from tiny_sweeps import run

from bench.errors import InputError
from bench.papers import SWEEPS
from bench.store import part_files
from bench.store.part_files import COLUMNS
from soak import sweep

REDONE = 400  # of how many flips one is left in place until the sweep has been run again


def flips(scratch: Path, number: int, chance: random.Random) -> Counter:
    """Flip so many bits, one at a time, in the results of a complete run.

    Args:
        scratch: an empty folder.
        number: of flips.
        chance: of the places.

    Returns:
        Counts: flips in parts, of which in footers; flips in the list of columns; parts that were set aside and redone;
        whatever was wrong, in words.
    """
    sweep.prepare()
    soaked = SWEEPS["soak"]("smoke")
    run(soaked, scratch, most=3)
    reference, folder = sweep.rows(scratch), sweep.folder(scratch)
    whole = {path: (path.read_bytes(), part_files.read_part(path)) for path in part_files.parts_in(folder)}
    columns, schema = (folder / COLUMNS).read_bytes(), pq.read_schema(folder / COLUMNS)
    names = list(pd.read_parquet(folder))
    found: Counter = Counter()
    for count in range(number):
        if count % REDONE == REDONE - 1:
            _redo(scratch, soaked, reference, chance, found)
            whole = {path: (path.read_bytes(), part_files.read_part(path)) for path in part_files.parts_in(folder)}
            continue
        path = chance.choice(list(whole))
        content, table = whole[path]
        flipped, at = _flipped(content, chance)
        path.write_bytes(flipped)
        found["flips in parts"] += 1
        found["flips in footers"] += at >= len(content) - 8 - int.from_bytes(content[-8:-4], "little")
        try:
            if not part_files.read_part(path).equals(table):
                found[f"a silently different table: byte {at} of {path.name}"] += 1
        except InputError:
            found["flips that were noticed"] += 1
        path.write_bytes(content)
        if count % REDONE == 0:
            (folder / COLUMNS).write_bytes(_flipped(columns, chance)[0])
            run(soaked, scratch, most=3)
            found["flips in the list of columns"] += 1
            if list(pd.read_parquet(folder)) != names or pq.read_schema(folder / COLUMNS) != schema:
                found["the list of columns stays damaged"] += 1
    return found


def _flipped(content: bytes, chance: random.Random) -> tuple[bytes, int]:
    """The content with one bit flipped, and in which byte."""
    changed, at = bytearray(content), chance.randrange(len(content))
    changed[at] ^= 1 << chance.randrange(8)
    return bytes(changed), at


def _redo(out: Path, soaked, reference, chance: random.Random, found: Counter) -> None:
    """Flip a bit, run the sweep again, and compare."""
    path = chance.choice(part_files.parts_in(sweep.folder(out)))
    path.write_bytes(_flipped(path.read_bytes(), chance)[0])
    run(soaked, out, most=3)
    found["flips in parts"] += 1
    found["flips that were noticed"] += 1
    found["parts set aside and redone"] += (sweep.folder(out) / "_corrupt" / path.name).exists()
    for what in sweep.differs(out, reference, exactly=True):
        found[f"not as before: {what}"] += 1
