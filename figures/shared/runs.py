"""Where the runs of a sweep are, at which scale, and the command that makes them."""

from pathlib import Path
from types import ModuleType

import pandas as pd

from bench.errors import InputError
from bench.sweeps import store

SCALES = ("paper", "laptop", "smoke")  # the largest first: the default is the largest that is there


def sweeps_of(figure: ModuleType) -> list[str]:
    """The sweeps whose runs a figure shows."""
    return [figure.SWEEP] if isinstance(figure.SWEEP, str) else list(figure.SWEEP or [])


def runs_of(results: Path, scale: str | None, sweep: str | tuple[str, ...]) -> tuple[pd.DataFrame, Path] | None:
    """A sweep's runs at the scale, or at the largest scale that is there, and the folder of that scale.

    Of several sweeps those that are there, in one table.
    """
    sweeps = [sweep] if isinstance(sweep, str) else sweep
    for folder in [results / name for name in ([scale] if scale else SCALES)]:
        there = [folder / name for name in sweeps if store.parts_in(folder / name)]
        if there:
            return pd.concat([store.read(path) for path in there], ignore_index=True), folder
    return None


def without_runs(results: Path, scale: str | None) -> tuple[None, Path]:
    """What `runs_of` gives for a table of formulas: no runs, and the folder of the scale."""
    names = [scale] if scale else SCALES
    return None, next((results / name for name in names if (results / name).is_dir()), results / names[0])


def no_results(results: Path, scale: str | None, sweep: str | tuple[str, ...]) -> InputError:
    """The error where a sweep has none: says how to make some."""
    words = sweep if isinstance(sweep, str) else " ".join(sweep)
    return InputError(f"no results of {words} in {results}: first run `{command(results, scale, sweep)}`")


def command(results: Path, scale: str | None, sweep: str | tuple[str, ...]) -> str:
    """What makes a sweep's results at the scale, with the options that are not its defaults."""
    sweep = sweep if isinstance(sweep, str) else " ".join(sweep)
    options = {"--scale": (scale or "smoke", "smoke"), "--out": (results, Path("results"))}
    said = [f" {option} {value}" for option, (value, default) in options.items() if value != default]
    return f"python -m bench run {sweep}{''.join(said)}"
