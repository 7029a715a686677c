"""Runs a comparison from request to result, including the methods of a board where one is named."""

import logging

import pandas as pd

from bench.comparison.board import read_board
from bench.comparison.plan import make_plan
from bench.comparison.protocol import BOARD, write_protocol
from bench.comparison.request import Request
from bench.comparison.result import Comparison, Tuning
from bench.comparison.stages import run_plan
from bench.errors import InputError
from bench.execution.pool import Pool

log = logging.getLogger(__name__)


def compare(request: Request, pool: Pool | None = None) -> Comparison:
    """Tune and test methods and the baselines of a problem. Repeat an interrupted comparison to continue.

    Args:
        request: what to compare.
        pool: the workers; by default each stage starts its own.

    Raises:
        InputError: for anything that cannot be used, such as a method with another privacy statement, before anything
            is run.
    """
    plan = make_plan(request)
    if request.scale == BOARD:
        write_protocol(request.folder, request.protocol)
    if request.board is None:
        return run_plan(plan, pool)
    board = read_board(request.board / request.problem.name, plan)
    if both := set(plan.candidates) & set(board.evaluations["algorithm"]):
        raise InputError(
            f"{', '.join(sorted(both))} is on the board already: leave it out, rename your method, or delete its entry"
        )
    for label, why in board.left_out.items():
        log.warning("%s, of the board, is left out: %s", label, why)
    compared = run_plan(plan, pool)
    evaluations, tuning = (
        pd.concat([new, old], ignore_index=True)
        for new, old in ((compared.evaluations, board.evaluations), (compared.tuning.runs, board.tuning))
    )
    return Comparison(plan, Tuning(tuning, compared.tuning.settings), evaluations, board.left_out)
