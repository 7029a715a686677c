"""The Python interface: the commands of the command line as functions that return tables.

from bench import load, run

run("ppsgd_synthetic", scale="smoke")
rows = load("ppsgd_synthetic", scale="smoke")
"""

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from bench.comparison.defaults import COMPARISON, LONGEST_NAME
from bench.errors import InputError, shown, unknown_name
from bench.files import AS_TEXT, check_writable
from bench.inputs.options import Out, Scale, Workers
from bench.store import KEPT, SCALES, SMOKE, kind_of, of_scale

if TYPE_CHECKING:
    import pandas as pd

    from bench.execution.chosen import Chosen
    from bench.execution.pool import Pool
    from bench.execution.run import Opener


def run(
    sweeps: Annotated[str | Sequence[str], "Names of sweeps, or `all`."],
    scale: Scale = "smoke",
    *,
    where: Annotated[str | None, 'Select points, as in "noise_multiplier <= 10".'] = None,
    seeds: Annotated[int | None, "Repetitions of every point; default the sweep's."] = None,
    task: Annotated[str | None, "Task to use in place of the sweep's; see `list`."] = None,
    grid: Annotated[
        Mapping[str, Any] | None, "COLUMN=VALUES to replace the sweep's values: A,B,C or log:LOW:HIGH:COUNT."
    ] = None,
    rounds: Annotated[int | None, "Number of communication rounds, in place of the sweep's."] = None,
    name: Annotated[str | None, "Name of the results folder for a grid or rounds of your own."] = None,
    out: Out = "results",
    shard: Annotated[
        str | None, "I/N: run the I-th of N equal shares, into a results folder of its own; see `merge`."
    ] = None,
    chunk: Annotated[int | None, "Largest number of points computed at once; affects results only by rounding."] = None,
    workers: Workers = "auto",
    devices: Annotated[
        int | str | None,
        "In place of workers, divide the clients of each run over so many devices of this machine, or auto: all.",
    ] = None,
    fresh: bool = False,
    rows: bool = True,
) -> "pd.DataFrame":
    """Run the missing points of sweeps. What is interrupted, at any time, goes on when it is repeated.

    Args:
        fresh: first move all existing results of the sweeps aside.
        rows: whether to return the rows, which may need much memory.

    Returns:
        One row per run and evaluation. .attrs["folders"] has those of values of your own.

    Raises:
        InputError: for an unknown name, a value out of range or a missing folder, before anything is run; or where
            there are fewer runs than shards, and this one has none.
    """
    import pandas as pd

    from bench.data.files import DataFiles
    from bench.execution.chosen import chosen
    from bench.execution.run import run_all, use_compilation_cache
    from bench.papers import SWEEPS
    from bench.store import part_files
    from bench.sweeps.grids import keeping_rounds

    data_files, names = DataFiles(), _several(sweeps)
    if "all" in names and len(names) > 1:
        raise InputError(f"`all` is every sweep: leave out {' '.join(name for name in names if name != 'all')}")
    names = list(SWEEPS) if names == ["all"] else names
    if name is not None and len(names) > 1:
        raise InputError(
            f"name {name} would be one folder for {len(names)} sweeps: leave it out, or run the sweeps one at a time"
        )
    own = {"where": where, "seeds": seeds, "task": task, "grid": grid, "rounds": rounds, "folder": name, "shard": shard}
    # The names and conditions of all sweeps are checked before the first one runs.
    todo = [chosen(SWEEPS, sweep, scale, **own) for sweep in names]
    use_compilation_cache()
    with pool_of(workers, devices) as pool:
        options = {"out": out, "fresh": fresh, "data_files": data_files, "pool": pool}
        run_all([upcoming_of(wanted, scale, **options) for wanted in todo], pool, most=chunk)
    for wanted in todo:
        if rounds is not None and (kept := keeping_rounds(wanted.part)):
            print(f"the number of rounds does not change {', '.join(kept)}, which set their own", file=sys.stderr)
    folders = {wanted.part.name: of_scale(out, scale, wanted.part.name) for wanted in todo}
    read = list(map(part_files.read, folders.values())) if rows else []
    whole = pd.concat(read, ignore_index=True) if len(read) > 1 else read[0] if read else pd.DataFrame()
    whole.attrs["folders"] = [str(folders[wanted.part.name]) for wanted in todo if wanted.request is not None]
    return whole


def _several(given: Any) -> list:
    """One name or several as a list."""
    return [given] if isinstance(given, str | os.PathLike) else list(given)


def pool_of(workers: int | str, devices: int | str | None = None) -> "Pool":
    """Return the workers of a command, by the options of `run`."""
    from bench.execution.pool import Pool

    on_ray = str(workers).startswith("ray")
    return Pool(str(workers) if on_ray else "local", "auto" if on_ray else workers, devices=devices)


def upcoming_of(
    wanted: "Chosen",
    scale: str,
    *,
    out: str | os.PathLike,
    fresh: bool,
    pool: "Pool",
    data_files: Any,
) -> "Opener":
    """Return the chosen sweep for `run_all`.

    Args:
        wanted, scale, out, fresh, pool, data_files: what to run, and where.
    """
    from bench.execution.chosen import requested
    from bench.execution.run import opened
    from bench.papers import SWEEPS
    from bench.store import requests

    def open_it(stack: ExitStack):
        folder = of_scale(out, scale, wanted.part.name)
        check_writable(Path(out))
        whole = wanted.whole
        if wanted.request is not None:
            whole = requested(SWEEPS, requests.prepare(folder, wanted.request, fresh=fresh), wanted.part.name)
        asked = {"whole": whole, "others": wanted.others, "scale": scale, "out": out, "fresh": fresh}
        return opened(wanted.part, stack, **asked, data_files=data_files, pool=pool)

    return open_it


def load(
    name: str,
    scale: str | None = None,
    *,
    columns: str | Sequence[str] | None = None,
    where: str | None = None,
    results: str | os.PathLike = "results",
) -> "pd.DataFrame":
    """Load the rows of a sweep, or the table of a comparison, that has been run.

    Args:
        name: of the sweep, of a folder with your own values, or of a comparison, "compare/NAME".
        scale: "smoke" for smoke runs; by default whatever else has been run, or else these.
        columns: only these columns, in this order, which takes less memory; default all.
        where: only rows that satisfy this condition on columns, such as "noise_multiplier <= 10 and trial == 0".
        results: the folder.

    Returns:
        One row per run and evaluation; for a comparison, one row per method and epsilon.

    Raises:
        InputError: where there are no such results, or no such column.
    """
    from bench.store import part_files
    from bench.sweeps.condition import names

    chosen = [columns] if isinstance(columns, str) else None if columns is None else list(columns)
    folder = _folder(name, scale, Path(results))
    if folder.is_file():
        rows = _table(folder)
        for column in chosen or ():
            if column not in rows:
                raise unknown_name(f"column of {name}", column, map(str, rows))
    else:
        needed = None if chosen is None else list(dict.fromkeys([*chosen, *(names(where) if where else ())]))
        rows = part_files.read(folder, columns=needed)
    if where is not None:
        rows = _where(rows, where)
    return rows if chosen is None else rows[chosen]


def _where(rows: "pd.DataFrame", where: str) -> "pd.DataFrame":
    """Return the rows that satisfy a condition."""
    from bench.sweeps.condition import condition

    try:
        return rows[condition(where, rows)].reset_index(drop=True)
    except InputError as error:
        raise InputError(f"where {where!r} cannot be evaluated on these rows: {error}") from None


def _folder(name: str, scale: str | None, results: Path) -> Path:
    """Return the folder of the results of a sweep, or the CSV file of a comparison."""
    kind, _, of = name.partition("/")
    if not name or len(name.encode(errors="replace")) > len("compare/") + LONGEST_NAME:
        raise InputError(f"{shown(name)} is not the name of results: give that of a sweep, or compare/NAME")
    if of:
        path = results / kind / of / f"{COMPARISON}.csv"
        if not path.is_file():
            raise InputError(f"there is no comparison in {path.parent}: first run `python -m bench compare`")
        return path
    if scale is not None and scale not in SCALES:
        raise unknown_name("scale", scale, SCALES)
    there = [kind for kind in (KEPT, SMOKE) if (results / kind / name).is_dir()]
    kind = kind_of(scale) if scale else next(iter(there), KEPT)
    if kind not in there:
        from bench.papers import SWEEPS  # imports all methods, only to give a better message
        from bench.store import requests

        if name not in SWEEPS and "_on_" not in name and not requests.folders(name, results):
            raise unknown_name("sweep", name, SWEEPS)
        if scale is None:
            raise InputError(f"there are no results of {name} in {results}: first run `python -m bench run {name}`")
    return results / kind / name


def _table(path: Path) -> "pd.DataFrame":
    """Return the table of a comparison.

    Raises:
        InputError: where it is damaged.
    """
    import pandas as pd

    try:
        table = pd.read_csv(path, dtype=AS_TEXT)
        named = {"algorithm", "target_epsilon", "rank"} <= {*table}
        whole = named and not table.empty and table["algorithm"].notna().all()
    except ValueError:  # all errors of pandas' parser are
        whole = False
    if not whole:
        raise InputError(f"{path} is damaged: run the comparison again")
    return table


def merge(
    folders: Annotated[
        str | os.PathLike | Sequence[str | os.PathLike], "Folders of results, or of a sweep; they are not changed."
    ],
    out: Out = "results",
) -> "pd.DataFrame":
    """Copy results made elsewhere into a results folder: checked, without duplicates, and in few files.

    Returns:
        One row per sweep and scale: its folder, the number of runs added and of duplicates dropped, and its total
        number of runs and part files. .attrs["left_out"] has one sentence for everything that was left out, and
        .attrs["notes"] for what was set aside in the results folder.

    Raises:
        InputError: for a folder without results, or missing data, before anything is written.
    """
    import pandas as pd

    from bench.execution.run import use_compilation_cache
    from bench.papers import SWEEPS
    from bench.upkeep import merge as merging

    use_compilation_cache()
    done, left_out, notes = merging.merge(SWEEPS, list(map(Path, _several(folders))), Path(out))
    table = pd.DataFrame(done, columns=list(merging.Merged._fields))
    table.attrs |= {"left_out": left_out, "notes": notes}
    return table


Sweeps = Annotated[str | Sequence[str], "Names of sweeps, or of folders with your own values; default all."]


def status(sweeps: Sweeps = (), scale: Scale = "smoke", *, out: Out = "results") -> "pd.DataFrame":
    """Show which runs of sweeps are finished or missing, and the core-hours left. Reads no data, and changes nothing.

    Returns:
        One row per sweep and entry: wanted, there, missing and core_hours. .attrs has the same as "text" and as "json",
        and in "problems" what is damaged or foreign.

    Raises:
        InputError: for an unknown name.
    """
    import pandas as pd

    from bench.data.files import DataFiles
    from bench.papers import SWEEPS
    from bench.upkeep.status import statuses, written

    names = _several(sweeps)
    every = statuses(SWEEPS, names, scale, Path(out), DataFiles())
    rows = [
        {"sweep": found.sweep, "entry": label, "wanted": rest.wanted, "there": rest.there, "missing": rest.missing}
        | {"core_hours": rest.hours}
        for found in every
        for label, rest in found.entries.items()
    ]
    table = pd.DataFrame(rows)
    table.attrs |= {"text": written(every, by_entry=bool(names)), "json": [found.as_dict() for found in every]}
    table.attrs["problems"] = [line for found in every for line in found.problems]
    return table


def check(sweeps: Sweeps = (), scale: Scale = "smoke", *, out: Out = "results") -> list[str]:
    """Check every part file of sweeps and every id in it, by the data where these are at hand. Changes nothing.

    Returns:
        What is damaged, foreign or there twice, a sentence each.

    Raises:
        InputError: for an unknown name.
    """
    from bench.data.files import DataFiles
    from bench.papers import SWEEPS
    from bench.upkeep.status import statuses

    found = statuses(SWEEPS, _several(sweeps), scale, Path(out), DataFiles(), verified=True)
    return [line for each in found for line in each.problems]


def verify(
    sweeps: Annotated[str | Sequence[str], "Names of sweeps; default all that have results."] = (),
    scale: Scale = "laptop",
    *,
    points: Annotated[int, "Number of runs to draw."] = 20,
    minutes: Annotated[float, "Time that all of them may take; runs that would take longer are not drawn."] = 2.0,
    seed: Annotated[int, "Seed of the draw."] = 0,
    results: Out = "results",
    workers: Workers = "auto",
) -> "pd.DataFrame":
    """Run some of the finished runs again, drawn at random, and compare the results row by row. Nothing is changed.

    Returns:
        One row per run, with the fields of `bench.verification.verify.Checked`. Its `outcome` is "equal", "equal up to
        rounding" or "chaotic" where the run comes out as it was, "different", "outdated" or "damaged" where it does
        not, and "left out" where its data are not here. .attrs["text"] says it in words, and .attrs["failed"] whether
        there is one that does not.

    Raises:
        InputError: for an unknown name, a number out of range, or where there are no results.
    """
    from bench.execution.run import use_compilation_cache
    from bench.papers import SWEEPS
    from bench.verification import verify as verifying

    use_compilation_cache()
    numbers = {"points": points, "minutes": minutes, "seed": seed, "workers": workers}
    found = verifying.verify(SWEEPS, _several(sweeps), scale, results, **numbers)
    table = found.table()
    table.attrs |= {"text": verifying.in_words(found, seed), "failed": bool(found.failures)}
    return table
