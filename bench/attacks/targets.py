"""What is attacked: the methods of a board, with the settings that it chose on one split."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from bench.algorithms.base import Method
from bench.attacks.runs import Attacked
from bench.comparison.board import protocol_on_board
from bench.comparison.problem import Problem
from bench.comparison.problems import problem
from bench.comparison.protocol import board_folder
from bench.comparison.result import at_end
from bench.comparison.stages import TEST, with_spent
from bench.data.task import Task
from bench.errors import InputError, check_name
from bench.store import part_files
from bench.sweeps.spec import arguments


class Targets(NamedTuple):
    """What is attacked on a task.

    folder: of the board's task.
    targets: the methods, each at each epsilon.
    silent_labels: methods that were asked for and release nothing.
    """

    folder: Path
    targets: list[Attacked]
    silent_labels: list[str]


def targets(
    task: str,
    labels: Sequence[str],
    epsilons: Sequence[float],
    *,
    board: str,
    out: Path,
    split: int,
) -> Targets:
    """Return what is attacked.

    Args:
        task: of the board.
        labels: names of methods on the board; none means all.
        epsilons: inf without noise; none means all of the board.
        board: its folder; "board" is the one in `out`.
        out: the results folder.
        split: whose settings and data are taken.

    Raises:
        InputError: for unknown names, and a board that has no such runs, or other data or versions.
    """
    folder = board_folder(board, out)
    protocol = protocol_on_board(folder, task)
    setup, folder = problem(task), folder / task
    if not 0 <= split < protocol.seeds:
        raise InputError(f"split is {split}, but {folder} has splits 0 to {protocol.seeds - 1}: choose one of them")
    remedy = f"run `python -m bench board {setup.name}` again"
    if not part_files.parts_in(folder / TEST):
        raise InputError(f"{folder} has no runs in {TEST}: run `python -m bench board {setup.name}` first")
    runs = at_end(part_files.read(folder / TEST))
    runs = with_spent(runs[runs["trial"] == split])
    variants = {label: variant for label, variant in (setup.baselines or {}).items() if label in set(runs["algorithm"])}
    for label in labels:
        check_name(f"method of the suite on the board's {setup.name}", label, variants)
    private = runs[runs["target_epsilon"] > 0]
    available = sorted(set(private["target_epsilon"]))
    for epsilon in epsilons:
        if epsilon not in available:
            raise InputError(f"epsilon is {epsilon:g}, but {folder} has {', '.join(map('{:g}'.format, available))}")
    task_of_split = setup.test_tasks()(split)
    if set(runs["checksum"]) - {task_of_split.checksum}:
        raise InputError(f"{folder} was run on data with another checksum than the data found here: {remedy}")
    bare_task = replace(task_of_split, evaluation=None, metrics=None)  # what only measures is not needed
    chosen = list(labels) or list(variants)
    found = []
    for label in chosen:
        method = variants[label].method
        rows = private[(private["algorithm"] == label) & private["target_epsilon"].isin(list(epsilons) or available)]
        for row in rows.sort_values("target_epsilon").to_dict("records"):
            if row["version"] != method.version:
                raise InputError(
                    f"{folder} has version {row['version']:g} of {label}, but this is version {method.version}: "
                    f"{remedy}"
                )
            found.append(_target(setup, method, row, bare_task))
    silent_labels = [label for label in chosen if not (private["algorithm"] == label).any()]
    if not found:
        raise InputError(
            f"{', '.join(silent_labels)} of {folder} release nothing, so nothing can be attacked: name another"
        )
    return Targets(folder, found, silent_labels)


def _target(setup: Problem, method: Method, row: dict, task: Task) -> Attacked:
    args = arguments(method, {name: value for name, value in row.items() if not pd.isna(value)})
    method.fits(task, **args)
    readings = method.readings(task, delta=row["delta"], **args)
    release = readings[row["reading"]] if row["reading"] in readings else readings["paper"]
    declared = {
        "task": setup.name,
        "method": row["algorithm"],
        "target_epsilon": row["target_epsilon"],
        "epsilon": row["spent"],
        "delta": row["delta"],
        "privacy_unit": setup.privacy_unit,
        "neighbors": row["neighbors_compared"],
        "protects_against": release.protects_against if math.isfinite(row["target_epsilon"]) else "nobody",
    }
    return Attacked(method, args, int(row["num_rounds"]), task, row["trial"], declared, row["point"])
