"""Options that several commands have, the parsing of paths, and the version."""

import importlib.metadata
import tomllib
from pathlib import Path
from typing import Annotated

import typer
from typer.core import TyperGroup

PACKAGE = "private-federated-bench"


class Commands(TyperGroup):
    """A group of commands; without a command it prints its help."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, args or ["--help"])


def path(text: str | Path) -> Path:
    """Parse a path given on the command line; use as `typer.Option(parser=path)`.

    Raises:
        typer.BadParameter: for an empty text, which would mean the current folder.
    """
    if not str(text):
        raise typer.BadParameter("the path is empty: give a path, such as . for the current folder")
    return Path(text)


Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def version() -> str:
    """Return the version of the installed package, or of the source folder that is in use."""
    try:
        return importlib.metadata.version(PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        pyproject = Path(__file__).parents[2] / "pyproject.toml"
        return tomllib.loads(pyproject.read_text())["project"]["version"] if pyproject.is_file() else "unknown"


def _print_version(requested: bool) -> None:
    if requested:
        print(PACKAGE, version())
        raise typer.Exit


Version = Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")]
