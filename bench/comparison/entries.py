"""Entries of a board: methods of others, each in a folder with its runs and the protocol that they were made by.

Whatever an entry says about itself is checked against the board's protocol before it is ranked (`fault`). Whether its
author ran what the rows say cannot be checked here.
"""

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from bench.algorithms import ALGORITHMS
from bench.analysis import metric_limits as possible
from bench.analysis.measured import LONGEST, PANEL, SLACK, is_name, over_target, spent
from bench.comparison.columns import COSTS, TUNED
from bench.comparison.problem import Problem
from bench.comparison.protocol import PROTOCOL, Protocol, as_json, differences, read_protocol
from bench.comparison.result import Comparison, at_end
from bench.comparison.search import FINALISTS
from bench.comparison.stages import TEST, TUNING, with_spent
from bench.errors import InputError, cannot_write, shown
from bench.files import write_whole
from bench.store import part_files

ENTRIES = "entries"
UNUSUAL = r"[^\w .-]"  # in the name of a folder that somebody else chose
NUMBERS = ["target_epsilon", "trial", "setting", "rounds", "num_rounds", "delta", "epsilon"]  # columns, without gaps
WORDS = ["algorithm", "reading", "task", "source", "commit", "checksum", *PANEL]
OPTIONAL = [*COSTS, TUNED]  # numbers where they are there
CLOSE = 1e-9  # relative: the last digits of a number that was written and read


def write_entry(board: Path, label: str, comparison: Comparison) -> Path:
    """Store the runs of a method, made by the protocol of a board's task, next to those of the board.

    Args:
        board: folder of the task.
        label: name of the method in the comparison.
        comparison: of the method with the board.

    Returns:
        The folder of the entry, which consists of its three files.

    Raises:
        InputError: where the files cannot be written.
    """
    folder = board / ENTRIES / label
    for stage, rows in ((TUNING, comparison.tuning.runs), (TEST, comparison.evaluations)):
        of_method = rows[rows["algorithm"] == label].dropna(axis="columns", how="all")
        if stage == TEST:
            of_method = of_method.assign(protects_against=comparison.adversaries[label])
        table = pa.Table.from_pandas(of_method.assign(sweep=f"{label}/{stage}"), preserve_index=False)
        content = part_files.as_file(table)
        path = part_files.part_path(folder / stage, table, content)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            for other in part_files.parts_in(path.parent):
                if other != path:
                    other.unlink()
        except OSError as error:
            raise cannot_write(error, path) from None
        part_files.write(path, content)
    try:
        write_whole(folder / PROTOCOL, as_json(comparison.plan.request.protocol))
    except OSError as error:
        raise cannot_write(error, folder / PROTOCOL) from None
    return folder


class Entries(NamedTuple):
    """The entries of a board's task.

    tuning, evaluations: of each entry that follows the protocol, rows as in `Tuning.runs` and `Comparison.evaluations`.
    left_out: folder of each other entry, within that of the board -> why it cannot be ranked.
    """

    tuning: list[pd.DataFrame]
    evaluations: list[pd.DataFrame]
    left_out: dict[str, str]


def read_entries(board: Path, protocol: Protocol, problem: Problem, evaluations: pd.DataFrame) -> Entries:
    """Return the entries of a board's task, checked against its protocol.

    Args:
        board: folder of the task.
        protocol: of the board.
        problem: what the methods are compared on.
        evaluations: of the board's own test runs.
    """
    found = Entries([], [], {})
    for folder in sorted(board.glob(f"{ENTRIES}/*")):
        if folder.name.startswith(".") or folder.is_file():
            continue
        place = f"{ENTRIES}/{re.sub(UNUSUAL, '?', folder.name)[:LONGEST]}"
        try:
            tried, runs = _read(folder, protocol, problem, evaluations)
        except InputError as why:
            found.left_out[place] = str(why)
        else:
            found.tuning.append(tried)
            found.evaluations.append(runs)
    return found


def _read(
    folder: Path, protocol: Protocol, problem: Problem, evaluations: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the runs of one entry.

    Raises:
        InputError: where they do not follow the protocol of the board, or are no runs.
    """
    label, remedy = folder.name, "delete it, or add it again with `python -m bench board-add METHOD TASK`"
    stages = [folder / stage for stage in (TUNING, TEST)]
    for stage in stages:
        if not part_files.parts_in(stage):
            raise InputError(f"it is no entry, as it has no runs in {stage.name}: {remedy}")
    if not (is_name(label) and label.isidentifier() and label.isascii()) or label.startswith("__"):
        raise InputError("its name is not that of a function, in ASCII letters: rename the function, and add it again")
    try:
        stored = read_protocol(folder)
    except InputError:
        raise InputError(f"it has no {PROTOCOL} that can be read: {remedy}") from None
    if differ := differences(stored, protocol):
        entry, board = (getattr(conditions, differ[0]) for conditions in (stored, protocol))
        raise InputError(f"it was run with {differ[0]} {shown(entry)}, but the board with {board}: {remedy}")
    if label in (problem.baselines or {}) or label in set(evaluations["algorithm"]):
        raise InputError("it has the name of a method of the board: rename the function, and add it again")
    try:
        tried, tested = map(part_files.read, stages)
    except InputError as why:
        raise InputError(f"{str(why).removesuffix(f': {part_files.REDO}')}: {remedy}") from None
    rounds = None if label in ALGORITHMS else protocol.rounds
    if what := fault(label, tried, tested, protocol, problem, rounds):
        raise InputError(f"{what}: {remedy}")
    version = ALGORITHMS[label].version if label in ALGORITHMS else tested["version"].iloc[0]
    of_board = {name: evaluations[name].iloc[0] for name in ("task", "checksum")}
    for name, expected in {**of_board, "version": version}.items():
        wrong = tested.loc[tested[name] != expected, name]
        if len(wrong):
            raise InputError(f"it has {name} {shown(wrong.iloc[0])} where {shown(expected)} is expected: {remedy}")
    shared = [name for name in tested if name in evaluations or name == "protects_against"]
    for name in shared:
        numbers = [pd.api.types.is_numeric_dtype(rows[name]) for rows in (tested, evaluations) if name in rows]
        if len({*numbers}) > 1:
            raise InputError(f"its {name} is {tested[name].dtype}, and that of the board is not: {remedy}")
    return tried, with_spent(tested[shared])


def fault(
    label: str,
    tuning: pd.DataFrame,
    evaluations: pd.DataFrame,
    protocol: Protocol,
    problem: Problem,
    rounds: int | None = None,
) -> str:
    """Return what in the runs of a method on a board does not follow the protocol, in words; "" where all does.

    Args:
        label: name of the method.
        tuning: its tuning runs, at their end.
        evaluations: all evaluations of its test runs.
        protocol: of the board.
        problem: what the methods are compared on.
        rounds: of all its runs; None for a method that sets its own.
    """
    finite = [*protocol.epsilons, np.inf]
    for stage, rows, score in ((TUNING, tuning, problem.tuned_by), (TEST, evaluations, problem.metric)):
        if what := no_numbers(rows, score) or _unlike(rows, label, protocol):
            return f"its {stage} runs {what}"
        least, most = possible.limits(score)
        beyond = rows.loc[rows[score].notna() & ~rows[score].between(least, most), score]
        if len(beyond):
            return f"its {stage} runs have {score} {beyond.iloc[0]:g}, which is impossible"
        for name in rows.columns[rows.columns.str.startswith("epsilon")]:
            if (rows[name] < 0).any():
                return f"its {stage} runs have {name} {rows[name].min():g}, which is impossible"
        ends = at_end(rows)
        if rounds is not None and (ends["num_rounds"] != rounds).any():
            return f"its {stage} runs have {ends['num_rounds'].max():g} rounds, but those of the board {rounds}"
        targets = {*ends["target_epsilon"]}
        if targets not in ({0.0}, {*finite}):
            listed = ", ".join(f"{epsilon:g}" for epsilon in sorted(targets))
            return f"its {stage} runs are at epsilon {listed or 'none'}, but those of the board at {finite}"
        splits = ends.groupby("target_epsilon")["trial"]
        if any({*trials} != {*range(protocol.seeds)} for _, trials in splits):
            return f"it has missing runs in {stage}, or others than those of splits 0 to {protocol.seeds - 1}"
        if stage == TEST and splits.size().max() > protocol.seeds:
            return "it has several test runs of one split and epsilon"
    most = tuning.groupby(["target_epsilon", "trial"])["setting"].nunique().max()
    if most > protocol.settings:
        return f"it tried {most} settings, but the others at most {protocol.settings}"
    if what := _other_seeds(tuning, protocol):
        return what
    if len(over := over_target(evaluations)):
        first = over.iloc[0]
        return f"it spent epsilon {spent(over).iloc[0]:.4g} at the target {first['target_epsilon']:g}"
    if TUNED in evaluations:
        less = evaluations[evaluations[TUNED] * SLACK < spent(evaluations)]
        if len(less := less[np.isfinite(less["target_epsilon"])]):
            return f"it has {TUNED} {less[TUNED].iloc[0]:.4g}, which is less than one run spends"
    return ""


def _other_seeds(tuning: pd.DataFrame, protocol: Protocol) -> str:
    """Return where settings were run with more or fewer seeds than the protocol says, in words."""
    for _, tried in tuning[["target_epsilon", "trial", "setting"]].groupby(["target_epsilon", "trial"]):
        epsilon, split = tried["target_epsilon"].iloc[0], tried["trial"].iloc[0]
        of_split = tried["setting"].value_counts()
        again = min(FINALISTS, len(of_split)) if np.isinf(epsilon) and len(of_split) > 1 else 0
        wanted = [1] * (len(of_split) - again) + [1 + protocol.further_seeds] * again
        if sorted(of_split) != sorted(wanted):
            return (
                f"it has {of_split.sum()} tuning runs for the {len(of_split)} settings of split {split:g} at epsilon "
                f"{epsilon:g}, but the protocol asks for {sum(wanted)}"
            )
    return ""


def no_numbers(rows: pd.DataFrame, score: str) -> str:
    """Return which column is missing, has no numbers, or has gaps, in words."""
    needed = [*NUMBERS, score]
    for name in [*needed, *WORDS]:
        if name not in rows:
            return f"have no column {name}"
    parts = [str(name) for name in rows if str(name).startswith((score, *OPTIONAL))]
    for name in dict.fromkeys([*needed, *parts]):
        kind = rows[name].dtype
        if not pd.api.types.is_numeric_dtype(kind) or kind.kind in "bc":
            return f"have {shown(rows[name].iloc[0])} as {name}, which is no number"
        if name in NUMBERS and name != "epsilon" and rows[name].isna().any():
            return f"have rows without {name}"
    return ""


def _unlike(rows: pd.DataFrame, label: str, protocol: Protocol) -> str:
    """Return which column has another value than the board's, or text that cannot be shown, in words."""
    delta = rows.loc[~np.isclose(rows["delta"], protocol.delta, rtol=CLOSE, atol=0), "delta"]
    if len(delta):
        return f"are at delta {delta.iloc[0]:g}, but those of the board at {protocol.delta:g}"
    columns = dict(zip(PANEL, (protocol.unit, protocol.neighbors), strict=True)) | {"algorithm": label}
    for name, expected in columns.items():
        wrong = rows.loc[rows[name] != expected, name]
        if len(wrong):
            return f"have {name} {shown(wrong.iloc[0])}, but it should be {shown(expected)}"
    for name in ("source", "task", "commit", "scale", "protects_against"):
        for text in rows[name].unique() if name in rows else ():
            if not is_name(text, longest=200):
                return f"have {name} {shown(text)}, which no table can show"
    return ""
