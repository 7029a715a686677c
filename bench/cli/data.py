"""The commands that list, fetch, verify and export data sets: python -m bench data ..."""

import json
import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Column, Table

from bench.cli.options import Commands, Json, path
from bench.data.dataset import DataSet, LocalCopy
from bench.data.fetch import user_files
from bench.data.fetch.cache import Cached, md5
from bench.data.fetch.retrieval import find, get, sources_of
from bench.data.fetch.sources import DATASETS
from bench.data.files import DataFiles
from bench.errors import InputError
from bench.files import written_whole

app = typer.Typer(
    cls=Commands,
    help="Data sets, and the examples of tasks. Two environment variables say where data come from, for all commands. "
    "BENCH_DATA is a folder with data files that you have, searched four levels deep. BENCH_SOURCE is what others are "
    "fetched from: publisher, packages, tensorflow-datasets, none, or any, which tries the publisher first (default). "
    "Example: python -m bench data list",
)

Names = Annotated[list[str] | None, typer.Argument(help="Names of data sets, as in `list`; default all.")]
Name = Annotated[str | None, typer.Argument(help="Name of a data set, as in `list`; default all.")]


@app.command("list")
def list_(as_json: Json = False) -> None:
    """List the data sets with their licences, and which of them are available on this machine.

    Example: python -m bench data list --json
    """
    data_files = DataFiles()
    rows = [_row(dataset, data_files) for dataset in DATASETS.values()]
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    table = Table("name", "what", Column("found", overflow="fold"), "licence")
    for row in rows:
        place = f"{row['found']} ({row['source']})" if row["found"] else f"not here: {row['how']}"
        table.add_row(row["name"], row["what"], place, row["licence"])
    Console(width=None if sys.stdout.isatty() else 160).print(table)


@app.command("get")
def get_(names: Names = None) -> None:
    """Fetch data sets, check them, and keep them in the cache.

    Example: python -m bench data get mnist movielens_100k
    """
    data_files = DataFiles()
    failed = []
    for dataset in _chosen(names):
        try:
            if not names and not sources_of(dataset, data_files) and not find(dataset.name, data_files):
                typer.echo(f"{dataset.name}: not here: {dataset.by_hand}")
                continue
            with Console(stderr=True).status(dataset.name) as status:
                copy = get(dataset.name, data_files, report=status.update)
        except InputError as error:
            failed.append(str(error))
            continue
        typer.echo(f"{dataset.name}: {_places(copy)} ({copy.source}; terms: {dataset.licence})")
    if failed:
        raise InputError(" ".join(failed))


@app.command("verify")
def verify(name: Name = None) -> None:
    """Recompute all checksums; the exit status is not 0 where one is wrong.

    Example: python -m bench data verify mnist
    """
    data_files = DataFiles()
    failed = []
    for dataset in _chosen([name] if name else None):
        cached = Cached(dataset)
        failed += [
            f"{path}: md5 {md5(path) or 'unknown (a damaged .gz)'}, not {dataset.files[path.name]}: run "
            f"`python -m bench data get {dataset.name}` to fetch it again."
            for path in cached.wrong()
        ]
        try:
            users, _ = user_files.search(dataset, data_files.data_dir)
        except InputError as error:
            failed.append(str(error))
            continue
        copies = [copy for copy in (users, cached.load()) if copy]
        for copy in copies:
            kind = "sha256, with no published value to compare," if dataset.user_files else "md5 as published,"
            typer.echo(f"{dataset.name}: {_places(copy)} ({copy.source}): {kind} {copy.checksum}")
        if name and not copies and not failed:
            raise InputError(f"{name}: not here: {_how(dataset)}.")
    if failed:
        raise InputError(" ".join(failed))


@app.command("export")
def export_(
    task: Annotated[str, typer.Argument(help="A task of `compare`, such as digits.")],
    split: Annotated[int, typer.Option(min=0, help="Number of the split; the board has 0 to 4.")] = 0,
    out: Annotated[
        Path | None, typer.Option(parser=path, metavar="PATH", help="The npz file; default TASK-SPLIT.npz.")
    ] = None,
) -> None:
    """Write the training, tuning and test examples of a task as arrays by client, for a program in another framework.

    numpy.load reads the file; docs/comparing.md says what is in it, and how to compare scores with the board.

    Example: python -m bench data export digits --split 0
    """
    from bench.comparison.exported import exported
    from bench.comparison.problems import problem
    from bench.data.tasks.registry import compared, misnamed

    if task not in compared():
        raise misnamed(task, "a task of `compare`", compared())
    arrays = exported(problem(task), split)
    out = out or Path(f"{task}-{split}.npz")
    with written_whole([out]) as (unfinished,), unfinished.open("wb") as file:
        np.savez(file, **arrays)
    sizes = (f"{name.removesuffix('_targets')} {len(array):,}" for name, array in arrays.items() if "_targets" in name)
    typer.echo(f"{out}: examples of {arrays['train_clients'].max() + 1:,} clients: {', '.join(sizes)}")


def _chosen(names: list[str] | None) -> list[DataSet]:
    for name in names or ():
        if name not in DATASETS:
            from bench.data.tasks.registry import misnamed

            raise misnamed(name, "a data set", DATASETS)
    return [DATASETS[name] for name in dict.fromkeys(names or DATASETS)]


def _row(dataset: DataSet, data_files: DataFiles) -> dict:
    try:
        copy, fault = find(dataset.name, data_files), None
    except InputError as error:  # where a user's file is wrong, the other data sets are still listed
        copy, fault = None, str(error)
    return {
        "name": dataset.name,
        "what": dataset.what,
        "found": _places(copy) if copy else None,
        "source": copy.source if copy else None,
        "checksum": copy.checksum if copy else None,
        "how": fault or _how(dataset),
        "licence": dataset.licence,
        "citation": dataset.citation,
    }


def _places(copy: LocalCopy) -> str:
    return ", ".join(sorted({str(path.parent) for path in copy.files.values()}))


def _how(dataset: DataSet) -> str:
    return f"get it with `python -m bench data get {dataset.name}`" if dataset.sources else dataset.by_hand
