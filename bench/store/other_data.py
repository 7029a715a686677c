"""Refuses to replace results by those of other data.

Where a data set is missing, tasks of "the best available" data are made of another one. Its results would replace those
of the real data, which may have taken hours, and which may be those that the suite comes with.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from bench.data.files import DataFiles
from bench.data.task import Task
from bench.data.tasks import stand_ins
from bench.errors import InputError
from bench.store.part_files import DIGEST_IN_NAME, IDENTITY, KINDS, content_digest, parts_in

COLUMNS = ["task", "checksum", "source"]
ELSEWHERE = ("choose another --out", "move those runs aside by --fresh")


class OtherData(InputError):
    """Results are of other data than this machine has."""


class Data(NamedTuple):
    """The data of some results: name of the task, checksum, where they are from, and the number of runs."""

    task: str
    checksum: str
    source: str
    runs: int


def data_in(folder: Path) -> list[Data]:
    """Return the data that the results in a folder are of. Parts that are damaged or foreign are passed over."""
    found: dict[tuple[str, str, str], int] = {}
    for path in parts_in(folder) if folder.is_dir() else ():
        table = _columns_of(path)
        if table is None:
            continue
        runs = table.group_by([*COLUMNS, *IDENTITY]).aggregate([]).group_by(COLUMNS).aggregate([("seed", "count")])
        for row in runs.to_pylist():
            names = str(row["task"]), str(row["checksum"]), str(row["source"])
            found[names] = found.get(names, 0) + row["seed_count"]
    return [Data(*data, runs) for data, runs in found.items()]


def _columns_of(path: Path) -> pa.Table | None:
    """Return the columns of a part that say what its runs are of; None where it is damaged, or has no such columns."""
    try:
        content = path.read_bytes() if path.is_file() else b""
        named = DIGEST_IN_NAME.fullmatch(path.name)
        if not named or named[1] != content_digest(content):
            return None
        table = pq.read_table(pa.BufferReader(content), columns=[*COLUMNS, *IDENTITY])
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError):
        return None
    if not {*COLUMNS, *IDENTITY} <= {*table.column_names}:
        return None
    for name in (*COLUMNS, *IDENTITY):
        kind = table.schema.field(name).type
        if not KINDS.get(name, KINDS["task"])(kind.value_type if pa.types.is_dictionary(kind) else kind):
            return None
    return table


def check_choice(
    makers: Iterable[Callable[..., Task]],
    folder: Path,
    data_files: DataFiles | None = None,
    *,
    otherwise: Sequence[str] | None = None,
) -> None:
    """Refuse a folder whose results are of other data than those that functions choose here, without making a task.

    Args:
        makers: the functions that make the tasks.
        folder: of results.
        data_files: where data may come from.
        otherwise: what else the user can do, besides getting the data; default what `bench run` offers.

    Raises:
        OtherData: naming the data set, and what to do.
    """
    makers, held = list(makers), None
    for make in makers:
        if (here := stand_ins.chosen_here(make, data_files)) is None:
            continue
        held = data_in(folder) if held is None else held
        for data in held:
            if data.task in stand_ins.alternatives(here):
                alone = f"run on {here} in a folder of its own by --task {stand_ins.as_task(make, here)}"
                raise _refused(folder, data, here, [alone, *ELSEWHERE] if otherwise is None else otherwise)


def check(here: Iterable[tuple[str, str]], folder: Path) -> None:
    """Refuse a folder whose results are of other data than those of a sweep, of which one takes the other's place.

    Data that change with the code make results outdated, and are no other data.

    Args:
        here: name and checksum of each of the sweep's tasks on this machine.
        folder: of results.

    Raises:
        OtherData: naming the data, and what to do.
    """
    tasks = set(here)
    names = {task for task, _ in tasks}
    for data in data_in(folder):
        if data.task in names:
            own = data.source not in ("", "generated") and stand_ins.alternatives(data.task)
            if own and (data.task, data.checksum) not in tasks:
                raise _refused(folder, data, f"{data.task} with other content", ELSEWHERE)
        elif instead := sorted(names & stand_ins.alternatives(data.task)):
            raise _refused(folder, data, instead[0], ELSEWHERE)


def _refused(folder: Path, data: Data, here: str, otherwise: Sequence[str]) -> OtherData:
    steps = [step for step in (stand_ins.remedy(data.task), *otherwise) if step]
    return OtherData(
        f"{folder} has {data.runs:,} runs on {data.task} ({data.source}), and this machine has {here} in its place: "
        f"{'; or '.join(steps)}"
    )
