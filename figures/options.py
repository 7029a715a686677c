"""Options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

from bench.cli import path as given_path

Names = Annotated[list[str] | None, typer.Argument(help="Figures; default all.")]
Papers = Annotated[list[str] | None, typer.Argument(help="Short names of papers; default all.")]
Nothing = Annotated[list[str] | None, typer.Argument(hidden=True)]
Results = Annotated[Path, typer.Option(parser=given_path, metavar="PATH", help="Results folder.")]
Scale = Annotated[str | None, typer.Option(help="smoke, laptop or paper; default the largest there.")]
Folder = Annotated[
    Path | None,
    typer.Option(parser=given_path, metavar="PATH", help="Where to write; default figures/ beside the results."),
]
Page = Annotated[
    Path | None,
    typer.Option(
        parser=given_path, metavar="PATH", help="The file; default index.html in report/ or board/ of the results."
    ),
]
Tune = Annotated[
    str, typer.Option(help="Of figures that show both: tuned as in the `paper`, on `validation` data, or `both`.")
]
