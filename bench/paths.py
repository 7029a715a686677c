"""Paths as they are typed on a command line."""

from pathlib import Path

import typer


def path(text: str | Path) -> Path:
    """A path as it is typed; `typer.Option(parser=path)`.

    Raises:
        typer.BadParameter: for an empty one, which would be the current folder.
    """
    if not str(text):
        raise typer.BadParameter("it is empty: name a path, . for the current folder")
    return Path(text)
