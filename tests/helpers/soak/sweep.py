"""The sweep that the soak runs, and what its results must be."""

from pathlib import Path

import pandas as pd
from tiny_sweeps import EVERY, KEY, ROUNDS, walks

from bench.papers import SWEEPS
from bench.store import part_files

POINTS = 40
RUNS = POINTS * 2  # two seeds
WORDS = ("run", "soak", "--chunk", "3", "--workers", "1")
OF_THE_MOMENT = ["wall_s", "compile_s", "date", "commit"]  # columns that are no result


def prepare() -> None:
    """Import what a run imports, and name the sweep; nothing of XLA is started."""
    import bench.api.runs
    import bench.cli.app
    import bench.execution.chosen
    import bench.execution.run  # noqa: F401

    steps = [round(0.01 * (place + 1), 2) for place in range(POINTS)]
    SWEEPS["soak"] = lambda scale: walks(steps=steps)._replace(name="soak")


def folder(out: Path) -> Path:
    """Where the results are."""
    return out / "smoke" / "soak"


def parts(out: Path) -> set[str]:
    """Names of the parts, each of which has a digest of its content."""
    return {path.name for path in folder(out).glob("part-*.parquet")}


def rows(out: Path) -> pd.DataFrame:
    """All rows in an order of their own, without what is no result."""
    table = part_files.read(folder(out)).sort_values(KEY, ignore_index=True)
    return table.drop(columns=[name for name in OF_THE_MOMENT if name in table])


def wrong(out: Path) -> list[str]:
    """What is wrong with the results so far: parts that are not whole, runs that are there twice."""
    if not parts(out):
        return []
    try:
        found = rows(out)
    except Exception as error:
        return [f"{type(error).__name__}: {error}"]
    sizes = found.groupby(KEY[:-1]).size()
    broken = sizes[sizes != 1 + ROUNDS // EVERY]
    return [f"{len(broken)} runs have not {1 + ROUNDS // EVERY} rows"] if len(broken) else []


def differs(out: Path, reference: pd.DataFrame, *, exactly: bool) -> list[str]:
    """Whether complete results are those of a run that nothing disturbed: bit for bit, or but for rounding."""
    here = rows(out)
    if not exactly:
        here, reference = (table.drop(columns="points_per_chunk") for table in (here, reference))
    try:
        pd.testing.assert_frame_equal(here, reference, check_exact=exactly, **({} if exactly else {"rtol": 1e-5}))
    except AssertionError as error:
        return [" ".join(str(error).split())]
    return []
