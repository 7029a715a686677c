"""The type of a figure or table."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from bench.analysis import style, tables
from bench.analysis.saving import save_picture, save_printed
from bench.errors import InputError, in_one_line, writing


class FigureError(InputError):
    """The code of a figure raised an exception, a mistake in it or in runs that this suite did not write."""


class Figure(NamedTuple):
    """A figure or table: the runs that it shows, the numbers computed from them, and how these are drawn.

    about: what it shows and what is expected, as a docstring; the first line is its title. None where Python removes
        docstrings (-OO).
    sweeps: the sweeps whose runs it shows; none for a table of formulas.
    table: runs -> the numbers; receives an empty table where there are no sweeps. Raises InputError where the runs do
        not suffice.
    draw: the numbers -> the figure; call it through `picture`, which sets the suite's style.
    printed: the numbers -> the cells of a printed table; None for a figure.
    apart: columns of the runs that it distinguishes.
    tuned: columns of the runs for which it only shows the best value.
    own: runs over a user's own values -> the figure with their panels and curves; None where the figure adapts to the
        runs without it, or has fixed panels.
    """

    about: str | None
    sweeps: tuple[str, ...]
    table: Callable[[pd.DataFrame], pd.DataFrame]
    draw: Callable[[pd.DataFrame], style.Sheet]
    printed: Callable[[pd.DataFrame], pd.DataFrame] | None = None
    apart: tuple[str, ...] = ()
    tuned: tuple[str, ...] = ()
    own: "Callable[[pd.DataFrame], Figure] | None" = None

    @property
    def _words(self) -> str:
        return self.about or ""

    @property
    def title(self) -> str:
        """The first line of `about`."""
        return self._words.strip().partition("\n")[0]

    @property
    def caption(self) -> str:
        """The rest of `about`, as one line."""
        return " ".join(self._words.strip().partition("\n")[2].split())

    @property
    def alt(self) -> str:
        """The alternative text: what the image shows, without what to expect of it."""
        shown = " ".join(part for part in (self.title, self.caption.partition("Expected")[0].strip()) if part)
        return shown.replace("`", "")

    def picture(self, table: pd.DataFrame, width: float | None = None) -> style.Sheet:
        """Draw the numbers in the suite's style, independently of the caller's matplotlib settings, which are kept.

        Args:
            table: the figure's numbers.
            width: in inches, for print, without title and footer; None for the figure's own width.
        """
        with style.applied(width):
            return self.draw(table)


def save(
    name: str,
    figure: Figure,
    made: tuple[style.Sheet, pd.DataFrame],
    folder: Path,
    width: float | None = None,
) -> Path:
    """Save a picture, its numbers and, of a table, the cells as Markdown and LaTeX; with a width only a PDF for print.

    Args:
        name: of the files.
        figure: what is shown.
        made: its drawing and its numbers, as of `picture`.
        folder: where the files go.
        width: in inches, for print.

    Returns:
        The path of the picture.

    Raises:
        InputError: where a file cannot be written.
    """
    drawing, table = made
    with writing(folder):
        if width is not None:
            return save_printed(drawing, folder, name, figure.alt)
        path = save_picture(drawing, table, folder, name, figure.alt)[0]
        if figure.printed:
            tables.save(figure.printed(table), folder, name)
    return path


def picture(figure: Figure, runs: pd.DataFrame, width: float | None = None) -> tuple[style.Sheet, pd.DataFrame]:
    """Return a figure, for print where it has a width, and the numbers that it shows.

    Args:
        figure: the figure to draw.
        runs: the runs of its sweeps.
        width: in inches.

    Raises:
        InputError: where the figure cannot be made from these runs.
        FigureError: where its code raises another exception.
    """
    try:
        table = figure.table(runs)
        return figure.picture(table, width), table
    except InputError:
        raise
    except Exception as error:  # caught so that the other figures are drawn
        raise FigureError(
            f"its code fails, {in_one_line(error)}: report this, or remove runs that this suite did not write"
        ) from error
