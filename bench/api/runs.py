"""The Python interface: the commands of the command line as functions that return tables.

from bench import load, run

run("ppsgd_synthetic", scale="smoke")
rows = load("ppsgd_synthetic", scale="smoke")
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from bench.comparison.defaults import LONGEST_NAME
from bench.errors import InputError, shown, unknown_name
from bench.files import check_writable
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
    quiet: bool = False,
    rows: bool = True,
) -> "pd.DataFrame":
    """Run the missing points of sweeps. What is interrupted, at any time, goes on when it is repeated.

    Args:
        quiet: whether nothing is printed while it runs; errors are raised in any case.
        rows: whether to return the rows, which may need much memory.

    Returns:
        One row per run and evaluation. .attrs["folders"] has those of values of your own.

    Raises:
        InputError: for an unknown name, a value out of range or a missing folder, before anything is run; or where
            there are fewer runs than shards, and this one has none.
    """
    import pandas as pd

    from bench.execution.chosen import chosen
    from bench.execution.run import run_all, use_compilation_cache
    from bench.papers import SWEEPS
    from bench.store import part_files
    from bench.sweeps.grids import keeping_rounds

    names = _several(sweeps)
    if "all" in names and len(names) > 1:
        raise InputError(f"`all` is every sweep: leave out {' '.join(name for name in names if name != 'all')}")
    names = list(SWEEPS) if names == ["all"] else names
    if name is not None and len(names) > 1:
        raise InputError(
            f"name {name} would be one folder for {len(names)} sweeps: leave it out, or run the sweeps one at a time"
        )
    arguments = {
        "where": where,
        "seeds": seeds,
        "task": task,
        "grid": grid,
        "rounds": rounds,
        "folder": name,
        "shard": shard,
    }
    # The names and conditions of all sweeps are checked before the first one runs.
    todo = [chosen(SWEEPS, sweep, scale, **arguments) for sweep in names]
    use_compilation_cache()
    with pool_of(workers, devices, quiet) as pool:
        run_all([upcoming_of(choice, scale, out=out, pool=pool) for choice in todo], pool, most=chunk)
    for choice in todo:
        if rounds is not None and (unchanged := keeping_rounds(choice.selection)):
            pool.command.say(f"the number of rounds does not change {', '.join(unchanged)}, which set their own")
    folders = {choice.selection.name: of_scale(out, scale, choice.selection.name) for choice in todo}
    tables = list(map(part_files.read, folders.values())) if rows else []
    table = pd.concat(tables, ignore_index=True) if len(tables) > 1 else tables[0] if tables else pd.DataFrame()
    table.attrs["folders"] = [str(folders[choice.selection.name]) for choice in todo if choice.request is not None]
    return table


def _several(names: Any) -> list:
    """Return one name or several as a list."""
    return [names] if isinstance(names, str | os.PathLike) else list(names)


def pool_of(workers: int | str, devices: int | str | None = None, quiet: bool = False) -> "Pool":
    """Return the workers of a command, by the options of `run`."""
    from bench.execution.pool import Pool

    on_ray = str(workers).startswith("ray")
    return Pool(str(workers) if on_ray else "local", "auto" if on_ray else workers, devices=devices, quiet=quiet)


def upcoming_of(
    choice: "Chosen",
    scale: str,
    *,
    out: str | os.PathLike,
    pool: "Pool",
) -> "Opener":
    """Return the chosen sweep for `run_all`.

    Args:
        choice, scale, out, pool: what to run, and where.
    """
    from bench.execution.chosen import requested
    from bench.execution.run import opened
    from bench.papers import SWEEPS
    from bench.store import requests

    def open_sweep(stack: ExitStack):
        folder = of_scale(out, scale, choice.selection.name)
        check_writable(Path(out))
        sweep = choice.sweep
        if choice.request is not None:
            sweep = requested(SWEEPS, requests.prepare(folder, choice.request), choice.selection.name)
        options = {"full_sweep": sweep, "other_scales": choice.other_scales, "scale": scale, "out": out}
        return opened(choice.selection, stack, **options, pool=pool)

    return open_sweep


def load(
    name: str,
    scale: str | None = None,
    *,
    columns: str | Sequence[str] | None = None,
    where: str | None = None,
    results: str | os.PathLike = "results",
) -> "pd.DataFrame":
    """Load the rows of a sweep that has been run.

    Args:
        name: of the sweep, or of a folder with your own values.
        scale: "smoke" for smoke runs; by default whatever else has been run, or else these.
        columns: only these columns, in this order, which takes less memory; default all.
        where: only rows that satisfy this condition on columns, such as "noise_multiplier <= 10 and trial == 0".
        results: the folder.

    Returns:
        One row per run and evaluation.

    Raises:
        InputError: where there are no such results, or no such column.
    """
    from bench.store import part_files
    from bench.sweeps.condition import names

    chosen = [columns] if isinstance(columns, str) else None if columns is None else list(columns)
    folder = _folder(name, scale, Path(results))
    needed = None if chosen is None else {*chosen, *(names(where) if where else ())}
    rows = part_files.read(folder, only=needed)
    for column in sorted(needed or ()):
        if column not in rows:
            raise unknown_name(f"column of {name}", column, map(str, part_files.read(folder)))
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
    """Return the folder of the results of a sweep."""
    if not name or "/" in name or len(name.encode(errors="replace")) > LONGEST_NAME:
        raise InputError(f"{shown(name)} is not the name of results: give that of a sweep")
    if scale is not None and scale not in SCALES:
        raise unknown_name("scale", scale, SCALES)
    present = [kind for kind in (KEPT, SMOKE) if (results / kind / name).is_dir()]
    kind = kind_of(scale) if scale else next(iter(present), KEPT)
    if kind not in present:
        from bench.papers import SWEEPS  # imports all methods, only to give a better message
        from bench.store import requests

        if name not in SWEEPS and "_on_" not in name and not requests.folders(name, results):
            raise unknown_name("sweep", name, SWEEPS)
        if scale is None:
            raise InputError(f"there are no results of {name} in {results}: first run `python -m bench run {name}`")
    return results / kind / name


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
    merged, left_out, notes = merging.merge(SWEEPS, list(map(Path, _several(folders))), Path(out))
    table = pd.DataFrame(merged, columns=list(merging.Merged._fields))
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

    from bench.papers import SWEEPS
    from bench.upkeep.status import as_text, statuses

    names = _several(sweeps)
    states = statuses(SWEEPS, names, scale, Path(out))
    rows = [
        {"sweep": state.sweep, "entry": label} | coverage._asdict()
        for state in states
        for label, coverage in state.entries.items()
    ]
    table = pd.DataFrame(rows)
    table.attrs |= {"text": as_text(states, by_entry=bool(names)), "json": [state.as_dict() for state in states]}
    table.attrs["problems"] = [line for state in states for line in state.problems]
    return table


def check(sweeps: Sweeps = (), scale: Scale = "smoke", *, out: Out = "results") -> list[str]:
    """Check every part file of sweeps and every id in it, by the data where these are at hand. Changes nothing.

    Returns:
        What is damaged, foreign or there twice, a sentence each.

    Raises:
        InputError: for an unknown name.
    """
    from bench.papers import SWEEPS
    from bench.upkeep import status

    return status.check(SWEEPS, _several(sweeps), scale, Path(out))


def verify(
    sweeps: Annotated[str | Sequence[str], "Names of sweeps; default all that have results."] = (),
    scale: Scale = "laptop",
    *,
    points: Annotated[int, "Number of runs to draw."] = 20,
    minutes: Annotated[float, "Time that all of them may take; runs that would take longer are not drawn."] = 2.0,
    seed: Annotated[int, "Seed of the draw."] = 0,
    out: Out = "results",
    workers: Workers = "auto",
    quiet: bool = False,
) -> "pd.DataFrame":
    """Run some of the finished runs again, drawn at random, and compare the results row by row. Nothing is changed.

    Args:
        quiet: as for `run`.

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
    numbers = {"points": points, "minutes": minutes, "seed": seed, "workers": workers, "quiet": quiet}
    return verifying.verify(SWEEPS, _several(sweeps), scale, out, **numbers)
