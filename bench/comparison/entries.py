"""Entries of a board: methods of others, each in a folder with its runs and the protocol that they were made by.

Whatever an entry says about itself is checked against the board's protocol before it is ranked (`fault`). Whether its
author ran what the rows say cannot be checked here.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from pandas.api.types import is_numeric_dtype, is_string_dtype

from bench.algorithms import ALGORITHMS
from bench.analysis import metric_limits as possible
from bench.analysis.measured import LONGEST, PANEL, SLACK, is_name, over_target, spent
from bench.comparison.columns import COSTS, TUNED
from bench.comparison.problem import Problem
from bench.comparison.protocol import PROTOCOL, Protocol, as_json, differences, read_protocol
from bench.comparison.result import Comparison, at_end
from bench.comparison.search import FINALISTS
from bench.comparison.stages import TEST, TUNING, with_spent
from bench.errors import InputError, shown, writing
from bench.files import write_whole
from bench.store import part_files

ENTRIES = "entries"
UNUSUAL = r"[^\w .-]"  # in the name of a folder that somebody else chose
NUMBERS = ["target_epsilon", "trial", "setting", "rounds", "num_rounds", "delta", "epsilon", "version"]  # of all runs
SHOWN = ["algorithm", "task", "source", "commit"]  # text that tables show
TEXTS = [*SHOWN, "checksum", "reading", *PANEL]
MORE_NUMBERS = ("epsilon", *COSTS, TUNED)  # columns that begin so are numbers where they are there
MOST_ROWS, MOST_COLUMNS = 500_000, 10_000  # of an entry


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
    with writing(folder):
        for stage, rows in ((TUNING, comparison.tuning.runs), (TEST, comparison.evaluations)):
            of_method = rows[rows["algorithm"] == label].dropna(axis="columns", how="all")
            if stage == TEST:
                of_method = of_method.assign(protects_against=comparison.adversaries[label])
            table = pa.Table.from_pandas(of_method.assign(sweep=f"{label}/{stage}"), preserve_index=False)
            content = part_files.as_file(table)
            path = part_files.part_path(folder / stage, table, content)
            path.parent.mkdir(parents=True, exist_ok=True)
            for other in part_files.parts_in(path.parent):
                if other != path:
                    other.unlink()
            part_files.write(path, content)
        write_whole(folder / PROTOCOL, as_json(comparison.plan.request.protocol))
    return folder


class Stored(NamedTuple):
    """The stored results of a board on a task.

    tuning: rows as in `Tuning.runs`.
    evaluations: rows as in `Comparison.evaluations`.
    left_out: method or folder of an entry whose runs do not follow the protocol -> what is wrong with them.
    """

    tuning: pd.DataFrame
    evaluations: pd.DataFrame
    left_out: dict[str, str]


def with_entries(board: Path, protocol: Protocol, problem: Problem, suite: Stored) -> Stored:
    """Return the results of a board's own methods and of its entries, which are checked against its protocol.

    Args:
        board: folder of the task.
        protocol: of the board.
        problem: what the methods are compared on.
        suite: of the board's own methods.
    """
    tuning, evaluations, left_out = [suite.tuning], [suite.evaluations], dict(suite.left_out)
    for folder in sorted(board.glob(f"{ENTRIES}/*")):
        if folder.name.startswith(".") or folder.is_file():
            continue
        try:
            tried, tested = _read(folder, protocol, problem, suite.evaluations)
        except InputError as why:
            left_out[f"{ENTRIES}/{re.sub(UNUSUAL, '?', folder.name)[:LONGEST]}"] = str(why)
        else:
            tuning.append(tried)
            evaluations.append(tested)
    return Stored(pd.concat(tuning, ignore_index=True), pd.concat(evaluations, ignore_index=True), left_out)


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
    taken = {*(problem.baselines or {}), *evaluations["algorithm"], *ALGORITHMS} - ({label} & {*ALGORITHMS})
    if label.casefold() in map(str.casefold, taken):
        raise InputError("it has the name of a method of the board: rename the function, and add it again")
    shapes = [part_files.shape(path) for stage in stages for path in part_files.parts_in(stage)]
    num_rows, num_columns = sum(rows for rows, _ in shapes), max(columns for _, columns in shapes)
    if num_rows > MOST_ROWS or num_columns > MOST_COLUMNS:
        most = f"at most {MOST_ROWS:,} of {MOST_COLUMNS:,}"
        raise InputError(f"it has {num_rows:,} rows of {num_columns:,} columns, but an entry {most}: {remedy}")
    columns = {*evaluations, problem.tuned_by, "look", "protects_against"}  # others are its own, and shown nowhere
    try:
        tried, tested = (part_files.read(stage, only=columns) for stage in stages)
    except InputError as why:
        raise InputError(f"{str(why).removesuffix(f': {part_files.REDO}')}: {remedy}") from None
    facts = {} if label in ALGORITHMS else {"num_rounds": protocol.rounds}
    what = fault(tried, tested, protocol, problem, {"algorithm": label, **facts})
    version = ALGORITHMS[label].version if label in ALGORITHMS else tested["version"].iloc[0]
    of_board = {name: evaluations[name].iloc[0] for name in ("task", "checksum")}
    if what or (what := unlike(tested, {**of_board, "version": version})):
        raise InputError(f"{what}: {remedy}")
    for name in (name for name in tested if name in evaluations):
        if is_numeric_dtype(tested[name]) != is_numeric_dtype(evaluations[name]):
            raise InputError(f"its {name} is {tested[name].dtype}, and that of the board is not: {remedy}")
    return tried, with_spent(tested)


def fault(
    tuning: pd.DataFrame,
    evaluations: pd.DataFrame,
    protocol: Protocol,
    problem: Problem,
    facts: Mapping[str, Any],
) -> str:
    """Return what in the runs of a method on a board does not follow the protocol, in words; "" where all does.

    Args:
        tuning: its tuning runs, at their end.
        evaluations: all evaluations of its test runs.
        protocol: of the board.
        problem: what the methods are compared on.
        facts: column -> what all runs must have in it, besides what the protocol says.
    """
    facts = {**facts, "delta": protocol.delta, **dict(zip(PANEL, (protocol.unit, protocol.neighbors), strict=True))}
    places = [{*product(at, range(protocol.seeds))} for at in ([0.0], [*protocol.epsilons, np.inf])]
    for stage, rows, score in ((TUNING, tuning, problem.tuned_by), (TEST, evaluations, problem.metric)):
        if what := no_numbers(rows, (score, *problem.also)) or unlike(rows, facts):
            return f"in its {stage} runs {what}"
        least, most = possible.limits(score)
        beyond = rows.loc[rows[score].notna() & ~rows[score].between(least, most), score]
        if len(beyond):
            return f"in its {stage} runs {score} is {beyond.iloc[0]:g}, which is impossible"
        counts = at_end(rows)[["target_epsilon", "trial"]].value_counts()
        if {*counts.index} not in places:
            return (
                f"it has missing runs in {stage}, or others than those at epsilon {[*protocol.epsilons, np.inf]} (or 0 "
                f"alone) of splits 0 to {protocol.seeds - 1}"
            )
        if stage == TEST and counts.max() > 1:
            return "it has several test runs of one split and epsilon"
    for (epsilon, split), settings in tuning.groupby(["target_epsilon", "trial"])["setting"]:
        runs = settings.value_counts()
        again = min(FINALISTS, len(runs)) if epsilon == np.inf and len(runs) > 1 else 0
        wanted = [1] * (len(runs) - again) + [1 + protocol.further_seeds] * again
        if len(runs) > protocol.settings or sorted(runs) != wanted:
            return (
                f"{len(settings)} tuning runs are of {len(runs)} settings at epsilon {epsilon:g} on split {split:g}; "
                f"the protocol asks for {sum(wanted)} of at most {protocol.settings}"
            )
    if len(over := over_target(evaluations)):
        return f"it spent epsilon {spent(over).iloc[0]:.4g} at the target {over['target_epsilon'].iloc[0]:g}"
    if TUNED in evaluations:
        less = evaluations[evaluations[TUNED] * SLACK < spent(evaluations)]
        if len(less := less[np.isfinite(less["target_epsilon"])]):
            return f"it has {TUNED} {less[TUNED].iloc[0]:.4g}, which is less than one run spends"
    return ""


def no_numbers(rows: pd.DataFrame, scores: Sequence[str]) -> str:
    """Return which column is missing, has no numbers, has gaps, or has text that no table can show, in words.

    Args:
        rows: of runs.
        scores: columns with scores, of which the first must be there; those on drawn users begin with their names.
    """
    for name in (*NUMBERS, scores[0], *TEXTS):
        if name not in rows:
            return f"there is no column {name}"
    if rows.empty:
        return "there are no rows"
    for name in [*NUMBERS, *(name for name in map(str, rows) if name.startswith((*scores, *MORE_NUMBERS)))]:
        if rows[name].dtype.kind not in "iuf":
            return f"{name} is {shown(rows[name].tolist()[0])}, which is no number"
        if name in NUMBERS and name != "epsilon" and rows[name].isna().any():
            return f"{name} is missing in some rows"
    for name in (*TEXTS, "scale", "protects_against"):
        if name in rows and not is_string_dtype(rows[name]):
            return f"{name} is {shown(rows[name].tolist()[0])}, which is no text"
    for name in (*SHOWN, "scale", "protects_against"):
        for text in rows[name].unique() if name in rows else ():
            if not is_name(text, longest=200):
                return f"{name} is {shown(text)}, which no table can show"
    return ""


def unlike(rows: pd.DataFrame, facts: Mapping[str, Any]) -> str:
    """Return which column has another value than all rows must have, in words."""
    for name, expected in facts.items():
        wrong = rows.loc[rows[name] != expected, name]
        if len(wrong):
            return f"{name} is {shown(wrong.tolist()[0])}, but it should be {shown(expected)}"
    return ""
