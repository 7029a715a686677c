"""Draws figures from folders of runs over a user's own values."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib.figure
import pandas as pd

from bench.analysis import style
from bench.errors import InputError
from bench.store import part_files
from bench.store.requests import GridRequest, read_request
from bench.sweeps.condition import condition
from figures.shared.checks import said
from figures.shared.figure import Figure, picture, save


def read(folders: Sequence[Path], where: str | None) -> tuple[pd.DataFrame, list[GridRequest]]:
    """Return the runs in folders, by the name of the changed sweep, and the requests.

    Args:
        folders: of runs, one for each sweep of the figure.
        where: only these rows, a condition on their columns.

    Raises:
        InputError: where a folder has no runs, or the condition selects none.
    """
    tables, requests = [], []
    for place, folder in enumerate(folders):
        if folder.resolve() in [other.resolve() for other in folders[:place]]:
            raise InputError(f"--runs {folder} is given twice: its repetitions would count twice, leave one out")
        if not part_files.parts_in(folder):
            raise InputError(
                f"--runs {folder} {'has no results' if folder.is_dir() else 'is not a folder'}: give the folder that "
                "`python -m bench run SWEEP --grid ...` prints, such as results/smoke/NAME"
            )
        rows, request = part_files.read(folder), read_request(folder)
        if request is not None:
            rows, requests = rows.assign(sweep=request.sweep), [*requests, request]
        tables.append(rows)
    runs = pd.concat(tables, ignore_index=True)
    if where is not None:
        try:
            runs = runs[condition(where, runs)].reset_index(drop=True)
        except InputError as error:
            raise InputError(f"--where {where!r} cannot be evaluated on these runs: {error}") from None
        if runs.empty:
            raise InputError(f"--where {where!r} selects none of the runs: widen the condition")
    return runs, requests


def adapted(name: str, figure: Figure, runs: pd.DataFrame, requests: Sequence[GridRequest]) -> Figure:
    """Adapt the panels and curves of a figure to these runs, where it supports that.

    Raises:
        InputError: where the runs are of another sweep, or differ in a column that the figure would average over.
    """
    others = sorted(set(runs["sweep"]) - set(figure.sweeps))
    if others:
        raise InputError(f"{name} shows {' '.join(figure.sweeps)}, not {' '.join(others)}: choose another figure")
    for request in requests:
        mine = runs[runs["sweep"] == request.sweep]
        for column in request.grid:
            several = present(mine, column)
            if len(several) > 1 and column not in (*figure.apart, *figure.tuned):
                raise InputError(
                    f"{name} does not tell {column} = {words(several)} apart: choose one by --where "
                    f'"{column} == {several[0]!r}"'
                )
    return figure.own(runs) if figure.own else figure


def present(runs: pd.DataFrame, column: str) -> list:
    """Return the values of a column that occur in the runs, in order."""
    return sorted(runs[column].dropna().unique().tolist()) if column in runs else []


def words(several: Sequence) -> str:
    """Return values as text."""
    return ", ".join(map(said, several))


def not_shown(name: str, figure: Figure, runs: pd.DataFrame, table: pd.DataFrame, requests: Sequence[GridRequest]):
    """Return a line for each column with values that the figure does not show."""
    lines = []
    for request in requests:
        mine = runs[runs["sweep"] == request.sweep]
        for column in request.grid:
            if column in figure.tuned or column not in table:
                continue
            missing = sorted(set(present(mine, column)) - set(table[column].dropna()))
            if missing:
                lines.append(f"{name} does not show {column} = {words(missing)}")
    return lines


def say_own(drawing: matplotlib.figure.Figure, requests: Sequence[GridRequest]) -> None:
    """Write above a figure that its values are not those of the published sweep."""
    listed = []
    for request in requests:
        columns = [f"{name} = {words(values)}" for name, values in request.grid.items()]
        rounds = [f"{request.rounds} rounds"] if request.rounds else []
        listed.append(f"{request.sweep} with {'; '.join([*columns, *rounds])}")
    if listed:
        text = f"Own values, not the published grid: {'; '.join(listed)}."
        drawing.text(0.01, 1.01, text, fontsize=7.5, va="bottom")


def write(
    name: str,
    figure: Figure,
    folders: Sequence[Path],
    where: str | None,
    out: Path | None,
    width: float | None = None,
) -> tuple[Path, list]:
    """Draw a figure from folders of runs.

    Returns the path of the picture, and a line for each part of the runs that it does not show.

    Args:
        out: folder to write to; default figures/NAME beside the first folder, called NAME.
        width: in inches, of a PDF for print that is then the only file, and does not say that its values are own ones.

    Raises:
        InputError: where the figure cannot be made from them, or cannot be written.
    """
    runs, requests = read(folders, where)
    figure = adapted(name, figure, runs, requests)
    drawing, table = picture(figure, runs, width=width)
    first = folders[0] if folders[0].name not in ("", "..") else folders[0].resolve()
    folder = out or first.parent / "figures" / first.name
    if width is None:
        with style.applied():
            say_own(drawing, requests)
    path = save(name, figure, (drawing, table), folder, width)
    return path, not_shown(name, figure, runs, table, requests)
