"""Where the runs of a sweep are, at which scale, and the command that makes them."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from bench.errors import InputError
from bench.sweeps import store

SCALES = ("paper", "laptop", "smoke")  # the largest first: the default is the largest that is there


def runs_of(results: Path, scale: str | None, sweeps: Sequence[str]) -> tuple[pd.DataFrame | None, Path] | None:
    """The runs of sweeps at the scale, or at the largest scale that is there, and the folder of that scale.

    Of several sweeps those that are there, in one table; None where none is. Without a sweep, as for a table of
    formulas, there are no runs to be missing: None and the folder of the scale.
    """
    folders = [results / name for name in ([scale] if scale else SCALES)]
    if not sweeps:
        return None, next((folder for folder in folders if folder.is_dir()), folders[0])
    for folder in folders:
        paths = [folder / name for name in sweeps if store.parts_in(folder / name)]
        if paths:
            return pd.concat([store.read(path) for path in paths], ignore_index=True), folder
    return None


def no_results(results: Path, scale: str | None, sweeps: Sequence[str]) -> InputError:
    """The error where none of the sweeps has results: says how to make some."""
    return InputError(f"no results of {' '.join(sweeps)} in {results}: first run `{command(results, scale, sweeps)}`")


def command(results: Path, scale: str | None, sweeps: Sequence[str]) -> str:
    """What makes the sweeps' results at the scale, with the options that are not its defaults."""
    options = {"--scale": (scale or "smoke", "smoke"), "--out": (results, Path("results"))}
    written = [f" {option} {value}" for option, (value, default) in options.items() if value != default]
    return f"python -m bench run {' '.join(sweeps)}{''.join(written)}"
