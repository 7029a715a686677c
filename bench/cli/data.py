"""The commands that list, fetch and verify data sets: python -m bench data ..."""

import json
import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Column, Table

from bench.cli.options import Commands, DataDir
from bench.data.dataset import LocalCopy
from bench.data.fetch import cache, user_files
from bench.data.fetch.retrieval import find, get
from bench.data.fetch.sources import DATASETS
from bench.data.files import DataFiles
from bench.errors import InputError, unknown_name

app = typer.Typer(cls=Commands, help="List, fetch and verify data sets. Example: python -m bench data list")

Names = Annotated[list[str] | None, typer.Argument(help="Names of data sets, as in `list`; default all.")]
Name = Annotated[str | None, typer.Argument(help="Name of a data set, as in `list`; default all.")]


@app.command("list")
def list_(
    data_dir: DataDir = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list instead of a table.")] = False,
) -> None:
    """List the data sets with their licences, and which of them are available on this machine.

    Example: python -m bench data list --data-dir ~/files
    """
    data_files = DataFiles(data_dir)
    rows = [_row(name, data_files) for name in DATASETS]
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    table = Table("name", "what", Column("found", overflow="fold"), "licence")
    for row in rows:
        here = f"{row['found']} ({row['source']})" if row["found"] else f"not here: {row['how']}"
        table.add_row(row["name"], row["what"], here, row["licence"])
    Console(width=None if sys.stdout.isatty() else 160).print(table)


@app.command("get")
def get_(
    names: Names = None,
    data_dir: DataDir = None,
    download: Annotated[
        bool,
        typer.Option(
            "--download", help="Allow downloads from the authors' addresses for data that no other source has."
        ),
    ] = False,
) -> None:
    """Fetch data sets, check them, and keep them in the cache.

    Example: python -m bench data get mnist movielens_100k
    """
    data_files = DataFiles(data_dir, download)
    failed = []
    for each in dict.fromkeys(known for name in names or [None] for known in _names(name)):
        try:
            if not names and not _obtainable(each, download) and not find(each, data_files):
                typer.echo(f"{each}: not here: {_how(each)}")
                continue
            with Console(stderr=True).status(each) as status:
                copy = get(each, data_files, report=status.update)
        except InputError as error:
            failed.append(str(error))
            continue
        typer.echo(f"{each}: {_places(copy)} ({copy.source}; terms: {DATASETS[each].licence})")
    if failed:
        raise InputError(" ".join(failed))


@app.command("verify")
def verify(name: Name = None, data_dir: DataDir = None) -> None:
    """Recompute all checksums; the exit status is not 0 where one is wrong.

    Example: python -m bench data verify mnist
    """
    data_files = DataFiles(data_dir)
    failed = []
    for each in _names(name):
        failed += [
            f"{path}: md5 {cache.md5(path) or 'unknown (a damaged .gz)'}, not {DATASETS[each].files[path.name]}: run "
            f"`python -m bench data get {each}` to fetch it again."
            for path in cache.wrong(each)
        ]
        try:
            users, _ = user_files.search(each, data_files.data_dir)
        except InputError as error:
            failed.append(str(error))
            continue
        copies = [copy for copy in (users, cache.load(each)) if copy]
        for copy in copies:
            kind = "sha256, with no published value to compare," if DATASETS[each].user_files else "md5 as published,"
            typer.echo(f"{each}: {_places(copy)} ({copy.source}): {kind} {copy.checksum}")
        if name and not copies and not failed:
            raise InputError(f"{each}: not here: {_how(each)}.")
    if failed:
        raise InputError(" ".join(failed))


def _names(name: str | None) -> list[str]:
    if name is not None and name not in DATASETS:
        raise unknown_name("data set", name, DATASETS)
    return [name] if name else list(DATASETS)


def _row(name: str, data_files: DataFiles) -> dict:
    dataset = DATASETS[name]
    try:
        copy, fault = find(name, data_files), None
    except InputError as error:  # where a user's file is wrong, the other data sets are still listed
        copy, fault = None, str(error)
    return {
        "name": name,
        "what": dataset.what,
        "found": _places(copy) if copy else None,
        "source": copy.source if copy else None,
        "checksum": copy.checksum if copy else None,
        "how": fault or _how(name),
        "licence": dataset.licence,
        "citation": dataset.citation,
    }


def _places(copy: LocalCopy) -> str:
    return ", ".join(sorted({str(path.parent) for path in copy.files.values()}))


def _obtainable(name: str, download: bool) -> bool:
    data = DATASETS[name]
    return bool(data.packages or data.indexes or (download and data.addresses))


def _how(name: str) -> str:
    if DATASETS[name].user_files:
        files = " or ".join(" and ".join(files) for files in DATASETS[name].user_files)
        return f"put {files} in a folder and pass --data-dir"
    option = "" if _obtainable(name, download=False) else " --download"
    return f"get it with `python -m bench data get {name}{option}`"
