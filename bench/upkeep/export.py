"""Exports results after the run to CSV, TensorBoard, MLflow or Weights & Biases, all of them offline.

Every run becomes a run of the target program, with its settings and the metrics by communication round. The Parquet
files are not changed, and no tracker takes part in a run.
"""

import importlib
import math
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pandas as pd
import pyarrow.parquet as pq

from bench.analysis.tables import without_formulas
from bench.errors import InputError, unknown_name
from bench.store import part_files

STEP = "rounds"
COUNTED = "releases"  # measured, too, as the epsilons are


class Run(NamedTuple):
    """One run, in what all programs can show.

    sweep: it is of, which may have a slash.
    algorithm: by its name there.
    name: of the run: algorithm, point, trial and seed.
    settings: column -> what is the same in all of its rows; not those of other methods.
    curves: round -> measured column -> finite number.
    """

    sweep: str
    algorithm: str
    name: str
    settings: dict[str, Any]
    curves: dict[int, dict[str, float]]


def export(folder: str | Path, to: str, out: str | Path) -> int:
    """Write the runs of a folder of results for another program.

    Args:
        folder: of a sweep (results/SCALE/SWEEP), or one that holds several, such as that of a comparison.
        to: of TARGETS.
        out: a new or empty folder.

    Returns:
        How many runs.

    Raises:
        InputError: for an unknown program, a package that is not installed, a folder without results, damaged results,
            or a folder to write to that has something in it.
    """
    if to not in TARGETS:
        raise unknown_name("program to export to", to, TARGETS)
    write, package = TARGETS[to]
    module = _installed(package, to)
    sources, out = _sweeps_in(Path(folder)), Path(out)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f"{out} is not empty, and an export must not be mixed with other files: give another --out")
    tables = [part_files.read(source) for source in sources]
    folder_of: dict[str, Path] = {}
    for source, rows in zip(sources, tables, strict=True):
        other = folder_of.setdefault(str(rows["sweep"].iloc[0]), source)
        if other != source:
            raise InputError(f"{other} and {source} both hold results of {rows['sweep'].iloc[0]}: export one at a time")
    existed = out.is_dir()
    try:
        out.mkdir(parents=True, exist_ok=True)
        for source, rows in zip(sources, tables, strict=True):
            write(module, rows, runs_of(rows, measured(source, rows)), out)
    except BaseException as error:  # Ctrl-C as well
        _empty(out, existed)
        if isinstance(error, OSError):
            raise part_files.cannot_store(error, out) from None
        raise
    return sum(len(rows.drop_duplicates(part_files.IDENTITY)) for rows in tables)


def _empty(folder: Path, existed: bool) -> None:
    """Remove an export that was not finished: a folder that was empty, or not there."""
    shutil.rmtree(folder, ignore_errors=True)
    if existed:
        folder.mkdir(exist_ok=True)


def _sweeps_in(folder: Path) -> list[Path]:
    """Return the folder, if it has parts, or those below it that have."""
    if part_files.parts_in(folder):
        return [folder]
    below = sorted(folder.iterdir()) if folder.is_dir() else []
    found = [sub for sub in below if sub.is_dir() and sub.name[0] not in "._" and part_files.parts_in(sub)]
    if not found:
        raise InputError(f"there are no results in {folder}: give the folder of a sweep, such as results/smoke/SWEEP")
    return found


def _installed(package: str, to: str) -> ModuleType | None:
    """Return the package; None where none is needed."""
    if not package:
        return None
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise InputError(f"{to} is not installed ({error}): pip install 'private-federated-bench[{to}]'") from None


def measured(folder: Path, rows: pd.DataFrame) -> list[str]:
    """Return the columns of a sweep that hold what was measured: those that stand between the epsilons and the version
    in its parts, as `rows` writes them; epsilons and releases; and whatever else changes within a run."""
    names = {name for name in map(str, rows) if name == COUNTED or name.startswith("epsilon")}
    for path in part_files.parts_in(folder):
        columns = pq.read_schema(path).names
        epsilons = [place for place, name in enumerate(columns) if name.startswith("epsilon")]
        if epsilons and "version" in columns:
            names |= set(columns[epsilons[-1] + 1 : columns.index("version")])
    numbers = [name for name in map(str, rows.select_dtypes("number")) if name not in {*part_files.IDENTITY, STEP}]
    most = rows.groupby(part_files.IDENTITY)[numbers].nunique().max().to_dict()
    return [name for name in numbers if name in names or most[name] > 1]


def runs_of(rows: pd.DataFrame, curves: list[str]) -> Iterator[Run]:
    """Yield the runs of a sweep, in the order of its rows. `curves`: the columns that were measured."""
    fixed = [name for name in map(str, rows) if name not in {*curves, STEP}]
    for _, run in rows.groupby(part_files.IDENTITY, sort=False):
        first: dict = run.iloc[0].to_dict()
        settings = {name: _plain(first[name]) for name in fixed if not pd.isna(first[name])}
        at = {
            int(row[STEP]): {name: float(row[name]) for name in curves if math.isfinite(row[name])}
            for row in run.sort_values(STEP).to_dict("records")
        }
        name = "{algorithm} {point} {trial}-{seed}".format_map(first)
        yield Run(str(first["sweep"]), str(first["algorithm"]), name, settings, at)


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _file_name(text: str) -> str:
    """Return the name of a file or folder that lies where it is made, and is not hidden."""
    return re.sub(r"^\.|[/ \0]", "_", text)


def _csv(module: None, rows: pd.DataFrame, runs: Iterator[Run], out: Path) -> None:
    """The whole table, one row per run and evaluation."""
    without_formulas(rows).to_csv(out / f"{_file_name(str(rows['sweep'].iloc[0]))}.csv", index=False)


def _tensorboard(module: Any, rows: pd.DataFrame, runs: Iterator[Run], out: Path) -> None:
    """A folder of events a run, with the settings as hyper-parameters."""
    protos = importlib.import_module("tensorboard.compat.proto.event_pb2")
    summaries = importlib.import_module("tensorboard.compat.proto.summary_pb2")
    hparams = importlib.import_module("tensorboard.plugins.hparams.summary_v2")
    for run in runs:
        writer = module.EventFileWriter(str(out / _file_name(run.sweep) / _file_name(run.name)))
        writer.add_event(protos.Event(summary=hparams.hparams_pb(run.settings, trial_id=run.name)))
        for step, values in run.curves.items():
            scalars = [summaries.Summary.Value(tag=name, simple_value=value) for name, value in values.items()]
            writer.add_event(protos.Event(step=step, summary=summaries.Summary(value=scalars)))
        writer.close()


def _mlflow(module: Any, rows: pd.DataFrame, runs: Iterator[Run], out: Path) -> None:
    """An experiment a sweep, in a data base in the folder: mlflow ui --backend-store-uri sqlite:///FOLDER/mlflow.db"""
    module.set_tracking_uri(f"sqlite:///{(out / 'mlflow.db').resolve()}")
    module.set_experiment(str(rows["sweep"].iloc[0]))
    for run in runs:
        with module.start_run(run_name=run.name):
            module.log_params(run.settings)
            for step, values in run.curves.items():
                module.log_metrics(values, step=step)


def _wandb(module: Any, rows: pd.DataFrame, runs: Iterator[Run], out: Path) -> None:
    """Offline runs in the folder, which `wandb sync` would upload."""
    for run in runs:
        there = module.init(
            mode="offline",
            dir=str(out),
            project=_file_name(run.sweep),
            group=run.algorithm,
            name=run.name,
            config=run.settings,
            reinit=True,
        )
        for step, values in run.curves.items():
            there.log(values, step=step)
        there.finish()


# How each is written, and the module that must be there for it.
TARGETS: dict[str, tuple[Callable[[Any, pd.DataFrame, Iterator[Run], Path], None], str]] = {
    "csv": (_csv, ""),
    "mlflow": (_mlflow, "mlflow"),
    "tensorboard": (_tensorboard, "tensorboard.summary.writer.event_file_writer"),
    "wandb": (_wandb, "wandb"),
}
