"""Draws finished runs at random from a folder of results."""

from collections.abc import Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from bench.store.complete_runs import made_on_cpus
from bench.store.part_files import IDENTITY, UnusablePart, parts_in, read_part, readable_parts, shape

SLOWDOWN = 25.0  # how much longer a run takes by itself than its share of many trained together, at most: ppsgd_longer
LEAST_S = 5.0  # of making a run's data and compiling its program, for which recorded times are those of a warm cache
LARGEST_SHARE = 0.25  # share of all the time that a single run may take
ATTEMPTS = 5  # draws per run that is wanted, after which too few are short enough


class Run(NamedTuple):
    """A finished run.

    sweep: its name.
    algorithm: in the sweep's legend.
    point: id in the rows.
    trial, seed: repetition.
    rows: one per evaluation, in order.
    seconds: that running it again will take, from the times in its rows; compiling included.
    """

    sweep: str
    algorithm: str
    point: str
    trial: int
    seed: int
    rows: pd.DataFrame
    seconds: float

    @property
    def first(self) -> dict[str, Any]:
        """The first row, without the columns that it has no value in."""
        row = self.rows.iloc[0]
        return {str(name): value for name, value in row.items() if not (isinstance(value, float) and np.isnan(value))}


class Folder:
    """The finished runs of one sweep, of which a part is read when a run is drawn from it.

    Args:
        path: of the sweep at one scale.
    """

    def __init__(self, path: Path):
        self.path, self.name = path, path.name
        self.parts = parts_in(path)
        self.read = cache(read_part)

    @cached_property
    def sizes(self) -> np.ndarray:
        """Rows of each part; 0 of a file that is no table, so that nothing is drawn from it."""
        return np.array([shape(part)[0] for part in self.parts], float)

    def draw(self, rng: np.random.Generator) -> Run:
        """Return one run, with a probability in proportion to its number of rows.

        Raises:
            UnusablePart: where its part is damaged or foreign.
        """
        part = self.parts[rng.choice(len(self.parts), p=self.sizes / self.sizes.sum())]
        table = self.read(part)
        row = table.slice(int(rng.integers(len(table))), 1)
        point, trial, seed = run = tuple(row[name][0].as_py() for name in IDENTITY)
        masks = [table[name].to_numpy(zero_copy_only=False) == value for name, value in zip(IDENTITY, run, strict=True)]
        rows = table.filter(pa.array(np.logical_and.reduce(masks))).to_pandas().sort_values("rounds", ignore_index=True)
        first = rows.iloc[0]
        chunk_size = max(1.0, _number(first.get("points_per_chunk")))
        seconds_alone = min(SLOWDOWN, chunk_size) * _number(first.get("wall_s"))
        seconds = max(LEAST_S, _number(first.get("compile_s"))) + seconds_alone
        return Run(self.name, str(first["algorithm"]), point, trial, seed, rows, seconds)

    def repetitions(self, run: Run) -> pd.DataFrame:
        """Return the rows of all repetitions of a run's point."""
        tables = [
            table.filter(pa.array(table["point"].to_numpy(zero_copy_only=False) == run.point)).to_pandas()
            for _, table in readable_parts(self.path, [])
        ]
        return pd.concat(tables, ignore_index=True)


class Sample(NamedTuple):
    """A random selection of finished runs.

    runs: drawn, in the order in which they were drawn.
    damaged: what is wrong with files from which a run was to be drawn, a sentence each.
    too_long: runs that were drawn, but were left out since they take longer than the time that was left.
    accelerated: runs that were drawn, but were left out since a GPU or TPU made them, whose products of matrices are
        rounded to fewer digits.
    seconds: that all runs will take together, on one core.
    """

    runs: list[Run]
    damaged: list[str]
    too_long: int
    accelerated: int
    seconds: float


def draw(folders: Sequence[Folder], num: int, seconds: float, seed: int) -> Sample:
    """Draw runs until there are enough of them, all sweeps in turn and in random order.

    Args:
        folders: of the sweeps to draw from, each with at least one row.
        num: runs wanted.
        seconds: of computing, on one core, that all of them may take together, and one of them a quarter of.
        seed: of the draw.
    """
    rng = np.random.default_rng(seed)
    runs, damaged, too_long, accelerated, seconds_left = {}, {}, 0, 0, seconds
    order: list[int] = []
    for _ in range(ATTEMPTS * num):
        if len(runs) == num or seconds_left < LEAST_S:
            break
        order = order or rng.permutation(len(folders)).tolist()
        folder = folders[order.pop()]
        try:
            run = folder.draw(rng)
        except UnusablePart as error:
            damaged[str(error)] = None
            continue
        key = (run.sweep, run.point, run.trial, run.seed)
        if key in runs:
            continue
        if not made_on_cpus(run.rows).all():
            accelerated += 1
            continue
        if run.seconds > min(seconds_left, LARGEST_SHARE * seconds):
            too_long += 1
            continue
        runs[key], seconds_left = run, seconds_left - run.seconds
    return Sample(list(runs.values()), list(damaged), too_long, accelerated, seconds - seconds_left)


def _number(value: Any) -> float:
    return float(value) if value is not None and np.isfinite(value) else 0.0
