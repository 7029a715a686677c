"""The commands that inspect and merge results: status, merge."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from bench.cli.options import DataDir, Json, Out, Source, path


def merge(
    folders: Annotated[
        list[Path], typer.Argument(parser=path, metavar="PATH", help="Folders of results, of a scale, or of a sweep.")
    ],
    out: Out = Path("results"),
    data_dir: DataDir = None,
    source: Source = None,
) -> None:
    """Copy results made elsewhere into a results folder: checked, without duplicates, and in few files.

    Whatever cannot be used is left out and named, and the exit status is then 1.

    Example: python -m bench merge elsewhere/results --out results
    """
    from bench.data.files import DataFiles
    from bench.execution.run import use_compilation_cache
    from bench.papers import SWEEPS
    from bench.upkeep.merge import merge as merged

    use_compilation_cache()
    done, left_out, notes = merged(SWEEPS, folders, out, DataFiles(data_dir, source))
    for target in done:
        now = f"{target.runs:,} runs in {target.parts:,} parts"
        print(f"{target.folder}: {target.added:,} runs added, {target.twice:,} duplicates dropped; now {now}")
    for note in notes:
        print(note, file=sys.stderr)
    for line in left_out:
        print(f"left out: {line}", file=sys.stderr)
    if left_out:
        raise typer.Exit(1)


def status(
    names: Annotated[
        list[str] | None, typer.Argument(help="Names of sweeps, or of folders with your own values; default all.")
    ] = None,
    scale: Annotated[str, typer.Option(help="smoke, laptop or paper.")] = "smoke",
    out: Out = Path("results"),
    as_json: Json = False,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify", help="Check every part file and every id; the exit status is 1 where something is wrong."
        ),
    ] = False,
    data_dir: DataDir = None,
    source: Source = None,
) -> None:
    """Show which runs of the sweeps are finished or missing, and the core-hours left. Changes nothing.

    Example: python -m bench status ppsgd_synthetic --scale laptop
    """
    from bench.data.files import DataFiles
    from bench.papers import SWEEPS
    from bench.upkeep.status import statuses, written

    found = statuses(SWEEPS, names or [], scale, out, DataFiles(data_dir, source), verified=verify)
    if as_json:
        print(json.dumps([status.as_dict() for status in found], indent=2))
    else:
        print(written(found, by_entry=bool(names)))
    problems = [line for status in found for line in status.problems]
    for line in problems:
        print(line, file=sys.stderr)
    if verify and problems:
        raise typer.Exit(1)
