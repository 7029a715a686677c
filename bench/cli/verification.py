"""The command `python -m bench verify`."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from bench.cli.options import DataDir, Json, Out, Source, Workers


def verify(
    sweeps: Annotated[list[str] | None, typer.Argument(help="Names of sweeps; default all that have results.")] = None,
    points: Annotated[int, typer.Option(help="Number of runs to draw.")] = 20,
    minutes: Annotated[
        float, typer.Option(help="Time that all of them may take; runs that would take longer are not drawn.")
    ] = 2.0,
    seed: Annotated[int, typer.Option(help="Seed of the draw.")] = 0,
    scale: Annotated[str, typer.Option(help="smoke, laptop or paper.")] = "laptop",
    results: Out = Path("results"),
    workers: Workers = "auto",
    as_json: Json = False,
    data_dir: DataDir = None,
    source: Source = None,
) -> None:
    """Run some of the finished runs again, drawn at random, and compare the results row by row.

    Nothing is changed. The exit status is 1 where a run does not come out as it was.

    Example: python -m bench verify --points 50 --minutes 20
    """
    from bench.data.files import DataFiles
    from bench.execution.run import use_compilation_cache
    from bench.papers import SWEEPS
    from bench.verification.verify import in_words
    from bench.verification.verify import verify as verified

    use_compilation_cache()
    found = verified(
        SWEEPS,
        sweeps or [],
        scale,
        results,
        points=points,
        minutes=minutes,
        seed=seed,
        workers=workers,
        data_files=DataFiles(data_dir, source),
    )
    print(json.dumps(found.as_dict(), indent=2) if as_json else in_words(found, seed))
    if found.failures:
        print("some results do not come out as they were", file=sys.stderr)
        raise typer.Exit(1)
