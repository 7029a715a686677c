"""The cells of the board's tables, for the page, Markdown, LaTeX and CSV."""

import math
from typing import Any
from urllib.parse import quote

import numpy as np
import pandas as pd

from bench.analysis import measured, metric_limits, tables
from bench.analysis.measured import PANEL
from bench.ranking import EVERY
from figures.pages.board import alone
from figures.pages.board.collect import Board, BoardTask

COSTS = {  # column of a comparison -> heading; costs are those of a whole run
    "floats_up": "numbers sent up",
    "gradients": "gradients computed",
    "examples": "examples touched",
}
OUTCOMES = {  # of a row, against the best baseline
    "better": "significantly better",
    "open": "no significant difference",
    "uncorrected": "not significant after correction",  # though its own interval excludes 0
    "worse": "significantly worse",
    "reference": "is the best baseline",
    "diverged": "diverged",
}


def epsilon_words(epsilon: float) -> str:
    """Return an epsilon as text for a reader."""
    return "every private ε" if epsilon == EVERY else "no noise" if math.isinf(epsilon) else f"ε = {epsilon:g}"


def panel_words(panel: tuple[str, str]) -> str:
    """Return a statement of privacy: "One user, add-or-remove one"."""
    return f"One {panel[0]}, {panel[1]}"


def outcome(row: dict) -> str:
    """Return the outcome of a row against the best baseline, a key of OUTCOMES."""
    if not np.isfinite(row["rank"]):
        return "diverged"
    if row["algorithm"] == row["best_baseline"]:
        return "reference"
    if not row["decided"]:
        return "uncorrected" if row["gain_low"] > 0 or row["gain_high"] < 0 else "open"
    return "better" if row["gain"] > 0 else "worse"


def place(row: dict) -> str:
    """Return the id of a row on the page."""
    parts = (row["name"], *(row[name] for name in PANEL), row["algorithm"], f"{row['target_epsilon']:g}")
    return "/".join(parts).replace(" ", "_")


def link(row: dict) -> str:
    """Return the address of a row within the page."""
    return f"#{quote(place(row))}"


def score(row: dict) -> str:
    """Return a score with its interval."""
    times, form = alone.scale(row["metric"])
    low, high = metric_limits.cut(row["score"], row["low"], row["high"], row["metric"])
    return tables.with_interval(times * row["score"], times * float(low), times * float(high), form)


def rank(row: dict) -> str:
    """Return a rank, with an asterisk where the difference to the best baseline is significant."""
    return tables.number(row["rank"], ".0f", "no rank") + ("*" if row["decided"] else "")


def gain(row: dict) -> str:
    """Return the gain over the best baseline with its interval; "best baseline" for that row itself, empty if
    unknown."""
    if row["algorithm"] == row["best_baseline"]:
        return "best baseline"
    if not np.isfinite(row["gain"]):
        return ""
    times, form = alone.scale(row["metric"])
    mean, low, high = (times * row[name] for name in ("gain", "gain_low", "gain_high"))
    numbers = tables.with_interval(mean, low, high, f"+{form}")
    return numbers + ("*" if row["decided"] else "")


def mean_rank(row: dict) -> str:
    """Return a mean rank with its interval."""
    return tables.with_interval(row["mean_rank"], row["low"], row["high"], ".2f")


def task_ranks(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the mean rank over the epsilons of these rows, a row for each method and a column for each task, NaN where
    it was not run; a method that diverged ranks behind all others.

    Methods are in the order of their mean rank over the tasks that all of them have; where there is none, and between
    equals, of that on the first task, then on the next.
    """
    ranked = rows.groupby(["name", "target_epsilon"])["rank"].transform("count")
    filled = rows.assign(rank=rows["rank"].fillna(ranked + 1))
    ranks = filled.groupby(["algorithm", "name"])["rank"].mean().unstack()
    keys = pd.concat([ranks.dropna(axis="columns").mean(axis=1), ranks], axis=1)
    return ranks.loc[keys.sort_values([*keys.columns]).index]


def methods_by_task(rows: pd.DataFrame, ranks: pd.DataFrame, epsilon: float) -> tuple[list[str], list]:
    """Return the table of one unit of privacy at one epsilon.

    Args:
        rows: of `Board.rows`, of that unit.
        ranks: of `Board.mean_ranks`, of that unit.
        epsilon: the epsilon; `EVERY` for the mean over the private ones.

    Returns:
        The tasks; and for each method, in the order of `task_ranks`, its name, its row of `ranks` or None, and for each
        task its row there, its mean rank for `EVERY`, or None where it did not take part.
    """
    rows = rows[np.isfinite(rows["target_epsilon"]) if epsilon == EVERY else rows["target_epsilon"] == epsilon]
    by_task = task_ranks(rows)
    names = list(map(str, by_task))
    cells: dict[tuple[Any, str], Any] = {
        (row["algorithm"], row["name"]): by_task.loc[row["algorithm"], row["name"]] if epsilon == EVERY else row
        for row in rows.to_dict("records")
    }
    means = {row["algorithm"]: row for row in ranks[ranks["target_epsilon"] == epsilon].to_dict("records")}
    listed = [(name, means.get(name), [cells.get((name, task)) for task in names]) for name in by_task.index]
    return names, listed


def plain(rows: pd.DataFrame, ranks: pd.DataFrame, epsilon: float) -> pd.DataFrame:
    """Return the table of `methods_by_task` for print, each cell a score with its interval and its rank in brackets."""
    names, listed = methods_by_task(rows, ranks, epsilon)
    return pd.DataFrame(
        [
            {"method": method}
            | ({"mean rank": mean_rank(mean)} if mean else {})
            | {name: _plain(cell) for name, cell in zip(names, cells, strict=True)}
            for method, mean, cells in listed
        ]
    )


def _plain(cell: Any) -> str:
    return "" if cell is None else f"{score(cell)} ({rank(cell)})" if isinstance(cell, dict) else f"{cell:.2f}"


def protocol_of(task: BoardTask) -> dict[str, str]:
    """Return the protocol that a task was run by, in words."""
    stated, first = task.protocol, task.rows.iloc[0]
    direction = "larger" if first["best"] == "max" else "smaller"
    return {
        "task": task.name,
        "score": f"{task.metric}{', in percent' * (alone.scale(task.metric)[0] == 100)}, {direction} is better",
        "measured on": measured.words(task.table, task.metric) or "not stated",
        "protected": f"one {stated.unit}, {stated.neighbors}",
        "δ": f"{stated.delta:.2g}",
        "ε": ", ".join(f"{value:g}" for value in stated.epsilons),
        "splits": str(stated.seeds),
        "settings tried": str(stated.settings),
        "rounds": str(stated.rounds),
        "data": str(first["source"]),
        "code": f"commit {first['commit']}",
    }


def all_rows(board: Board) -> pd.DataFrame:
    """Return every row of the board as numbers, with the protocol and the settings that were chosen."""
    rows, tasks = board.rows(), {task.name: task for task in board.tasks}
    protocols = [tasks[name].protocol for name in rows["name"]]
    facts = {
        "outcome": [outcome(row) for row in rows.to_dict("records")],
        "protocol_settings": [protocol.settings for protocol in protocols],
        "protocol_rounds": [protocol.rounds for protocol in protocols],
        "chosen": [chosen_words(tasks[row["name"]], row) for row in rows.to_dict("records")],
    }
    table = rows.drop(columns="task", errors="ignore").rename(columns={"name": "task"}).assign(**facts)
    return table[["task", *table.columns.drop("task")]]


def chosen_at(task: BoardTask, row: dict) -> pd.DataFrame:
    """Return the chosen settings of a row: one row per split, "trial" and a column for each argument."""
    tuned, epsilon = task.chosen[row["algorithm"]].tuned, 0.0 if row["reveals_nothing"] else row["target_epsilon"]
    return tuned[tuned["target_epsilon"] == epsilon].drop(columns="target_epsilon")


def chosen_words(task: BoardTask, row: dict) -> str:
    """Return the chosen settings of a row, "step_size = 0.1, 0.2": a value for each split."""
    settings = chosen_at(task, row)
    return "; ".join(f"{name} = {', '.join(map(str, settings[name]))}" for name in settings.columns.drop("trial"))
