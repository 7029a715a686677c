"""Entries of a board: methods of others, each in a folder with its runs."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pyarrow as pa

from bench.comparison.result import Comparison
from bench.comparison.stages import TUNING
from bench.store import part_files

ENTRIES = "entries"
TEST = "test"


def write_entry(board: Path, label: str, comparison: Comparison) -> Path:
    """Store the runs of a method, made by the protocol of a board's task, next to those of the board.

    Args:
        board: folder of the task.
        label: name of the method in the comparison.
        comparison: of the method with the board.

    Returns:
        The folder of the entry, which consists of its two files.

    Raises:
        InputError: where the files cannot be written.
    """
    folder = board / ENTRIES / label
    for stage, rows in ((TUNING, comparison.tuning.runs), (TEST, comparison.evaluations)):
        mine = rows[rows["algorithm"] == label].dropna(axis="columns", how="all")
        if stage == TEST:
            mine = mine.assign(protects_against=comparison.adversaries[label])
        table = pa.Table.from_pandas(mine.assign(sweep=f"{label}/{stage}"), preserve_index=False)
        content = part_files.as_file(table)
        path = part_files.part_path(folder / stage, table, content)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            for other in part_files.parts_in(path.parent):
                if other != path:
                    other.unlink()
        except OSError as error:
            raise part_files.cannot_write(path, error) from None
        part_files.write(path, content)
    return folder


def entries(board: Path) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
    """The tuning runs, and all evaluations of the test runs, of every entry of a board's task.

    Raises:
        InputError: where a file is damaged.
    """
    for folder in sorted(path for path in board.glob(f"{ENTRIES}/*/") if not path.name.startswith(".")):
        yield part_files.read(folder / TUNING), part_files.read(folder / TEST)
