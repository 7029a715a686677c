"""Options shared by several commands, and the order in which they may be given."""

from pathlib import Path
from typing import Annotated

import typer
from typer.core import TyperGroup

from bench.cli.exits import path as given_path

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
Width = Annotated[
    float | None,
    typer.Option(
        metavar="INCHES",
        help="Only a PDF of this width for LaTeX, text of 8 points, no title and footer: ICML's page has 6.75.",
    ),
]

DRAW = "draw"  # the default command


class DrawByDefault(TyperGroup):
    """The group of commands; `draw` is the default command, and options may precede the command."""

    def parse_args(self, ctx, args: list[str]) -> list[str]:
        if args[:1] in (["--help"], ["--version"]):
            return super().parse_args(ctx, args)
        place = first_argument(args)
        if place is not None and args[place] in self.commands:
            args = [args[place], *args[:place], *args[place + 1 :]]
        else:
            args = [DRAW, *args]
        return super().parse_args(ctx, args)


def first_argument(args: list[str]) -> int | None:
    """The index of the first argument that is neither an option nor its value; all options except --help take one."""
    place = 0
    while place < len(args):
        if not args[place].startswith("-"):
            return place
        place += 1 if "=" in args[place] or args[place] == "--help" else 2
    return None
