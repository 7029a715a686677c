"""The part of the command line that lists, gets and verifies data sets: python -m bench data ..."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Column, Table

from bench.data.fetch import cache, own
from bench.data.fetch.dataset import Found
from bench.data.fetch.retrieval import find, get
from bench.data.fetch.sources import DATASETS
from bench.errors import InputError, unknown_name

app = typer.Typer(no_args_is_help=True, help="List, get and verify the data sets. Example: python -m bench data list")

Names = Annotated[list[str] | None, typer.Argument(help="Data sets of `list`; all of them where none is given.")]
Name = Annotated[str | None, typer.Argument(help="A data set of `list`; all of them where none is given.")]
DataDir = Annotated[
    Path | None,
    typer.Option(help="A folder with files you have, searched four levels deep; or set BENCH_DATA."),
]


@app.command("list")
def list_(
    data_dir: DataDir = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list instead of a table.")] = False,
) -> None:
    """What data sets there are, which are here, and on what terms.

    Example: python -m bench data list --data-dir ~/files
    """
    own.root(data_dir)
    rows = [_row(name, data_dir) for name in DATASETS]
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
        bool, typer.Option("--download", help="Ask the authors' address where nothing else has the data.")
    ] = False,
) -> None:
    """Get data sets, check them, and keep them in the cache.

    Example: python -m bench data get mnist movielens_100k
    """
    own.root(data_dir)
    failed = []
    for each in dict.fromkeys(known for name in names or [None] for known in _names(name)):
        try:
            if not names and not _obtainable(each, download) and not find(each, data_dir):
                typer.echo(f"{each}: not here: {_how(each)}")
                continue
            with Console(stderr=True).status(each) as status:
                found = get(each, data_dir=data_dir, download=download, report=status.update)
        except InputError as error:
            failed.append(str(error))
            continue
        typer.echo(f"{each}: {_places(found)} ({found.source}; terms: {DATASETS[each].licence})")
    if failed:
        raise InputError(" ".join(failed))


@app.command("verify")
def verify(name: Name = None, data_dir: DataDir = None) -> None:
    """Compute all checksums anew; fails where one is wrong.

    Example: python -m bench data verify mnist
    """
    own.root(data_dir)
    failed = []
    for each in _names(name):
        failed += [
            f"{path}: md5 {cache.md5(path) or 'not to be had, a damaged .gz'}, not"
            f" {DATASETS[each].files[path.name]}: run `python -m bench data get {each}` to get it anew."
            for path in cache.wrong(each)
        ]
        try:
            here = [found for found in (own.search(each, data_dir)[0], cache.load(each)) if found]
        except InputError as error:
            failed.append(str(error))
            continue
        for found in here:
            kind = "sha256, nothing to compare it with," if DATASETS[each].own else "md5 as published,"
            typer.echo(f"{each}: {_places(found)} ({found.source}): {kind} {found.checksum}")
        if name and not here and not failed:
            raise InputError(f"{each}: not here: {_how(each)}.")
    if failed:
        raise InputError(" ".join(failed))


def _names(name: str | None) -> list[str]:
    if name is not None and name not in DATASETS:
        raise unknown_name("data set", name, DATASETS)
    return [name] if name else list(DATASETS)


def _row(name: str, data_dir: Path | None) -> dict:
    dataset = DATASETS[name]
    try:
        found, fault = find(name, data_dir), None
    except InputError as error:  # a wrong file of the user's: the other sets are listed all the same
        found, fault = None, str(error)
    return {
        "name": name,
        "what": dataset.what,
        "found": _places(found) if found else None,
        "source": found.source if found else None,
        "checksum": found.checksum if found else None,
        "how": fault or _how(name),
        "licence": dataset.licence,
        "citation": dataset.citation,
    }


def _places(found: Found) -> str:
    return ", ".join(sorted({str(path.parent) for path in found.files.values()}))


def _obtainable(name: str, download: bool) -> bool:
    data = DATASETS[name]
    return bool(data.packages or data.indexes or (download and data.addresses))


def _how(name: str) -> str:
    if DATASETS[name].own:
        files = " or ".join(" and ".join(files) for files in DATASETS[name].own)
        return f"put {files} in a folder and pass --data-dir"
    option = "" if _obtainable(name, download=False) else " --download"
    return f"get it with `python -m bench data get {name}{option}`"
