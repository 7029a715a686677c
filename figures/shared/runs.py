"""Finds the runs of sweeps and their scale, and names the command that makes them."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from bench.errors import InputError
from bench.store import KEPT, SMOKE, kind_of, part_files
from figures.shared.derived import derived
from figures.shared.margins import need

pa.set_memory_pool(pa.system_memory_pool())  # the default one asks for huge pages, which takes as long as reading
REPOSITORY = Path(__file__).parents[2] / "results"  # there only where the suite runs from the project's repository
# Columns of the runs that no figure and no claim reads; leaving them out saves a third of the data in every selection.
UNREAD = frozenset(
    {"checksum", "date", "jax_version", "jaxlib_version", "python_version", "device", "version"}
    | {"wall_s", "compile_s", "points_per_chunk"}
)
# Text as categories is selected and grouped several times as fast. Pandas 2 has groups for categories without rows.
AS_CATEGORIES = int(pd.__version__.partition(".")[0]) >= 3
WHOLE = "run the whole sweep, without --where"
IN_REPOSITORY = "the committed ones are in the project's repository, folder results"


def runs_of(
    results: Path, scale: str | None, sweeps: Sequence[str], without: Collection[str] = ()
) -> tuple[pd.DataFrame, Path] | None:
    """Return the runs of sweeps, and the folder that they are in: that of the scale, or the first with results.

    Sweeps without results are skipped; None where no sweep has results. Without a sweep, as for a table of formulas,
    the table is empty. The columns `without` are left out.
    """
    folders = folders_of(results, scale)
    folder = first_with(folders, sweeps)
    if not sweeps:
        return pd.DataFrame(), folder or folders[0]
    return None if folder is None else (read(folder, sweeps, without), folder)


def first_with(folders: Sequence[Path], sweeps: Sequence[str]) -> Path | None:
    """Return the first of the folders that has results of one of the sweeps; without a sweep, that exists."""
    if not sweeps:
        return next((folder for folder in folders if folder.is_dir()), None)
    return next((folder for folder in folders if any(part_files.parts_in(folder / name) for name in sweeps)), None)


def read(
    folder: Path, sweeps: Sequence[str], without: Collection[str] = (), only: Collection[str] | None = None
) -> pd.DataFrame:
    """Return the runs of those of the sweeps that have results in a folder; columns as of `part_files.read`."""
    paths = [folder / name for name in sweeps if part_files.parts_in(folder / name)]
    return together([part_files.read(path, without, only, categories=AS_CATEGORIES) for path in paths])


def places_of(sweeps: Sequence[str], folders: Sequence[Path]) -> dict[str, Path]:
    """Return for each sweep the first of the folders that has results of it; a sweep without results is left out."""
    return {sweep: folder for sweep in sweeps if (folder := first_with(folders, [sweep]))}


def together(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return the rows of several sweeps in one table, with the categories of all in the columns of text."""
    if len(tables) == 1:
        return tables[0]
    text = dict.fromkeys(
        str(name) for table in tables for name, kind in table.dtypes.items() if isinstance(kind, pd.CategoricalDtype)
    )
    known = {name: [table[name] for table in tables if name in table] for name in text}
    categories = {
        name: sorted({value for column in columns for value in column.cat.categories})
        for name, columns in known.items()
    }
    tables = [
        table.assign(**{name: table[name].cat.set_categories(categories[name]) for name in text if name in table})
        for table in tables
    ]
    return pd.concat(tables, ignore_index=True)


def folders_of(results: Path, scale: str | None) -> list[Path]:
    """Return the folder of the scale; without one that of all results, and then that of smoke runs."""
    return [results / name for name in ([kind_of(scale)] if scale else (KEPT, SMOKE))]


def no_results(results: Path, scale: str | None, sweeps: Sequence[str], missing: str = "") -> InputError:
    """Return the error where none of the sweeps has results, with how to make them or where to find them. missing: what
    is missing, in words; the sweeps' results where empty."""
    committed = scale != SMOKE and not (results / KEPT).is_dir()  # as where the suite is installed
    missing = missing or f"no results of {' '.join(sweeps)}"
    return InputError(
        f"{missing} in {results}: first run `{command(results, scale, sweeps)}`, or choose --results"
        + (f"; {IN_REPOSITORY}" if committed else "")
    )


def command(results: Path, scale: str | None, sweeps: Sequence[str]) -> str:
    """Return the command that makes the sweeps' results at the scale; options with default values are left out."""
    scale = "laptop" if scale == KEPT else scale or SMOKE
    options = {"--scale": (scale, SMOKE), "--out": (results, Path("results"))}
    written = [f" {option} {value}" for option, (value, default) in options.items() if value != default]
    return f"python -m bench run {' '.join(sweeps)}{''.join(written)}"


def matching(rows: pd.DataFrame, **values: Any) -> np.ndarray:
    """Return a mask of the rows with these values; a list allows any of its values. A row without the column does not
    match."""
    columns = {name: rows[name] if name in rows else pd.Series(np.nan, rows.index) for name in values}
    return np.logical_and.reduce(
        [columns[name].isin(value if isinstance(value, list) else [value]) for name, value in values.items()]
    )


def not_empty(rows: pd.DataFrame, missing: str) -> pd.DataFrame:
    """Return the rows, which must be there.

    Raises:
        NotTestable: where there are none; `missing` says what is missing.
    """
    need(len(rows), missing)
    return rows


def runs_with(runs: pd.DataFrame, **values: Any) -> pd.DataFrame:
    """Return the runs with these values; a list allows any of its values.

    Raises:
        NotTestable: where there are none.
    """
    condition = ", ".join(f"{name} = {value}" for name, value in values.items())
    sweep = " ".join(runs["sweep"].unique())
    return not_empty(runs[matching(runs, **values)], f"no run of {sweep} with {condition}: {WHOLE}")


def ended(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs after their last round, of which there may be none."""
    return runs[runs["rounds"] == runs["num_rounds"]]


@derived
def at_end(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs after their last round.

    Raises:
        NotTestable: where there are none.
    """
    return not_empty(ended(runs), f"no run has reached its last round: {WHOLE}")
