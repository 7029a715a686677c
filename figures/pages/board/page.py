"""The page of the board, as text, and the explanations that it shares with the tables in Markdown."""

import math
from pathlib import Path

import pandas as pd

from bench.analysis import measured
from bench.analysis.significance import FEWEST_SPLITS, LEVEL
from bench.ranking import DRAWS, EVERY
from figures.pages.board import alone, attacks, curves, tables
from figures.pages.board.collect import TUNED, Board, command, written
from figures.pages.html import render

FIRST = 1.0  # the epsilon that is shown at first, where the board has it
Panel = tuple[str, str]  # unit of privacy and neighbouring relation
Ranks = dict[Panel, pd.DataFrame]  # of figures.pages.board.collect.Board.mean_ranks


def page(board: Board, ranks: Ranks, results: Path, csv: str) -> str:
    """Return the whole page: one HTML document that makes no network requests.

    Args:
        board: what is shown.
        ranks: the mean ranks of every unit of privacy.
        results: the folder of results, for commands.
        csv: all rows, to be saved from the page.
    """
    rows, of_name = board.rows(), {task.name: task for task in board.tasks}
    epsilons = sorted(rows["target_epsilon"].unique())
    finite = [value for value in epsilons if math.isfinite(value)]
    ids = {panel: "unit-" + "-".join(panel).replace(" ", "-") for panel in board.panels}
    numbers = {"settings_tried": "settings tried", **tables.COSTS}
    numbers = {name: heading for name, heading in numbers.items() if name in rows}
    heads = ["task", "ε", "method", "settings", "score", "rank", "gain over the best baseline", "against it"]
    heads += [*numbers.values(), *(["ε with tuning counted"] if TUNED in rows else [])]
    return render(
        "board.html",
        board=board,
        first=FIRST if FIRST in epsilons else (finite or epsilons)[len(finite or epsilons) // 2],
        methods={name: name for name in sorted(rows["algorithm"].unique())},
        finite=[f"{value:g}" for value in finite],
        ids=ids,
        units={ids[panel]: tables.panel_words(panel) for panel in board.panels},
        epsilons={f"{value:g}": tables.epsilon_words(value) for value in epsilons},
        panels=[_panel(board, panel, ranks[panel], ids[panel]) for panel in board.panels],
        protocols=pd.DataFrame([tables.protocol_of(task) for task in board.tasks]),
        commands=lambda task: {
            "Made by": f"`{command(f'board {task}', results)}`",
            "NAME beside it": f"`{command(f'compare NAME --task {task} --against board', results)}`",
        },
        reading=reading(board, results),
        heads=[*heads, *attacks.headings(rows), "protected"],
        rows=[row | {"task_of": of_name[row["name"]]} for row in rows.to_dict("records")],
        numbers=numbers,
        csv=csv,
        **{"EVERY": EVERY, "TUNED": TUNED},
        **{"alone": alone, "attacks": attacks, "measured": measured, "tables": tables, "written": written},
    )


def _panel(board: Board, panel: Panel, ranks: pd.DataFrame, name: str) -> dict:
    """Return the content for a unit of privacy: words, a table for each epsilon, a picture, and its ranks as CSV."""
    gains = pd.concat([task.alone.assign(name=task.name) for task in board.tasks])
    rows = board.rows(panel).merge(gains, on=["name", *alone.PLACE], validate="1:1")
    outcomes: dict[tuple[float, str], set[str]] = {}
    for row in rows.to_dict("records"):
        for epsilon in (row["target_epsilon"], *([EVERY] if math.isfinite(row["target_epsilon"]) else [])):
            outcomes.setdefault((epsilon, row["algorithm"]), set()).add(tables.outcome(row))
    shown = []
    of_task = {task.name: task for task in board.tasks}
    for epsilon in sorted({epsilon for epsilon, _ in outcomes}):
        names, lines = tables.methods_by_task(rows, ranks, epsilon)
        heads = [f"{task}\n{tables.protocol_of(of_task[task])['score']}" for task in names]
        lines = [(*line, outcomes[epsilon, line[0]]) for line in lines]
        shown.append({"epsilon": epsilon, "heads": heads, "lines": lines, "means": any(line[1] for line in lines)})
    words = tables.panel_words(panel)
    return {
        "id": name,
        "words": words,
        "protected": protected(panel, board),
        "ranked": board.ranked(panel),
        "tables": shown,
        "picture": curves.picture(ranks, words) if len(ranks) else None,
        "csv": ranks.to_csv(index=False, float_format="%.6g"),
    }


def protected(panel: Panel, board: Board) -> str:
    """Return a sentence on what the tables of a unit of privacy protect against whom, and at which delta on each
    task."""
    tasks = [task for task in board.tasks if task.panel == panel]
    return render("protected.txt", unit=panel[0], tasks=tasks).strip()


def reading(board: Board, results: Path) -> dict[str, str]:
    """Return explanations for the reader by term, with names of the program between backticks."""
    rows = board.rows()
    attacked = attacks.headings(rows)
    canaries = rows[[f"attack_{name}" for name in attacks.ESTIMATED]].notna().any(axis=None) if attacked else False
    text = render(
        "reading.txt",
        units=dict.fromkeys(unit for unit, _ in board.panels),
        costs=[words for name, words in tables.COSTS.items() if name in rows],
        tuned=TUNED in rows,
        runs=attacks.several(rows["attack_runs"]) if attacked else "",
        canaries=attacks.several(rows["attack_canaries"]) if canaries else "",
        command=command("compare NAME --task TASK --against board", results),
        **{"DRAWS": DRAWS, "LEVEL": LEVEL, "FEWEST_SPLITS": FEWEST_SPLITS},
    )
    terms = (paragraph.strip().partition("\n") for paragraph in text.strip().split("\n\n"))
    return {term: " ".join(words.split()) for term, _, words in terms}
