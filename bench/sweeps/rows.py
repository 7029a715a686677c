"""Turns a finished chunk into rows: one per run and evaluation, with its privacy cost and platform."""

import contextlib
import datetime
import importlib.metadata
import math
import platform
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
import pandas as pd

from bench.data.task import Task
from bench.errors import InputError
from bench.privacy.accounting import epsilons
from bench.privacy.events import Release
from bench.sweeps.points import Point


class Origin(NamedTuple):
    """What all rows of a sweep have in common: its name, its scale, the delta at which epsilon is stated, and the
    commit of the code that made them.
    """

    sweep: str
    scale: str
    delta: float
    commit: str


_accounted: dict[tuple, np.ndarray] = {}  # epsilons of everything that has been accounted in this process


@cache
def commit(suite: Path = Path(__file__).parents[1]) -> str:
    """Return the commit of the code, with "-dirty" where files of the suite differ from it; "unknown" outside a
    checkout.

    A suite that is installed within somebody's repository, as in an environment there, is not of its commits.
    """

    def git(*words):
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            result = subprocess.run(["git", *words], cwd=suite, capture_output=True, text=True, timeout=5)
            return result.stdout.strip()
        return ""

    head = git("rev-parse", "--short=12", "HEAD") if git("ls-files", "--", ".") else ""
    dirty = "-dirty" if git("status", "--porcelain", "--untracked-files=no", "--", ".") else ""
    return head + dirty if head else "unknown"


@cache
def platform_columns() -> dict[str, str]:
    """Return the libraries and the machine, as columns."""
    return {
        "jax_version": jax.__version__,
        "jaxlib_version": importlib.metadata.version("jaxlib"),
        "python_version": platform.python_version(),
        "device": f"{jax.local_device_count()} x {jax.local_devices()[0].device_kind}",
    }


def _epsilons(reading: Release, counts: tuple[int, ...]) -> np.ndarray:
    """Return `epsilons`, computed once for all readings that agree: most points of a sweep differ in other things."""
    events = tuple(reading.event(count) for count in counts)
    accounted = (events, reading.neighbors, reading.accountant, reading.delta)
    if accounted not in _accounted:
        _accounted[accounted] = epsilons(reading, counts)
    return _accounted[accounted]


def privacy_columns(readings: Mapping[str, Release], counts: np.ndarray) -> dict[str, Any]:
    """Return epsilon after each evaluation in every reading, [run, evaluation], and the words that belong to it.

    This function alone turns readings into columns. The epsilon of "paper" is the column `epsilon`, that of every other
    reading NAME is `epsilon_NAME`. The words are those of "paper", each in the column of its own name, but for one:
    `Release.sampler` is the column `accounted_as`, since `sampler` is the argument of the methods, by which the
    samples were drawn. protects_against, mechanism and sound are in no column.

    Args:
        readings: of a run, by name, as `Method.readings` gives them.
        counts: how many rounds had released something, [run, evaluation].
    """
    main = readings["paper"]
    columns: dict[str, Any] = {
        "privacy_unit": main.privacy_unit,
        "neighbors": main.neighbors,
        "accounted_as": main.sampler,
        "accountant": main.accountant,
        "delta": main.delta,
    }
    for name, reading in readings.items():
        column = "epsilon" if name == "paper" else f"epsilon_{name}"
        columns[column] = np.stack([_epsilons(reading, tuple(row)) for row in counts.tolist()])
    return columns


def _released(released: np.ndarray | None, rounds: np.ndarray, shape: tuple[int, int, int]) -> np.ndarray:
    """Return the number of rounds that had released something by each evaluation, [point, run, evaluation].

    `released` is the share of the rounds since the evaluation before, [run, point, evaluation]; None: every round.
    """
    if released is None:
        return np.broadcast_to(rounds, shape)
    share = np.swapaxes(released, 0, 1)[..., 1:]
    since = np.rint(share * np.diff(rounds)).astype(int)
    return np.concatenate([np.zeros((*shape[:2], 1), int), since.cumsum(-1)], axis=-1)


def rows_of(
    origin: Origin,
    task: Task,
    points: Sequence[Point],
    runs: Sequence[tuple[int, int]],
    metrics: Mapping[str, np.ndarray],
    timing: Mapping[str, float],
) -> pd.DataFrame:
    """Return the table of a finished chunk: one row per run and evaluation.

    Args:
        origin: of the sweep.
        task: that they were trained on.
        points: of the chunk, all with the same rounds.
        runs: (trial, seed) of the chunk.
        metrics: name -> [run, point, evaluation].
        timing: columns that all rows share.

    Raises:
        InputError: where a measured quantity has the name of a label of the points.
    """
    for name in metrics:
        if any(name in point.labels for point in points):
            raise InputError(f"{points[0].algorithm} has a label {name}, which is also a measured quantity: rename it")
    shape = (len(points), len(runs), next(iter(metrics.values())).shape[-1])
    rounds = np.arange(shape[-1]) * points[0].eval_every
    counts = _released(metrics.get("released"), rounds, shape)
    trials, seeds = np.array(runs).T[..., None]
    by_point = [
        {
            "point": point.id,
            "sweep": origin.sweep,
            "algorithm": point.algorithm,
            "method": point.method.make.__name__,
            "task": task.name,
            "source": task.source,
            "scale": origin.scale,
            "trial": trials,
            "seed": seeds,
            "num_rounds": point.num_rounds,
            "rounds": rounds,
            "releases": counts[p],
        }
        | point.labels
        | point.args
        | privacy_columns(point.method.readings(task, delta=origin.delta, **point.args), counts[p])
        | {name: values[:, p] for name, values in metrics.items() if name != "released"}
        | {"version": point.method.version, "checksum": task.checksum}
        for p, point in enumerate(points)
    ]
    names = dict.fromkeys(name for row in by_point for name in row)
    columns = {name: _column([row.get(name, np.nan) for row in by_point], shape) for name in names}
    shared = {"date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"), "commit": origin.commit}
    return pd.DataFrame(columns | shared | platform_columns() | dict(timing))


def _column(values: list, shape: tuple[int, int, int]):
    """Return a column in the order point, run, evaluation, from one value or one array [run, evaluation] a point."""
    if all(value is values[0] for value in values):
        if isinstance(values[0], np.ndarray):
            return np.broadcast_to(values[0], shape).ravel()
        return pd.Series(values[:1]).array.repeat(math.prod(shape))
    if any(isinstance(value, np.ndarray) for value in values):
        return np.stack([_filled(value, shape[1:]) for value in values]).ravel()
    return pd.Series(values).array.repeat(shape[1] * shape[2])


def _filled(value: Any, shape: tuple[int, int]) -> np.ndarray:
    """Return a value or array as an array [run, evaluation]; NumPy's broadcasting is slow where there is nothing to
    do."""
    return value if np.shape(value) == shape else np.broadcast_to(value, shape)
