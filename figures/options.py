"""Options shared by several commands."""

from pathlib import Path
from typing import Annotated

import typer

from bench.cli import path as given_path

Names = Annotated[list[str] | None, typer.Argument(help="Names of figures; default all.")]
Papers = Annotated[list[str] | None, typer.Argument(help="Short names of papers; default all.")]
Nothing = Annotated[list[str] | None, typer.Argument(hidden=True)]
Results = Annotated[Path, typer.Option(parser=given_path, metavar="PATH", help="Results folder.")]
Scale = Annotated[str | None, typer.Option(help="smoke, laptop or paper; default the largest with results.")]
Folder = Annotated[
    Path | None,
    typer.Option(parser=given_path, metavar="PATH", help="Folder to write to; default figures/ next to the results."),
]
Page = Annotated[
    Path | None,
    typer.Option(
        parser=given_path,
        metavar="PATH",
        help="File to write; default index.html in report/ or board/ of the results folder.",
    ),
]
Tune = Annotated[
    str, typer.Option(help="For figures that show both: tuned as in the `paper`, on `validation` data, or `both`.")
]
