"""Which share of the published grids of Bietti et al. 2022, and of the tables of Bhaskar et al. 2025, has been run."""

from pathlib import Path

import pandas as pd

from bench.errors import InputError
from bench.papers import SWEEPS
from bench.papers.ppsgd import norm_shown
from bench.store import part_files
from figures.pfl.common import TABLES
from figures.ppsgd.common import PUBLISHED
from figures.shared.runs import AS_CATEGORIES, ended

GRIDS = {
    "1a, generated data": "ppsgd_synthetic",
    "1b and 2, tags": "ppsgd_tags",
    "1b and 2, generated documents": "ppsgd_tags_made_up",
    "1c and 2, digits": "ppsgd_digits",
    "1d and 2, network": "ppsgd_cnn",
}
TUNED = {"alpha": "personalization", "sigma": "noise_multiplier", "steps": "step_size"}
LEGENDS = tuple(f"legend_{name}" for name in TUNED.values())
READ = ("delta_std", "clip_norm", "rounds", "num_rounds", *TUNED.values(), *LEGENDS)  # besides what identifies a run
PAPER = "paper"  # the scale with the published grid


def of_grids(folder: Path) -> pd.DataFrame:
    """Return a row for each figure of Bietti et al.: the number of published values that were run at the clipping norm
    shown, and the share of their combinations. folder: of a scale.

    Raises:
        InputError: where a sweep has no results.
    """
    rows = []
    for figure, sweep in GRIDS.items():
        grid = SWEEPS[sweep](PAPER).entries[PUBLISHED].points
        names = {word: f"legend_{name}" if f"legend_{name}" in grid else name for word, name in TUNED.items()}
        norm = norm_shown(sweep)
        asked = grid[grid["clip_norm"] == norm]
        runs = _finished(folder, sweep)
        found = runs[(runs["algorithm"] == PUBLISHED) & (runs["clip_norm"] == norm)]
        columns = [*names.values(), *(name for name in ("delta_std",) if name in asked)]
        published = _combinations(asked, columns)
        cells = {word: _values_run(found, asked, name) for word, name in names.items()}
        cells["clipping norms"] = _values_run(runs, grid, "clip_norm")
        done = len(published & _combinations(found, columns))
        seeds = f"{found.groupby('point', observed=True)[['trial', 'seed']].nunique().max(axis=1).max()}"
        rows.append({"figure": figure} | cells | {"share": _percent(done, len(published)), "repetitions": seeds})
    return pd.DataFrame(rows)


def of_tables(folder: Path) -> pd.DataFrame:
    """Return a row for each table of Bhaskar et al.: the number of its cells that were run, and of those with ten runs,
    as published.

    Raises:
        InputError: where a table was not drawn.
    """
    rows = []
    for name in TABLES:
        path = folder / "figures" / f"{name}.csv"
        if not path.is_file():
            raise InputError(f"{path} is missing: run `python -m figures {name}`")
        cells = pd.read_csv(path)
        cells = cells[cells["program"].isna()] if "program" in cells else cells
        done, full = int((cells["repetitions"] > 0).sum()), int((cells["repetitions"] >= 10).sum())
        seeds = cells.loc[cells["repetitions"] > 0, "repetitions"].astype(int)
        run = {"cells": f"{done} of {len(cells)}", "share": _percent(done, len(cells))}
        run |= {"with ten runs, as published": f"{full}", "repetitions": f"{seeds.min()} to {seeds.max()}"}
        rows.append({"table": name[-1]} | run)
    return pd.DataFrame(rows)


def _finished(folder: Path, sweep: str) -> pd.DataFrame:
    if not part_files.parts_in(folder / sweep):
        raise InputError(f"{folder / sweep} has no results: run `python -m bench run {sweep} --scale {folder.name}`")
    rows = part_files.read(folder / sweep, only=READ, categories=AS_CATEGORIES)
    return ended(rows)


def _values_run(runs: pd.DataFrame, grid: pd.DataFrame, name: str) -> str:
    asked = _combinations(grid, [name])
    return f"{len(_combinations(runs, [name]) & asked)} of {len(asked)}"


def _combinations(table: pd.DataFrame, columns: list[str]) -> set[tuple[float, ...]]:
    """Return the combinations of values to nine digits, in which those of runs and of grids agree."""
    unique = table[columns].drop_duplicates()
    return {tuple(float(f"{value:.9g}") for value in row) for row in unique.itertuples(index=False)}


def _percent(run: int, published: int) -> str:
    return f"{100 * run / published:.0f} %"
