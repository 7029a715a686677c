"""The Python interface of comparisons and of the board."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from bench.comparison.defaults import EPSILONS, NUM_SETTINGS
from bench.data.files import DataFiles
from bench.errors import InputError, all_of
from bench.inputs.declared import of_declared_types

if TYPE_CHECKING:
    from bench.algorithms.base import Method
    from bench.audit.report import Audit
    from bench.comparison.problem import Problem
    from bench.comparison.request import Request
    from bench.comparison.result import Comparison
    from bench.data.task import Task


@of_declared_types
def compare(
    methods: "str | Method | Callable | Sequence[str | Method | Callable]" = (),
    *,
    task: "str | Problem | Task | Callable[[int], Task]" = "synthetic",
    epsilons: float | Sequence[float] = EPSILONS,
    seeds: int = 5,
    tuned: Mapping[str, Any] | None = None,
    fixed: Mapping[str, Any] | None = None,
    num_settings: int = NUM_SETTINGS,
    rounds: int | None = None,
    baselines: Sequence[str] | None = None,
    reference: str | None = None,
    neighbors: str | None = None,
    delta: float | None = None,
    units: bool = False,
    population: float = 1.0,
    board: str | os.PathLike | None = None,
    name: str | None = None,
    out: str | os.PathLike = "results",
    fresh: bool = False,
    workers: int | str = "auto",
    executor: str = "local",
    devices: int | str | None = None,
    data_dir: str | os.PathLike | None = None,
    source: str | None = None,
) -> pd.DataFrame:
    """Compare methods with the baselines of a task on equal terms; writes Parquet, a table and a figure.

    Args:
        methods: one or several built-in names, FILE.py:NAME, Methods or factories; none compares only the baselines.
        task: a name, a file or folder of clients (npz, CSV, Parquet), a `bench.Problem`, or a Task or function trial ->
            Task with exactly one metric called test_X and one called validation_X.
        epsilons: finite values; the noise-free case is always added.
        seeds: number of data splits, each with its own randomness.
        tuned: argument -> values to tune over, for every method that has it; "METHOD:ARGUMENT" is for one method.
        fixed: argument -> value, for every method that has it.
        num_settings: the largest number of settings that are tried for each method.
        rounds: communication rounds of methods that do not fix their own; default the task's.
        baselines: names as in the legend; by default all of the task except those run only on request; an empty list
            means none.
        reference: the method that gains are taken over, by its name in the legend; default the best baseline at each
            epsilon.
        neighbors: neighbouring relation; default the task's.
        delta: of (epsilon, delta)-DP; default the task's.
        units: whether to include methods with other privacy statements, which the figure shows in separate panels.
        population: how many times as many users set the noise as exist (`bench.comparison.population`). Rows with noise
            are then extrapolated, not measured, and go to a folder of their own in out/extrapolated.
        board: folder of a board, whose methods are included without being run again; "board" is out/board, or, where
            that does not have the task, the copy of the committed board that an installed wheel has. The board
            determines epsilons, seeds, num_settings, rounds, neighbors and delta; leave them out.
        name: of the folder in out/compare; by default made from the task and the methods.
        out: results folder.
        fresh: first move earlier runs of that name aside.
        workers, executor, devices: as for `run`.
        data_dir: folder with data files of your own; default the one that BENCH_DATA names, if any.
        source: what data are fetched from: "publisher", "packages", "tensorflow-datasets", "none", or "any", which
            tries the publisher first; default the one that BENCH_SOURCE names, or "any".

    Returns:
        One row per method and epsilon: mean of the test metric with its 95 % interval, rank, and gain over the best
        baseline, or over the reference, with its interval; see `bench.comparison.report.table.table`. .attrs["folder"]
        is where the files are, .attrs["board"] says which board was used, if any, and .attrs["notes"] lists what a
        reader of the table must know, such as chosen values at the end of their interval.

    Raises:
        InputError: for anything that cannot be used, before anything is run.
    """
    from bench.comparison.board import described
    from bench.comparison.report import figure

    request = _request(
        methods,
        board,
        DataFiles(data_dir, source),
        task=task,
        epsilons=epsilons,
        seeds=seeds,
        tuned=tuned,
        fixed=fixed,
        num_settings=num_settings,
        rounds=rounds,
        baselines=baselines,
        reference=reference,
        neighbors=neighbors,
        delta=delta,
        units=units,
        population=population,
        name=name,
        out=out,
        fresh=fresh,
    )
    (compared,) = _compared([request], workers, executor, devices)
    table = figure.write(compared)
    table.attrs |= {"folder": str(request.folder), "notes": compared.notes}
    if request.board is not None:
        table.attrs["board"] = described(request.board, request.problem.name)
    return table


def _request(methods, board: str | os.PathLike | None, data_files: DataFiles, **options) -> "Request":
    """Return the request that the options of `compare` describe, with or without a board."""
    from bench.comparison.board import BY_PROTOCOL, request_on_board
    from bench.comparison.request import make_request

    if board is None:
        return make_request(methods, data_files=data_files, **options)
    said = {name: value for name, value in options.items() if name in BY_PROTOCOL}
    rest = {name: value for name, value in options.items() if name not in BY_PROTOCOL}
    return request_on_board(board, methods, said, rest | {"data_files": data_files})


def _compared(
    requests: "Sequence[Request]",
    workers: int | str,
    executor: str,
    devices: int | str | None = None,
) -> "Iterator[Comparison]":
    """Run the comparisons one after the other with the same workers, which keep their compiled programs.

    Raises:
        InputError: for those that cannot be made, for want of their data; all others have been made then.
    """
    from bench.comparison import run as comparing
    from bench.execution.pool import Pool
    from bench.execution.run import use_compilation_cache

    use_compilation_cache()
    failed = []
    with Pool(executor, workers, devices=devices) as pool:
        for request in requests:
            try:
                compared = comparing.compare(request, pool)
            except InputError as error:
                failed.append(error)
                continue
            yield compared
    if failed:
        raise all_of(failed)


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
    source: str | None = None,
) -> Path:
    """Add your own method to a board: run it by the board's protocol, audit it, and store its runs beside the board's.

    Args:
        method: FILE.py:NAME, a Method or a factory.
        task: of the board.
        board: folder of the board; "board" is out/board, and never the copy in an installed wheel.
        tuned, fixed: as of `compare`.
        others: as of `compare`.

    Returns:
        The folder with the two files of the entry.

    Raises:
        InputError: for anything that cannot be used; where the audit's lower bound exceeds the declared epsilon; and
            where some of its runs are missing.
    """
    from bench.analysis.measured import is_name
    from bench.audit.report import audit
    from bench.comparison.entries import write_entry
    from bench.comparison.protocol import board_folder
    from bench.comparison.report import figure

    request = _request(
        method, board_folder(board, out), DataFiles(data_dir, source), task=task, tuned=tuned, fixed=fixed, out=out
    )
    ((label, tried),) = request.methods.items()
    if not label.isidentifier() or not is_name(label):
        raise InputError(f"{label} cannot be the name of an entry: define the method by a function with a short name")
    _check_audit(label, audit(tried, args=fixed or {}))  # a minute, before a comparison that may take hours
    (compared,) = _compared([request], workers, executor)
    figure.write(compared)
    if label in compared.not_private:
        raise InputError(
            f"{label} is not private with these arguments: a board only takes methods that are private or release "
            "nothing"
        )
    chosen = compared.runs[compared.runs["algorithm"] == label].iloc[0]
    own = {name: chosen[name] for name in (*tried.space, *(fixed or {})) if name in chosen and name != tried.noise}
    if own != (fixed or {}):  # with these arguments it was audited before
        _check_audit(label, audit(tried, args=own))
    assert request.board is not None
    return write_entry(request.board / request.problem.name, label, compared)


def _check_audit(label: str, found: "Audit") -> None:
    """Refuse a method whose privacy statement an audit refutes, with the numbers."""
    wrong = [bound for each in found.findings if each.release.sound for bound in each.bounds if bound.refutes]
    if wrong:
        worst = max(wrong, key=lambda bound: bound.found - bound.declared)
        raise InputError(
            f"the audit refutes the privacy statement of {label}: it declares epsilon {worst.declared:.3g} at delta "
            f"{worst.delta:.2g}, but epsilon is at least {worst.found:.3g}; `python -m bench audit` shows how"
        )


@of_declared_types
def board(
    tasks: str | Sequence[str] = (),
    *,
    epsilons: float | Sequence[float] | None = None,
    seeds: int | None = None,
    num_settings: int | None = None,
    rounds: int | None = None,
    methods: Sequence[str] | None = None,
    out: str | os.PathLike = "results",
    fresh: bool = False,
    workers: int | str = "auto",
    executor: str = "local",
    data_dir: str | os.PathLike | None = None,
    source: str | None = None,
) -> list[Path]:
    """Run the board: all methods of the suite on its tasks, by one protocol. An interrupted run resumes when repeated.

    Args:
        tasks: names; default all of the board.
        epsilons, seeds, num_settings, rounds: in place of the board's; results of different protocols are never mixed.
        methods: names as in the legend, to run beside those that the board has; default all of the task.
        out: results folder; each task goes to out/board/TASK.
        others: as of `compare`.

    Returns:
        The folders.

    Raises:
        InputError: for anything that cannot be used.
    """
    from bench.comparison.board import board_request
    from bench.comparison.report import figure
    from bench.data.tasks.registry import on_board

    chosen = {"epsilons": epsilons, "seeds": seeds, "num_settings": num_settings, "rounds": rounds}
    chosen = {name: value for name, value in chosen.items() if value is not None}
    names = [tasks] if isinstance(tasks, str) else list(tasks) or on_board()
    files = DataFiles(data_dir, source)
    requests = [board_request(name, methods, out=out, fresh=fresh, data_files=files, **chosen) for name in names]
    for compared in _compared(requests, workers, executor):
        figure.write(compared)
    return [request.folder for request in requests]
