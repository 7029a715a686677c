"""The board: results of the suite's methods on its tasks by one protocol, kept so that they need not be rerun.

A board is a folder with one comparison per task, each stored with its protocol. A new method is run alone by the same
protocol and compared with the stored results. Methods of others are stored next to them as entries, one per method.
"""

import inspect
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from bench.analysis.measured import is_name
from bench.comparison.columns import KEYS
from bench.comparison.entries import Stored, fault, no_numbers, unlike, with_entries
from bench.comparison.plan import Plan, in_legend
from bench.comparison.problem import Problem
from bench.comparison.problems import problem
from bench.comparison.protocol import BOARD, PROTOCOL, Protocol, board_folder, read_protocol
from bench.comparison.request import Request, as_list, make_request
from bench.comparison.result import at_end
from bench.comparison.stages import TEST, TUNING, choose, with_spent
from bench.data.tasks.registry import TASKS, misnamed, on_board
from bench.errors import InputError, shown
from bench.store import part_files

LESS = {"epsilons": (1.0, 4.0, 8.0), "num_settings": 24}  # where the whole would take too long
INSTALLED = Path(__file__).parent / "rows_of_board"  # in a wheel, where setup.py copies the committed rows


def board_request(
    task: str,
    methods: Sequence[str] | None = None,
    *,
    out: str | os.PathLike,
    **options: Any,
) -> Request:
    """Return the request that compares methods of the suite on a task of the board.

    Args:
        task: one of the board.
        methods: by name, beside those that the folder has runs of; None for all.
        out: results folder; the board is out/board.
        options: arguments of `make_request` that replace the board's.

    Raises:
        InputError: for a task that the board does not have.
    """
    if task not in on_board():
        raise misnamed(task, "a task of the board", on_board())
    known = problem(task).baselines
    assert known is not None, task
    labels = [label for label, variant in known.items() if not variant.against]
    if methods is not None:
        present = _methods_in(Path(out) / BOARD / task)
        wanted = {*in_legend(methods, known, task)}
        if excluded := sorted(wanted - {*labels}):
            raise InputError(f"{excluded[0]} has another adversary than the board: leave it out")
        labels = [label for label in labels if label in wanted | present]
    usual: dict[str, Any] = {"rounds": TASKS[task].board, "baselines": labels, "name": task}
    less = LESS if TASKS[task].reduced else {}
    request = make_request(task=task, out=out, **usual | less | options)._replace(scale=BOARD)
    if not (request.folder / PROTOCOL).exists():
        return request
    return _searching_as(request, read_protocol(request.folder))


def _searching_as(request: Request, stored: Protocol) -> Request:
    """Return the request with what a stored protocol says that methods are tuned over."""
    return request._replace(protocol=request.protocol.model_copy(update={"space": stored.space}))


def _methods_in(folder: Path) -> set[str]:
    """Return the methods that the folder of a task has test runs of."""
    if not part_files.parts_in(folder / TEST):
        return set()
    return {*part_files.read(folder / TEST, only=("algorithm",))["algorithm"].astype(str)}


def protocol_on_board(folder: Path, task: str) -> Protocol:
    """Return the protocol of a task in the folder of a board.

    Raises:
        InputError: where the board has no such task, or its protocol cannot be read.
    """
    tasks = {path.parent.name for path in folder.glob(f"*/{PROTOCOL}")}
    if tasks and task not in {*tasks, *on_board()}:
        raise misnamed(task, f"a task of the board {folder}", tasks)
    return read_protocol(folder / task)


def board_with(board: str | os.PathLike, task: str, out: str | os.PathLike) -> Path:
    """Return the folder of a board that a comparison on a task is made with.

    Args:
        board: the folder; "board" is out/board, or, where that does not have the task, the copy of the committed board
            that an installed wheel has.
        task: name of the task.
        out: results folder.
    """
    folder = board_folder(board, out)
    copied = str(board) == BOARD and not (folder / task).exists() and (INSTALLED / task).is_dir()
    return INSTALLED if copied else folder


def request_on_board(board: str | os.PathLike, methods: Any, **options: Any) -> Request:
    """Return the request that compares new methods with a board by its protocol.

    Args:
        board: as in `board_with`.
        methods: as in `make_request`.
        options: as of `make_request`; values that differ both from the board's and from the defaults are refused.

    Raises:
        InputError: where the board has no such task, or was run with other options than requested.
    """
    on = problem(options["task"])
    folder = board_with(board, on.name, options["out"])
    protocol = protocol_on_board(folder, on.name)
    boards = {
        "epsilons": protocol.epsilons,
        "seeds": protocol.seeds,
        "num_settings": protocol.settings,
        "rounds": protocol.rounds,
        "neighbors": protocol.neighbors,
        "delta": protocol.delta,
        "baselines": [],
        "population": 1.0,
    }
    usual = {name: parameter.default for name, parameter in inspect.signature(make_request).parameters.items()}
    for name, wanted in boards.items():
        value = options.get(name, wanted)
        if as_list(value) not in (as_list(wanted), as_list(usual[name])):
            raise InputError(f"{name} is {value}, but the board was run with {wanted}: leave it out")
    return _searching_as(make_request(methods, **options | boards)._replace(board=folder), protocol)


def read_board(folder: Path, plan: Plan) -> Stored:
    """Return the results of a board's methods, as rows that can be combined with those of a plan.

    Args:
        folder: of the task.
        plan: on the same task, by the same protocol.

    Raises:
        InputError: where the board was run with another protocol, other data or other versions of its methods.
    """
    request = plan.request
    if (protocol := read_protocol(folder)) != request.protocol:
        raise InputError(f"{folder} was run with another protocol, {protocol}: leave those options out")
    suite = own_runs(folder, protocol, request.problem)
    _check_same(folder, suite.evaluations, plan)
    return with_entries(folder, protocol, request.problem, suite)


def own_runs(folder: Path, protocol: Protocol, problem: Problem) -> Stored:
    """Return the results of a board's own methods on a task, without the entries of others.

    Args:
        folder: of the task.
        protocol: of the folder.
        problem: what the methods are compared on.

    Raises:
        InputError: where a stage has no runs, or no method follows the protocol.
    """
    for stage in (TUNING, TEST):
        if not part_files.parts_in(folder / stage):
            raise InputError(f"{folder} has no runs in {stage}: run `python -m bench board {folder.name}` first")
    tuning = pd.concat(list(_looks(folder)), ignore_index=True)
    tried, tested, left_out = [], [], {}
    for label, runs in part_files.read(folder / TEST).groupby("algorithm", sort=False):
        of_method = tuning[tuning["algorithm"] == label]
        what = "" if is_name(label) else "its name cannot be shown"
        what = what or no_numbers(of_method, [problem.tuned_by]) or no_numbers(runs, [problem.metric])
        if not what:
            runs = runs.merge(choose(of_method, metric=problem.tuned_by, best=problem.best), on=KEYS)
            what = fault(of_method, runs, protocol, problem, {"algorithm": label})
        if what:
            left_out[str(label) if is_name(label) else shown(label)] = what
        else:
            tried.append(of_method)
            tested.append(with_spent(runs))
    if not tested:
        label, what = next(iter(left_out.items()), (TEST, "no rows"))
        raise InputError(
            f"{folder} has no method whose runs follow its protocol ({label}: {what}): move it elsewhere and run "
            f"`python -m bench board {folder.name}` again"
        )
    return Stored(pd.concat(tried, ignore_index=True), pd.concat(tested, ignore_index=True), left_out)


def _looks(folder: Path) -> Iterator[pd.DataFrame]:
    """Yield the tuning runs of all stages of the search."""
    yield at_end(part_files.read(folder / TUNING)).assign(look=0)
    for path in sorted(folder.glob(f"{TUNING}_*/")):
        yield at_end(part_files.read(path)).assign(look=int(path.name.rpartition("_")[2]))


def _check_same(folder: Path, runs: pd.DataFrame, plan: Plan) -> None:
    """Refuse results of other data or of another version of a method."""
    problem = plan.request.problem
    wrong = unlike(runs, {"checksum": problem.test_tasks()(0).checksum})
    for label, of_method in runs.groupby("algorithm"):
        if not wrong and label in (known := problem.baselines or {}):
            wrong = unlike(of_method, {"version": known[str(label)].method.version})
            wrong = wrong and f"of {label} {wrong}"
    if wrong:
        raise InputError(
            f"{folder} was run otherwise, {wrong}: get the same data (`python -m bench data list` says where they were "
            f"found), or run `python -m bench board {problem.name}` again"
        )
