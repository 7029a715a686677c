"""Parsing of paths given on the command line."""

from pathlib import Path

import typer


def path(text: str | Path) -> Path:
    """Parse a path given on the command line; use as `typer.Option(parser=path)`.

    Raises:
        typer.BadParameter: for an empty text, which would mean the current folder.
    """
    if not str(text):
        raise typer.BadParameter("the path is empty: give a path, such as . for the current folder")
    return Path(text)
