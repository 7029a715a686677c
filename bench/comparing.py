"""Comparisons from Python."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from bench.arguments import of_declared_types
from bench.data.files import DataFiles
from bench.defaults import EPSILONS, NUM_SETTINGS
from bench.errors import InputError

if TYPE_CHECKING:
    from bench.algorithms.base import Method
    from bench.comparison import Comparison, Problem, Request
    from bench.data.task import Task


@of_declared_types
def compare(
    methods: "str | Method | Callable | Sequence[str | Method | Callable]" = (),
    *,
    task: "str | Problem | Task | Callable[[int], Task]" = "digits",
    epsilons: float | Sequence[float] = EPSILONS,
    seeds: int = 5,
    tuned: Mapping[str, Any] | None = None,
    fixed: Mapping[str, Any] | None = None,
    num_settings: int = NUM_SETTINGS,
    rounds: int | None = None,
    baselines: Sequence[str] | None = None,
    neighbors: str | None = None,
    delta: float | None = None,
    units: bool = False,
    against: str | os.PathLike | None = None,
    name: str | None = None,
    out: str | os.PathLike = "results",
    fresh: bool = False,
    workers: int | str = "auto",
    executor: str = "local",
    data_dir: str | os.PathLike | None = None,
    download: bool = False,
) -> pd.DataFrame:
    """Compare methods with the baselines of a task on equal terms; write Parquet, table and picture.

    Args:
        methods: one or several of: a built-in name, FILE.py:NAME, a Method, a factory; none compares the baselines.
        task: a name, a file or folder of clients (npz, CSV, Parquet), a `bench.Problem`; or a Task, or a function
            trial -> Task, whose metrics are one test_X and one validation_X.
        epsilons: finite ones; the same without noise is added.
        seeds: splits of the data, each with randomness of its own.
        tuned: argument -> values that every method that has it is tuned over; "METHOD:ARGUMENT" is of one method.
        fixed: argument -> value, for every method that has it.
        num_settings: settings that each method is tuned over at most.
        rounds: communication rounds of methods that bring none of their own; default the task's.
        baselines: names in the legend; default all of the task but those on request, an empty list for none.
        neighbors: neighbouring relation; default the task's.
        delta: of (epsilon, delta)-DP; default the task's.
        units: also take methods that make another statement of privacy; the figure draws those in panels of their own.
        against: folder of a board, "board" being out/board: its methods stand beside these without being run again. The
            board says epsilons, seeds, num_settings, rounds, neighbors and delta; leave them out.
        name: of the folder in out/compare; default the task and the methods.
        out: results folder.
        fresh: set earlier runs of that name aside.
        workers, executor: as for `run`.
        data_dir: folder with data files of your own; default the one that BENCH_DATA names, if any.
        download: whether the authors' addresses may be asked for data that nothing else has.

    Returns:
        One row per method and epsilon: mean of the test metric with its 95 % interval, rank, and gain over the best
        baseline with its interval, as `bench.comparison.figure.table` says. What is written lies in .attrs["folder"].

    Raises:
        InputError: for anything that cannot be used, before anything is run.
    """
    from bench.comparison import figure

    request = _request(
        methods,
        against,
        DataFiles(data_dir, download),
        task=task,
        epsilons=epsilons,
        seeds=seeds,
        tuned=tuned,
        fixed=fixed,
        num_settings=num_settings,
        rounds=rounds,
        baselines=baselines,
        neighbors=neighbors,
        delta=delta,
        units=units,
        name=name,
        out=out,
        fresh=fresh,
    )
    (compared,) = _compared([request], workers, executor)
    table = figure.write(compared)
    table.attrs["folder"] = str(request.folder)
    return table


def _request(methods, against: str | os.PathLike | None, data_files: DataFiles, **options) -> "Request":
    """The request of options of `compare`, beside a board or not."""
    from bench.comparison import make_request
    from bench.comparison.board import BY_PROTOCOL, request_against

    if against is None:
        return make_request(methods, data_files=data_files, **options)
    said = {name: value for name, value in options.items() if name in BY_PROTOCOL}
    rest = {name: value for name, value in options.items() if name not in BY_PROTOCOL}
    return request_against(against, methods, said, rest | {"data_files": data_files})


def _compared(requests: "Sequence[Request]", workers: int | str, executor: str) -> "Iterator[Comparison]":
    """The comparisons, one after the other, by the same workers, which keep their compiled programs."""
    from bench import comparison
    from bench.sweeps.execution.pool import Pool
    from bench.sweeps.run import use_compilation_cache

    use_compilation_cache()
    with Pool(executor, workers) as pool:
        for request in requests:
            yield comparison.compare(request, pool)


@of_declared_types
def add_to_board(
    method: "str | Method | Callable",
    task: str,
    *,
    board: str | os.PathLike = "board",
    tuned: Mapping[str, Any] | None = None,
    fixed: Mapping[str, Any] | None = None,
    out: str | os.PathLike = "results",
    workers: int | str = "auto",
    executor: str = "local",
    data_dir: str | os.PathLike | None = None,
    download: bool = False,
) -> Path:
    """Put a method of one's own on a board: run by its protocol, audited, its runs written beside those of the board.

    Args:
        method: FILE.py:NAME, a Method or a factory.
        task: of the board.
        board: folder of the board; "board" is out/board.
        tuned, fixed: as of `compare`.
        others: as of `compare`.

    Returns:
        The folder with the two files of the entry.

    Raises:
        InputError: for anything that cannot be used; where the audit measures more than the method declares; and where
            its runs are not all there.
    """
    from bench.audit.report import audit
    from bench.comparison import figure
    from bench.comparison.entries import write_entry

    request = _request(method, board, DataFiles(data_dir, download), task=task, tuned=tuned, fixed=fixed, out=out)
    ((label, tried),) = request.methods.items()
    (compared,) = _compared([request], workers, executor)
    figure.write(compared)
    if label in compared.not_private:
        raise InputError(f"{label} promises nothing with these arguments: a board takes what is private or silent")
    chosen = compared.runs[compared.runs["algorithm"] == label].iloc[0]
    own = {name: chosen[name] for name in (*tried.space, *(fixed or {})) if name in chosen and name != tried.noise}
    found = audit(tried, args=own)
    if found.refuted:
        raise InputError(f"{label} is refuted by its audit: `python -m bench audit` shows by how much")
    assert request.against is not None
    return write_entry(request.against / request.problem.name, label, compared)


@of_declared_types
def board(
    tasks: str | Sequence[str] = (),
    *,
    epsilons: float | Sequence[float] = EPSILONS,
    seeds: int | None = None,
    num_settings: int = NUM_SETTINGS,
    rounds: int | None = None,
    out: str | os.PathLike = "results",
    fresh: bool = False,
    workers: int | str = "auto",
    executor: str = "local",
    data_dir: str | os.PathLike | None = None,
    download: bool = False,
) -> list[Path]:
    """Run the board: all methods of the suite on its tasks, by one protocol. Interrupted, it goes on where it was.

    Args:
        tasks: names; default all of the board.
        epsilons, seeds, num_settings, rounds: in place of the board's; results by another protocol are never mixed in.
        out: results folder; each task goes to out/board/TASK.
        others: as of `compare`.

    Returns:
        The folders.

    Raises:
        InputError: for anything that cannot be used.
    """
    from bench.comparison import figure
    from bench.comparison.board import TASKS, board_request

    chosen = {"epsilons": epsilons, "seeds": seeds, "num_settings": num_settings, "rounds": rounds}
    chosen = {name: value for name, value in chosen.items() if value is not None}
    names = [tasks] if isinstance(tasks, str) else list(tasks) or list(TASKS)
    files = DataFiles(data_dir, download)
    requests = [board_request(name, out=out, fresh=fresh, data_files=files, **chosen) for name in names]
    for compared in _compared(requests, workers, executor):
        figure.write(compared)
    return [request.folder for request in requests]
