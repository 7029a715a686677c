"""The suite from Python: what the command line does, as functions that return tables.

from bench import load, run

run("ppsgd_synthetic", scale="smoke")
rows = load("ppsgd_synthetic", scale="smoke")
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from bench.arguments import of_declared_types
from bench.data.files import DataFiles
from bench.defaults import COMPARISON
from bench.errors import InputError, unknown_name
from bench.sweeps import SCALES, own, part_files

if TYPE_CHECKING:
    from bench.sweeps.chosen import Chosen


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
    chunk: int | None = None,
    workers: int | str = "auto",
    executor: str = "local",
    data_dir: str | os.PathLike | None = None,
    download: bool = False,
) -> pd.DataFrame:
    """Run what is missing of a sweep, and return all its rows.

    Args:
        sweep: its name.
        scale: "smoke", "laptop" or "paper".
        where: only these points, such as "noise_multiplier <= 10".
        seeds: repetitions of every point; default the sweep's.
        task: another task than the sweep's own.
        grid: column -> values that it is to have in place of the sweep's; results go to a folder of their own.
        rounds: communication rounds, in place of the sweep's; the same.
        name: of that folder; default one made of the sweep and what was changed.
        out: results folder.
        fresh: first set all the sweep's results aside.
        chunk: points at once at most; changes results by rounding alone.
        workers: processes or tasks at the same time; "auto": one a GPU, or else one a core, and none but this process
            where there is little to do.
        executor: where they run: "local", "ray", "ray://HOST:PORT" or "slurm".
        data_dir: folder with data files of your own; default the one that BENCH_DATA names, if any.
        download: whether the authors' addresses may be asked for data that nothing else has.

    Returns:
        One row per run and evaluation.

    Raises:
        InputError: for an unknown name, a value out of its range or a folder that is not there, before anything is run.
    """
    from bench.sweeps.chosen import chosen
    from bench.sweeps.execution.pool import Pool
    from bench.sweeps.run import use_compilation_cache

    data_files = DataFiles(data_dir, download)
    wanted = chosen(sweep, scale, where=where, seeds=seeds, task=task, grid=grid, rounds=rounds, folder=name)
    use_compilation_cache()
    with Pool(executor, workers) as pool:
        folder = run_chosen(wanted, scale, out=out, data_files=data_files, fresh=fresh, most=chunk, pool=pool)
    return part_files.read(folder)


def run_chosen(wanted: "Chosen", scale: str, *, out: str | os.PathLike, fresh: bool, **options) -> Path:
    """Run what is missing of a sweep as it was asked for; the folder of its results. Options are of `run_sweep`."""
    from bench.sweeps.run import run_sweep

    folder = Path(out) / scale / wanted.part.name
    if wanted.request is not None:
        own.prepare(folder, wanted.request, fresh=fresh)
    try:
        run_sweep(wanted.part, whole=wanted.whole, scale=scale, out=out, fresh=fresh, **options)
    except InputError:
        if wanted.request is not None:
            own.discard(folder)
        raise
    return folder


@of_declared_types
def load(name: str, scale: str | None = None, *, results: str | os.PathLike = "results") -> pd.DataFrame:
    """The rows of a sweep, or the table of a comparison, that has been run.

    Args:
        name: of the sweep, or of a folder with values of one's own; or of a comparison, "compare/NAME".
        scale: default the largest there is.
        results: the folder.

    Returns:
        One row per run and evaluation; of a comparison one per method and epsilon.

    Raises:
        InputError: where there is none.
    """
    kind, _, of = name.partition("/")
    if of:
        path = Path(results) / kind / of / f"{COMPARISON}.csv"
        if not path.is_file():
            raise InputError(f"no comparison in {path.parent}: first run `python -m bench compare`")
        return pd.read_csv(path)
    if scale is not None and scale not in SCALES:
        raise unknown_name("scale", scale, SCALES)
    scales = [choice for choice in SCALES if (Path(results) / choice / name).is_dir()]
    if scale not in scales and (scale or not scales):
        from bench.sweeps import SWEEPS  # imports all methods, for the sake of a better message

        if name not in SWEEPS and "_on_" not in name and not own.folders(name, results):
            raise unknown_name("sweep", name, SWEEPS)
        if scale is None:
            raise InputError(f"no results of {name} in {results}: first run `python -m bench run {name}`")
    return part_files.read(Path(results) / (scale or scales[-1]) / name)


@of_declared_types
def merge(
    folders: str | os.PathLike | Sequence[str | os.PathLike],
    out: str | os.PathLike = "results",
    *,
    data_dir: str | os.PathLike | None = None,
    download: bool = False,
) -> pd.DataFrame:
    """Copy results made elsewhere to the results here: each run checked, and once, in few files.

    Args:
        folders: of results, of a scale, or of a sweep; they stay as they are.
        out: the folder of results to copy into.
        data_dir: folder with data files of your own; default the one that BENCH_DATA names, if any.
        download: whether the authors' addresses may be asked for data that nothing else has.

    Returns:
        One row per sweep and scale: its folder, runs added, runs there twice, and runs and parts that it has now. What
        was left out, a sentence each, lies in .attrs["left_out"].

    Raises:
        InputError: for a folder without results, or data that are not there, before anything is written.
    """
    from bench.sweeps import merge as merging

    several = [folders] if isinstance(folders, str | os.PathLike) else list(folders)
    done, left_out, _ = merging.merge([Path(one) for one in several], Path(out), DataFiles(data_dir, download))
    table = pd.DataFrame(done, columns=list(merging.Merged._fields))
    table.attrs["left_out"] = left_out
    return table


@of_declared_types
def status(
    sweeps: str | Sequence[str] = (),
    scale: str = "smoke",
    *,
    predict: bool = False,
    users: int | None = None,
    points: int | None = None,
    out: str | os.PathLike = "results",
    data_dir: str | os.PathLike | None = None,
    download: bool = False,
) -> pd.DataFrame:
    """What of the sweeps is there, what is missing, and how many core-hours that is; or what all their runs cost.

    Args:
        sweeps: one or several, or names of folders with values of your own; none for all, without a prediction.
        scale: "smoke", "laptop" or "paper".
        predict: from a model that is fitted on what is there, say what all runs cost on one machine and on many.
        users: of a prediction, in place of the sweep's.
        points: of each entry of a prediction, the same.
        out: the folder of results.
        data_dir: folder with data files of your own; default the one that BENCH_DATA names, if any.
        download: whether the authors' addresses may be asked for data that nothing else has.

    Returns:
        One row per sweep and entry: wanted, there, missing and core_hours, or the fields of
        `bench.sweeps.predict.Prediction`.

    Raises:
        InputError: for an unknown name, or numbers that make no sense.
    """
    from bench.sweeps import predict as predicting
    from bench.sweeps.status import statuses

    names, data_files = [sweeps] if isinstance(sweeps, str) else list(sweeps), DataFiles(data_dir, download)
    predicting.check(names, predict=predict, users=users, points=points)
    found = statuses(names, scale, Path(out), data_files)
    if predict:
        made = predicting.predict(names, scale, Path(out), data_files, users=users, points=points)
        return pd.json_normalize([one.as_dict() for one in made])
    rows = [
        {"sweep": one.sweep, "entry": label, "wanted": rest.wanted, "there": rest.there, "missing": rest.missing}
        | {"core_hours": rest.hours}
        for one in found
        for label, rest in one.entries.items()
    ]
    return pd.DataFrame(rows)
