"""The Python interface of comparisons and of the board."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from bench.comparison.defaults import EPSILONS, NUM_SETTINGS
from bench.errors import InputError, combined_error
from bench.inputs.options import Out, Workers

if TYPE_CHECKING:
    import pandas as pd

    from bench.algorithms.base import Method
    from bench.audit.report import Audit
    from bench.comparison.problem import Problem
    from bench.comparison.request import Request
    from bench.comparison.result import Comparison
    from bench.data.task import Task

SET = (
    "NAME=VALUE fixes an argument; NAME=log:LOW:HIGH, log:LOW:HIGH:COUNT or A,B,C tunes over it; METHOD:NAME=... does "
    "so for one method. Repeatable."
)


def compare(
    methods: Annotated[
        "str | Method | Callable | Sequence[str | Method | Callable]",
        "FILE.py:NAME, or names of built-in methods; none compares the baselines.",
    ] = (),
    *,
    task: Annotated[
        "str | Problem | Task | Callable[[int], Task]",
        "One of the comparisons that `list` has, or your own data: FILE.npz, or CSV or Parquet. FILE:NAME=VALUE,... "
        "says more of such: client=COLUMN, label=COLUMN, regression=True, network=FILE.py:NAME, drop_small=True, "
        "delta=NUMBER.",
    ] = "synthetic",
    epsilons: Annotated[
        float | Sequence[float], "Values of epsilon, separated by commas; the noise-free case is always added."
    ] = EPSILONS,
    seeds: Annotated[int, "Number of data splits, each with its own randomness."] = 5,
    fixed: Annotated[Mapping[str, Any] | None, SET] = None,
    num_settings: Annotated[int, "Largest number of settings tried for each method."] = NUM_SETTINGS,
    rounds: Annotated[int | None, "Number of communication rounds; default the task's."] = None,
    baselines: Annotated[
        Sequence[str] | None, "Names separated by commas, or none; default the usual ones of the task."
    ] = None,
    population: Annotated[float, "With the noise of so many times the users: extrapolated, in OUT/extrapolated."] = 1.0,
    width: Annotated[
        float | None, "Also draw the figure for LaTeX, in a PDF of so many inches: 3.25 for a column, 6.75 for a page."
    ] = None,
    board: Annotated[
        str | os.PathLike | None,
        "Board to compare with; its methods are not run again. `board` is OUT/board, or the installed copy of the "
        "committed board where OUT/board does not have the task.",
    ] = None,
    out: Out = "results",
    workers: Workers = "auto",
    tuned: Mapping[str, Any] | None = None,
    neighbors: str | None = None,
    delta: float | None = None,
    name: str | None = None,
    devices: int | str | None = None,
    quiet: bool = False,
) -> "pd.DataFrame":
    """Compare methods with a task's baselines on equal terms: the same privacy statement and tuning budget.

    Args:
        methods: one or several built-in names, FILE.py:NAME, Methods or factories.
        task: also a `bench.Problem`, or a Task or function trial -> Task with exactly one metric called test_X and one
            called validation_X.
        board: determines epsilons, seeds, num_settings, rounds, neighbors and delta; leave them out.
        tuned: argument -> values to tune over, for every method that has it; "METHOD:ARGUMENT" is for one method.
        neighbors, delta: neighbouring relation, and delta of (epsilon, delta)-DP; default the task's.
        name: of the folder in out/compare; by default made from the task and the methods.
        devices, quiet: as for `run`.

    Returns:
        One row per method and epsilon: mean of the test metric with its 95 % interval, rank, and gain over the best
        baseline with its interval; see `bench.comparison.report.table.table`. .attrs["folder"] is where the files are,
        .attrs["board"] says which board was used, if any, .attrs["replaced"] whether the folder had another table, and
        .attrs["notes"] lists what a reader of the table must know, such as chosen values at the end of their interval.

    Raises:
        InputError: for anything that cannot be used, before anything is run.
    """
    from bench.analysis import style
    from bench.comparison.report import figure

    if width is not None:
        style.check_width(width)
    request = _request(
        methods,
        board,
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
        population=population,
        name=name,
        out=out,
    )
    (compared,) = _compared([request], workers, devices, quiet)
    table = figure.write(compared, width)
    table.attrs |= {"folder": str(request.folder), "notes": compared.notes}
    if request.board is not None:
        table.attrs["board"] = str(request.board / request.problem.name)
    return table


def _request(methods, board: str | os.PathLike | None, **options) -> "Request":
    """Return the request that the options of `compare` describe, with or without a board."""
    from bench.comparison.board import request_on_board
    from bench.comparison.request import make_request

    return make_request(methods, **options) if board is None else request_on_board(board, methods, **options)


def _compared(
    requests: "Sequence[Request]", workers: int | str, devices: int | str | None = None, quiet: bool = False
) -> "Iterator[Comparison]":
    """Run the comparisons one after the other with the same workers, which keep their compiled programs.

    Raises:
        InputError: for those that cannot be made, for want of their data; all others have been made then.
    """
    from bench.api.runs import pool_of
    from bench.comparison import run as comparing
    from bench.execution.run import use_compilation_cache

    use_compilation_cache()
    failed = []
    with pool_of(workers, devices, quiet) as pool:
        for request in requests:
            try:
                compared = comparing.compare(request, pool)
            except InputError as error:
                failed.append(error)
                continue
            yield compared
    if failed:
        raise combined_error(failed)


def add_to_board(
    method: Annotated["str | Method | Callable", "FILE.py:NAME of your method."],
    task: Annotated[str, "Name of a task of the board."],
    *,
    fixed: Annotated[Mapping[str, Any] | None, SET] = None,
    out: Out = "results",
    workers: Workers = "auto",
    board: str | os.PathLike = "board",
    tuned: Mapping[str, Any] | None = None,
) -> Path:
    """Add your own method to a board: run it by the board's protocol, audit it, and store its runs beside the board's.

    Args:
        method: also a Method or a factory.
        board: folder of the board; "board" is out/board, and never the copy in an installed wheel.
        tuned: as of `compare`.

    Returns:
        The folder with the two files of the entry.

    Raises:
        InputError: for anything that cannot be used; where the audit's lower bound exceeds the declared epsilon; and
            where some of its runs are missing.
    """
    from bench.analysis.measured import is_name
    from bench.audit import audit
    from bench.comparison.entries import write_entry
    from bench.comparison.protocol import board_folder
    from bench.comparison.report import figure

    request = _request(method, board_folder(board, out), task=task, tuned=tuned, fixed=fixed, out=out)
    ((label, candidate),) = request.methods.items()
    if not label.isidentifier() or not is_name(label):
        raise InputError(f"{label} cannot be the name of an entry: define the method by a function with a short name")
    _check_audit(label, audit(candidate, args=request.fixed))  # a minute, before a comparison that may take hours
    (compared,) = _compared([request], workers)
    figure.write(compared)
    if label in compared.not_private:
        raise InputError(
            f"{label} is not private with these arguments: a board only takes methods that are private or release "
            "nothing"
        )
    chosen = compared.runs[compared.runs["algorithm"] == label].iloc[0]
    arguments = {
        name: chosen[name] for name in (*candidate.space, *request.fixed) if name in chosen and name != candidate.noise
    }
    if arguments != request.fixed:  # with these arguments it was audited before
        _check_audit(label, audit(candidate, args=arguments))
    assert request.board is not None
    return write_entry(request.board / request.problem.name, label, compared)


def _check_audit(label: str, report: "Audit") -> None:
    """Refuse a method whose privacy statement an audit refutes, and say why."""
    from bench.audit.text import verdict

    if report.refuted:
        why = verdict(report).removeprefix("FAILED: ").rstrip(".")
        raise InputError(
            f"the audit refutes the privacy statement of {label}: {why}; `python -m bench audit` shows how"
        )


def board(
    tasks: Annotated[str | Sequence[str], "Names of tasks; default all of the board."] = (),
    *,
    methods: Annotated[
        Sequence[str] | None,
        "Names separated by commas: run these methods, beside those that the board has; default all of the task.",
    ] = None,
    out: Out = "results",
    workers: Workers = "auto",
    epsilons: float | Sequence[float] | None = None,
    seeds: int | None = None,
    num_settings: int | None = None,
    rounds: int | None = None,
    quiet: bool = False,
) -> list[Path]:
    """Run the board: all methods of the suite on its tasks, by one protocol. Repeat an interrupted run to continue.

    Args:
        epsilons, seeds, num_settings, rounds: in place of the board's; results of different protocols are never mixed.
        quiet: as for `run`.

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
    if methods is not None and len(names) != 1:
        raise InputError("methods are named for one task: name it, as in `bench board digits --methods Ditto`")
    requests = [board_request(name, methods, out=out, **chosen) for name in names]
    for compared in _compared(requests, workers, quiet=quiet):
        figure.write(compared)
    return [request.folder for request in requests]
