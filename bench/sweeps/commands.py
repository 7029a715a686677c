"""The commands that look at results, join them, or hand them on: merge, status, export."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from bench.paths import path

DataDir = Annotated[
    Path | None, typer.Option(parser=path, metavar="PATH", help="Folder with data files that you have already.")
]
Download = Annotated[bool, typer.Option("--download", help="Allow downloads from official addresses.")]
Out = Annotated[Path, typer.Option(parser=path, metavar="PATH", help="Results folder.")]


def merge(
    folders: Annotated[
        list[Path], typer.Argument(parser=path, metavar="PATH", help="Folders of results, of a scale, or of a sweep.")
    ],
    out: Out = Path("results"),
    data_dir: DataDir = None,
    download: Download = False,
) -> None:
    """Copy results made elsewhere to the results here: each run checked, and once, in few files.

    The exit status is 1 where something was left out, which is named.

    Example: python -m bench merge elsewhere/results --out results
    """
    from bench.data.files import DataFiles
    from bench.sweeps.merge import merge as merged
    from bench.sweeps.run import use_compilation_cache

    use_compilation_cache()
    done, left_out, notes = merged(folders, out, DataFiles(data_dir, download))
    for one in done:
        now = f"{one.runs:,} runs in {one.parts:,} parts"
        print(f"{one.folder}: {one.added:,} runs added, {one.twice:,} there twice and dropped; now {now}")
    for note in notes:
        print(note, file=sys.stderr)
    for line in left_out:
        print(f"left out: {line}", file=sys.stderr)
    if left_out:
        raise typer.Exit(1)


def status(
    names: Annotated[list[str] | None, typer.Argument(help="Sweeps, or names of own folders; default all.")] = None,
    scale: Annotated[str, typer.Option(help="smoke, laptop or paper.")] = "smoke",
    out: Out = Path("results"),
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Check every part and every id; exit status 1 where something is wrong.")
    ] = False,
    predict: Annotated[
        bool, typer.Option("--predict", help="What all runs of these sweeps cost, on one machine and on many.")
    ] = False,
    users: Annotated[int | None, typer.Option(help="With --predict: users, in place of the sweep's.")] = None,
    points: Annotated[int | None, typer.Option(help="With --predict: points of each entry, the same.")] = None,
    data_dir: DataDir = None,
    download: Download = False,
) -> None:
    """What of the sweeps is there, what is missing, and how many core-hours that is. Changes nothing.

    Example: python -m bench status ppsgd_synthetic --scale laptop --predict --users 100000 --points 50
    """
    from bench.data.files import DataFiles
    from bench.sweeps import predict as predicting
    from bench.sweeps import predicted
    from bench.sweeps.status import statuses, written

    predicting.check(names or [], predict=predict, users=users, points=points)
    data_files = DataFiles(data_dir, download)
    found = statuses(names or [], scale, out, data_files, verified=verify)
    predictions = []
    if predict:
        predictions = predicting.predict(names or [], scale, out, data_files, users=users, points=points)
    if as_json:
        dicts = [one.as_dict() for one in found]
        for one in dicts if predict else []:
            one["predictions"] = [each.as_dict() for each in predictions if each.sweep == one["sweep"]]
        print(json.dumps(dicts, indent=2))
    else:
        print(written(found, by_entry=bool(names)))
        if predict:
            print("", predicted.written(predictions), sep="\n")
    problems = [line for one in found for line in one.problems]
    for line in problems:
        print(line, file=sys.stderr)
    if verify and problems:
        raise typer.Exit(1)


def export(
    folder: Annotated[Path, typer.Argument(help="Of a sweep, such as results/smoke/SWEEP, or of a comparison.")],
    to: Annotated[str, typer.Option(help="csv, mlflow, tensorboard or wandb.")] = "csv",
    out: Annotated[Path | None, typer.Option(help="New folder to write to; default exported/TO/FOLDER.")] = None,
) -> None:
    """Runs handed to another program: settings, and what was measured by round. Offline, after the run.

    Example: python -m bench export results/smoke/ppsgd_synthetic --to tensorboard
    """
    from bench.sweeps.export import export as exported

    where = out or Path("exported") / to / folder.resolve().name
    print(f"{exported(folder, to, where):,} runs in {where}")
