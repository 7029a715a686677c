"""Finds the runs of sweeps and their scale, and names the command that makes them."""

from collections.abc import Collection, Sequence
from pathlib import Path

import pandas as pd

from bench.errors import InputError
from bench.store import part_files

SCALES = ("paper", "laptop", "smoke")  # the largest first: the default is the largest with results
COMMITTED = "laptop"
REPOSITORY = Path(__file__).parents[2] / "results"  # there only where the suite runs from the project's repository
IN_REPOSITORY = f"those of scale {COMMITTED} are in the project's repository, folder results"


def runs_of(
    results: Path, scale: str | None, sweeps: Sequence[str], without: Collection[str] = ()
) -> tuple[pd.DataFrame, Path] | None:
    """The runs of sweeps at the scale, or at the largest scale with results, and the folder of that scale.

    Sweeps without results are skipped; None where no sweep has results. Without a sweep, as for a table of formulas,
    the table is empty. The columns `without` are left out.
    """
    if not sweeps:
        return pd.DataFrame(), folder_of(results, scale)
    folder = first_with(folders_of(results, scale), sweeps)
    return None if folder is None else (read(folder, sweeps, without), folder)


def first_with(folders: Sequence[Path], sweeps: Sequence[str]) -> Path | None:
    """The first of the folders of scales that has results of one of the sweeps."""
    return next((folder for folder in folders if any(part_files.parts_in(folder / name) for name in sweeps)), None)


def read(
    folder: Path, sweeps: Sequence[str], without: Collection[str] = (), only: Collection[str] | None = None
) -> pd.DataFrame:
    """The runs of those of the sweeps that have results in the folder of a scale; columns as of `part_files.read`."""
    paths = [folder / name for name in sweeps if part_files.parts_in(folder / name)]
    return pd.concat([part_files.read(path, without, only) for path in paths], ignore_index=True)


def folder_of(results: Path, scale: str | None) -> Path:
    """The folder of the scale, or of the largest scale that exists."""
    folders = folders_of(results, scale)
    return next((folder for folder in folders if folder.is_dir()), folders[0])


def folders_of(results: Path, scale: str | None) -> list[Path]:
    """The folder of the scale, or those of all scales, the largest first."""
    return [results / name for name in ([scale] if scale else SCALES)]


def no_results(results: Path, scale: str | None, sweeps: Sequence[str]) -> InputError:
    """The error where none of the sweeps has results: says how to make them, or where to find them."""
    committed = scale == COMMITTED and not (results / COMMITTED).is_dir()  # as where the suite is installed
    return InputError(
        f"no results of {' '.join(sweeps)} in {results}: first run `{command(results, scale, sweeps)}`"
        + (f", or give --results; {IN_REPOSITORY}" if committed else "")
    )


def nothing_in(results: Path, scale: str | None, said: str) -> InputError:
    """The error where there are no results at all. `said`: what is missing, the beginning of the message."""
    committed = scale in (None, COMMITTED) and not (results / COMMITTED).is_dir()
    return InputError(
        f"{said} in {results}: first run `{command(results, scale, ['all'])}`, or choose --results"
        + (f"; {IN_REPOSITORY}" if committed else "")
    )


def command(results: Path, scale: str | None, sweeps: Sequence[str]) -> str:
    """The command that makes the sweeps' results at the scale; options with default values are left out."""
    options = {"--scale": (scale or "smoke", "smoke"), "--out": (results, Path("results"))}
    written = [f" {option} {value}" for option, (value, default) in options.items() if value != default]
    return f"python -m bench run {' '.join(sweeps)}{''.join(written)}"
