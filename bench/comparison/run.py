"""Runs a comparison from request to result, including the methods of a board where one is named."""

from collections.abc import Iterable

import pandas as pd

from bench.comparison.board import read_board, write_protocol
from bench.comparison.plan import make_plan
from bench.comparison.request import BOARD, Request
from bench.comparison.result import Comparison, Tuning
from bench.comparison.stages import TEST, TUNING, run_plan
from bench.errors import InputError, unknown_name
from bench.execution.pool import Pool
from bench.store.other_data import ELSEWHERE, check_choice


def compare(request: Request, pool: Pool | None = None) -> Comparison:
    """Tune and test methods and the baselines of a problem. Repeat an interrupted comparison to continue.

    Args:
        request: what to compare.
        pool: the workers; by default each stage starts its own.

    Raises:
        InputError: for anything that cannot be used, before anything is run.
        NotComparable: (an InputError) for a method with another privacy statement.
    """
    check_data(request)
    plan = make_plan(request)
    if request.scale == BOARD:
        write_protocol(request)
    if request.against is None:
        _check_reference(request, plan.candidates)
        return run_plan(plan, pool)
    board = read_board(request.against / request.problem.name, plan)
    if both := set(plan.candidates) & set(board.evaluations["algorithm"]):
        raise InputError(
            f"{', '.join(sorted(both))} is on the board already: leave it out, rename your method, or delete its entry"
        )
    _check_reference(request, [*plan.candidates, *board.evaluations["algorithm"].unique()])
    ours = run_plan(plan, pool)
    evaluations, tuning = (
        pd.concat([mine, theirs], ignore_index=True)
        for mine, theirs in ((ours.evaluations, board.evaluations), (ours.tuning.runs, board.tuning))
    )
    of_board = list(dict.fromkeys(board.evaluations["algorithm"]))
    return Comparison(plan, Tuning(tuning, ours.tuning.settings), evaluations, of_board, board.left_out)


def check_data(request: Request) -> None:
    """Refuse a comparison with results of better data than this machine has, before any data are read.

    Raises:
        OtherData: (an InputError) naming the data set, and what to do.
    """
    makers = [make for make in (request.problem.test, request.problem.tuning) if make]
    folders = [] if request.fresh else [request.folder / stage for stage in (TUNING, TEST)]
    if request.against is not None:
        check_choice(makers, request.against / request.problem.name / TEST, otherwise=["leave --against out"])
    for folder in folders:
        check_choice(makers, folder, otherwise=ELSEWHERE)


def _check_reference(request: Request, names: Iterable[str]) -> None:
    """Refuse a reference that is none of the methods that are compared."""
    if request.reference is not None and request.reference not in (known := list(names)):
        raise unknown_name("method to take gains over", request.reference, known)
