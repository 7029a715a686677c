"""The Python interface: the commands of the command line as functions that return tables.

from bench import load, run

run("ppsgd_synthetic", scale="smoke")
rows = load("ppsgd_synthetic", scale="smoke")
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from bench.comparison.defaults import COMPARISON, LONGEST_NAME
from bench.data.files import DataFiles
from bench.errors import InputError, shown, unknown_name
from bench.files import AS_TEXT, check_writable
from bench.inputs.declared import of_declared_types
from bench.store import KEPT, SCALES, SMOKE, kind_of, of_scale, part_files, requests

if TYPE_CHECKING:
    from bench.execution.chosen import Chosen
    from bench.execution.pool import Pool
    from bench.execution.run import Opener


@of_declared_types
def run(
    sweep: str,
    /,
    scale: str = "smoke",
    *,
    where: str | None = None,
    seeds: int | None = None,
    task: str | None = None,
    grid: Mapping[str, Any] | None = None,
    rounds: int | None = None,
    name: str | None = None,
    out: str | os.PathLike = "results",
    fresh: bool = False,
    shard: str | None = None,
    chunk: int | None = None,
    workers: int | str = "auto",
    executor: str = "local",
    devices: int | str | None = None,
    data_dir: str | os.PathLike | None = None,
    source: str | None = None,
) -> pd.DataFrame:
    """Run what is missing of a sweep, and return all its rows.

    Args:
        sweep: its name.
        scale: "smoke", "laptop" or "paper".
        where: a condition that selects points, such as "noise_multiplier <= 10".
        seeds: repetitions of every point; default the sweep's.
        task: a task to use in place of the sweep's.
        grid: column -> values to use in place of the sweep's; the results go to a separate folder.
        rounds: communication rounds to use in place of the sweep's; likewise in a separate folder.
        name: of that folder; by default made from the sweep's name and the changes.
        out: results folder.
        fresh: first move all existing results of the sweep aside.
        shard: "I/N", from "1/N" to "N/N", to run every N-th of the selected points times seeds. Each shard needs an
            `out` of its own; `python -m bench merge` brings them together.
        chunk: the largest number of points computed at once; affects results only by rounding.
        workers: number of worker processes or tasks; "auto" is one per GPU, or else one per core, and only this process
            where there is little to do.
        executor: where the workers run: "local", "ray" or "ray://HOST:PORT".
        devices: number of this machine's devices over which the clients of each run are divided, or "auto" for all; in
            place of workers. None does not divide them.
        data_dir: folder with data files of your own; default the one that BENCH_DATA names, if any.
        source: what data are fetched from: "publisher", "packages", "tensorflow-datasets", "none", or "any", which
            tries the publisher first; default the one that BENCH_SOURCE names, or "any".

    Returns:
        One row per run and evaluation.

    Raises:
        InputError: for an unknown name, a value out of range or a missing folder, before anything is run; or where
            there are fewer runs than shards, and this one has none.
    """
    from bench.execution.chosen import chosen
    from bench.execution.pool import Pool
    from bench.execution.run import run_all, use_compilation_cache
    from bench.papers import SWEEPS

    data_files = DataFiles(data_dir, source)
    wanted = chosen(
        SWEEPS, sweep, scale, where=where, seeds=seeds, task=task, grid=grid, rounds=rounds, folder=name, shard=shard
    )
    use_compilation_cache()
    with Pool(executor, workers, devices=devices) as pool:
        upcoming = upcoming_of(wanted, scale, out=out, data_files=data_files, fresh=fresh, pool=pool)
        run_all([upcoming], pool, most=chunk)
    return part_files.read(of_scale(out, scale, wanted.part.name))


def upcoming_of(
    wanted: "Chosen",
    scale: str,
    *,
    out: str | os.PathLike,
    fresh: bool,
    pool: "Pool",
    data_files: DataFiles,
) -> "Opener":
    """Return the chosen sweep for `run_all`.

    Args:
        wanted, scale, out, fresh, pool, data_files: what to run, and where.
    """
    from bench.execution.chosen import requested
    from bench.execution.run import opened
    from bench.papers import SWEEPS

    def open_it(stack: ExitStack):
        folder = of_scale(out, scale, wanted.part.name)
        check_writable(Path(out))
        whole = wanted.whole
        if wanted.request is not None:
            whole = requested(SWEEPS, requests.prepare(folder, wanted.request, fresh=fresh), wanted.part.name)
        asked = {"whole": whole, "others": wanted.others, "scale": scale, "out": out, "fresh": fresh}
        return opened(wanted.part, stack, **asked, data_files=data_files, pool=pool)

    return open_it


@of_declared_types
def load(
    name: str,
    scale: str | None = None,
    *,
    columns: str | Sequence[str] | None = None,
    where: str | None = None,
    results: str | os.PathLike = "results",
) -> pd.DataFrame:
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


def _where(rows: pd.DataFrame, where: str) -> pd.DataFrame:
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

        if name not in SWEEPS and "_on_" not in name and not requests.folders(name, results):
            raise unknown_name("sweep", name, SWEEPS)
        if scale is None:
            raise InputError(f"there are no results of {name} in {results}: first run `python -m bench run {name}`")
    return results / kind / name


def _table(path: Path) -> pd.DataFrame:
    """Return the table of a comparison.

    Raises:
        InputError: where it is damaged.
    """
    try:
        table = pd.read_csv(path, dtype=AS_TEXT)
        named = {"algorithm", "target_epsilon", "rank"} <= {*table}
        whole = named and not table.empty and table["algorithm"].notna().all()
    except ValueError:  # all errors of pandas' parser are
        whole = False
    if not whole:
        raise InputError(f"{path} is damaged: run the comparison again")
    return table


@of_declared_types
def merge(
    folders: str | os.PathLike | Sequence[str | os.PathLike],
    out: str | os.PathLike = "results",
    *,
    data_dir: str | os.PathLike | None = None,
    source: str | None = None,
) -> pd.DataFrame:
    """Copy results made elsewhere into a results folder: checked, without duplicates, and in few files.

    Args:
        folders: folders of results, of a scale or of a sweep; they are not changed.
        out: the folder of results to copy into.
        data_dir: folder with data files of your own; default the one that BENCH_DATA names, if any.
        source: what data are fetched from: "publisher", "packages", "tensorflow-datasets", "none", or "any", which
            tries the publisher first; default the one that BENCH_SOURCE names, or "any".

    Returns:
        One row per sweep and scale: its folder, the number of runs added and of duplicates dropped, and its total
        number of runs and part files. .attrs["left_out"] has one sentence for everything that was left out.

    Raises:
        InputError: for a folder without results, or missing data, before anything is written.
    """
    from bench.papers import SWEEPS
    from bench.upkeep import merge as merging

    several = [folders] if isinstance(folders, str | os.PathLike) else list(folders)
    done, left_out, _ = merging.merge(
        SWEEPS, [Path(folder) for folder in several], Path(out), DataFiles(data_dir, source)
    )
    table = pd.DataFrame(done, columns=list(merging.Merged._fields))
    table.attrs["left_out"] = left_out
    return table


@of_declared_types
def status(
    sweeps: str | Sequence[str] = (), scale: str = "smoke", *, out: str | os.PathLike = "results"
) -> pd.DataFrame:
    """Count the finished and missing runs of sweeps and the core-hours left. No data are read.

    Args:
        sweeps: one or several names of sweeps or of folders with your own values; none means all.
        scale: "smoke", "laptop" or "paper".
        out: the folder of results.

    Returns:
        One row per sweep and entry: wanted, there, missing and core_hours.

    Raises:
        InputError: for an unknown name.
    """
    from bench.papers import SWEEPS
    from bench.upkeep.status import statuses

    names = [sweeps] if isinstance(sweeps, str) else list(sweeps)
    rows = [
        {"sweep": found.sweep, "entry": label, "wanted": rest.wanted, "there": rest.there, "missing": rest.missing}
        | {"core_hours": rest.hours}
        for found in statuses(SWEEPS, names, scale, Path(out), DataFiles())
        for label, rest in found.entries.items()
    ]
    return pd.DataFrame(rows)


@of_declared_types
def verify(
    sweeps: str | Sequence[str] = (),
    scale: str = "laptop",
    *,
    points: int = 20,
    minutes: float = 2.0,
    seed: int = 0,
    results: str | os.PathLike = "results",
    workers: int | str = "auto",
    data_dir: str | os.PathLike | None = None,
    source: str | None = None,
) -> pd.DataFrame:
    """Run some finished runs again, drawn at random, and compare the results row by row; nothing is changed.

    Args:
        sweeps: one or several names of sweeps; none means all that have results.
        scale: "smoke", "laptop" or "paper".
        points: number of runs to draw.
        minutes: that all of them may take together; runs that would take longer are not drawn.
        seed: of the draw.
        results: the folder of results.
        workers: number of worker processes; "auto" is one per GPU, or else one per core.
        data_dir: folder with data files of your own; default the one that BENCH_DATA names, if any.
        source: what data are fetched from: "publisher", "packages", "tensorflow-datasets", "none", or "any", which
            tries the publisher first; default the one that BENCH_SOURCE names, or "any".

    Returns:
        One row per run, with the fields of `bench.verification.verify.Checked`. Its `outcome` is "equal", "equal up to
        rounding" or "chaotic" where the run comes out as it was, "different", "outdated" or "damaged" where it does
        not, and "left out" where its data are not here.

    Raises:
        InputError: for an unknown name, a number out of range, or where there are no results.
    """
    from bench.execution.run import use_compilation_cache
    from bench.papers import SWEEPS
    from bench.verification import verify as verifying

    use_compilation_cache()
    names, data_files = [sweeps] if isinstance(sweeps, str) else list(sweeps), DataFiles(data_dir, source)
    numbers = {"points": points, "minutes": minutes, "seed": seed, "workers": workers}
    return verifying.verify(SWEEPS, names, scale, results, **numbers, data_files=data_files).table()
