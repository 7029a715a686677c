"""The page of the board, as text."""

import math
from html import escape
from pathlib import Path

import pandas as pd

from bench.analysis import measured
from bench.analysis.measured import PANEL
from bench.ranking import EVERY
from figures.pages.board import attacks, curves, tables
from figures.pages.board.collect import TUNED, Board, BoardTask, Chosen, command, written
from figures.pages.board.overview import overview
from figures.pages.board.reading import FIRST_TABLE, protected, reading
from figures.pages.report import html
from figures.pages.report.document import document, navigation
from figures.pages.report.html import Html, element

TITLE = "The board: methods of private federated learning, compared"
LOOKS = {
    tables.OUTCOMES["better"]: "verdict holds",
    tables.OUTCOMES["worse"]: "verdict fails",
    tables.OUTCOMES["open"]: "soft",
    tables.OUTCOMES["diverged"]: "soft",
}
ALTS = {
    "comparison": "the score against epsilon, a line for each method",
    "convergence": "the score against the cost of the run so far, a line for each method",
    "budget": "the held-out score against the number of settings tried, a line for each method",
}
Ranks = dict[tuple[str, str], pd.DataFrame]  # of figures.pages.board.collect.Board.mean_ranks, by unit and relation


def page(board: Board, ranks: Ranks, results: Path, csv: str) -> str:
    """Return the whole page: one HTML document that makes no network requests.

    Args:
        board: what is shown.
        ranks: the mean ranks of every unit of privacy.
        results: the folder of results, for commands.
        csv: all rows, to be saved from the page.
    """
    sections = [
        overview(board, ranks),
        _about(board),
        _filters(board),
        *(_panel(board, panel, ranks[panel]) for panel in board.panels),
        _tasks(board, results),
        _how(board, results),
        _rows(board, results, csv),
    ]
    own = "figures.pages.board"
    styles, programs = [(own, "board.css")], [(own, "board.js")]
    return document(TITLE, "", sections, styles=styles, programs=programs)


def _about(board: Board) -> str:
    """Return how the methods were compared, and links to what follows."""
    rows = board.rows()
    terms = {
        "Tasks": escape(", ".join(task.name for task in board.tasks)),
        "Methods": str(rows["algorithm"].nunique()),
        "ε": escape(", ".join(f"{value:g}" for value in _epsilons(board) if math.isfinite(value))),
        "Code": escape(f"commit {', '.join(sorted(set(rows['commit'].astype(str))))}"),
        "Left out": element("ul", *(element("li", html.prose(line)) for line in board.left_out))
        if board.left_out
        else "",
    }
    links = [(_id(panel), tables.panel_words(panel)) for panel in board.panels]
    links += [("tasks", "Tasks"), ("how", "How to read it"), ("rows", "All rows")]
    words = element(
        "p",
        "Every method was tuned and tested in the same way: under the same privacy statement, with the same number of "
        "settings tried on held-out data, on the same splits. Ranks are among methods that protect the same unit under "
        "the same neighbouring relation; different units are never ranked together. Each score links to the chosen "
        "settings and the command that produced it.",
    )
    return element("section", words, html.facts(terms), navigation(links), id="about")


def _epsilons(board: Board) -> list[float]:
    return sorted(board.rows()["target_epsilon"].unique())


def _id(panel: tuple[str, str]) -> str:
    return "unit-" + "-".join(panel).replace(" ", "-")


def _filters(board: Board) -> str:
    rows = board.rows()
    epsilons = {f"{value:g}": tables.epsilon_words(value) for value in _epsilons(board)}
    lists = [
        html.select("Unit", "unit", {_id(panel): tables.panel_words(panel) for panel in board.panels}),
        html.select("ε", "epsilon", epsilons, every=tables.epsilon_words(EVERY)),
        html.select("Method", "method", {name: name for name in sorted(rows["algorithm"].unique())}),
        html.select("Against the best baseline", "outcome", tables.OUTCOMES),
    ]
    left = element("span", id="rows-left", role="status")
    return element("div", *lists, left, class_="filters held")


# ---- A unit of privacy ----


def _panel(board: Board, panel: tuple[str, str], ranks: pd.DataFrame) -> str:
    rows, words = board.rows(panel), tables.panel_words(panel)
    outcomes: dict[tuple[float, str], set[str]] = {}
    for row in rows.to_dict("records"):
        for epsilon in (row["target_epsilon"], *([EVERY] if math.isfinite(row["target_epsilon"]) else [])):
            outcomes.setdefault((epsilon, row["algorithm"]), set()).add(tables.outcome(row))
    parts = []
    for epsilon in sorted(ranks["target_epsilon"].unique()):
        cells = tables.methods_by_task(rows, ranks, epsilon, _cell, html.sorted_by)
        methods = ranks.loc[ranks["target_epsilon"] == epsilon, "algorithm"]
        attributes = [
            {"data-method": method, "data-outcome": " ".join(sorted(outcomes[epsilon, method]))} for method in methods
        ]
        about = "mean rank over ε at each task" if epsilon == EVERY else "score [95 % interval], rank and gain"
        caption = f"{words}, {tables.epsilon_words(epsilon)}: {about}; the best mean rank first"
        value = "" if epsilon == EVERY else f"{epsilon:g}"
        parts.append(element("div", html.table(cells, caption, rows=attributes, class_="ranks"), data_at=value))
    counted = f"Mean rank over tasks against epsilon. {words}. The numbers are in the tables above."
    return element(
        "section",
        f"<h2>{escape(words)}</h2>",
        element("p", escape(protected(panel, board)), class_="soft"),
        *parts,
        element("p", "Nothing was run for this unit at this ε.", class_="soft nothing", hidden=True),
        element(
            "p",
            "Mean rank against ε. Bars are 95 % intervals by the bootstrap over splits. An end without a cap is the "
            "first or the last rank, beyond which there is none, so that such an interval is one-sided. Where a bar is "
            "on one side of its mark, hardly any draw gave a rank on the other.",
            class_="soft",
        ),
        html.zoom(curves.picture(ranks, words), counted, f"Enlarge: {words}"),
        element("p", html.download(ranks.to_csv(index=False, float_format="%.6g"), f"ranks_{_id(panel)}.csv")),
        id=_id(panel),
        data_unit=_id(panel),
    )


def _cell(row: dict) -> Html:
    """Return a score that links to its row, with rank and gain."""
    mean, _, interval = tables.score(row).partition(" ")
    gain = tables.gain(row)
    words = f"gain {gain}" if gain[:1] in ("+", "-") else gain
    small = "\n".join(filter(None, (interval, f"rank {tables.rank(row)}", words)))
    text = element("a", escape(mean), href=tables.link(row)) + element("small", f"\n{escape(small)}", class_="soft")
    return html.sorted_by(row["score"], text)


# ---- All rows ----


def _rows(board: Board, results: Path, csv: str) -> str:
    tasks, records = {task.name: task for task in board.tasks}, board.rows().to_dict("records")
    listed = [_row(row, tasks[row["name"]], results) for row in records]
    attributes = [
        {
            "data-unit": _id((row[PANEL[0]], row[PANEL[1]])),
            "data-epsilon": f"{row['target_epsilon']:g}",
            "data-method": row["algorithm"],
            "data-outcome": tables.outcome(row),
        }
        for row in records
    ]
    caption = "All rows: one for each task, unit of privacy, ε and method"
    whole = html.table(pd.DataFrame(listed, dtype=object), caption, rows=attributes, classes=LOOKS, id="rows-table")
    return element("section", "<h2>All rows</h2>", whole, element("p", html.download(csv, "board.csv")), id="rows")


def _row(row: dict, task: BoardTask, results: Path) -> dict:
    """Return the cells of a row."""
    epsilon = row["target_epsilon"]
    cells = {
        "task": element("a", escape(task.name), href=f"#task-{task.name}"),
        "ε": html.sorted_by(epsilon, "no noise" if math.isinf(epsilon) else f"{epsilon:g}"),
        "method": tables.title(row),
        "settings": _settings(row, task.chosen[row["algorithm"]], results),
        "score": html.sorted_by(row["score"], escape(tables.score(row))),
        "rank": html.sorted_by(row["rank"], tables.rank(row)),
        "gain over the best baseline": html.sorted_by(row["gain"], escape(tables.gain(row))),
        "against it": tables.OUTCOMES[tables.outcome(row)],
        "better from": row.get("better_from", math.nan),
        "settings tried": row.get("settings_tried", math.nan),
    }
    cells |= {heading: row[name] for name, heading in tables.COSTS.items() if name in row}
    if TUNED in row:
        whole = row[TUNED]
        cells["ε with tuning counted"] = html.sorted_by(whole, "no noise") if math.isinf(whole) else whole
    for heading, (number, text) in attacks.cells(row).items():
        cells[heading] = html.sorted_by(number, escape(text))
    return cells | {"protected": f"one {row[PANEL[0]]}, {row[PANEL[1]]}"}


def _settings(row: dict, chosen: Chosen, results: Path) -> Html:
    """Return the settings of each split and the commands of a row, folded."""
    here = tables.chosen_at(chosen, row).set_index("trial")
    splits = "".join(element("th", escape(str(trial)), scope="col") for trial in here.index)
    lines = [
        element(
            "tr",
            element("th", escape(name), scope="row"),
            *(element("td", escape(written(value))) for value in here[name]),
        )
        for name in here.columns
    ]
    head = element("tr", element("th", "split", scope="col"), splits)
    chosen_table = element("table", head, *lines, class_="settings") if lines else "Nothing was tuned."
    fixed = element("p", f"The same in all runs: {escape(chosen.fixed)}.") if chosen.fixed else ""
    commands = html.facts(_commands(row["name"], results))
    return html.folded("settings, commands", chosen_table, fixed, commands, id=tables.place(row))


def _commands(task: str, results: Path) -> dict[str, str]:
    return {
        "Made by": f"<code>{escape(command(f'board {task}', results))}</code>",
        "NAME beside it": f"<code>{escape(command(f'compare NAME --task {task} --against board', results))}</code>",
    }


# ---- Tasks ----


def _tasks(board: Board, results: Path) -> str:
    protocols = pd.DataFrame([tables.protocol_of(task) for task in board.tasks])
    return element(
        "section",
        "<h2>Tasks</h2>",
        html.table(protocols, "The protocol of each task", id="protocols"),
        *(_task(task, results) for task in board.tasks),
        id="tasks",
    )


def _task(task: BoardTask, results: Path) -> str:
    facts = {name: escape(words) for name, words in tables.protocol_of(task).items() if name != "task"}
    names = [*(name for name in ALTS if name in task.pictures), *sorted(set(task.pictures) - set(ALTS))]
    pictures = [
        html.zoom(task.pictures[name], f"{task.name}: {ALTS.get(name, name)}.", f"Enlarge {task.name}, {name}")
        for name in names
    ]
    others = [
        html.folded(
            f"measured beside it: {name}",
            html.table(measured.printed(task.table, name), measured.heading(task.table, name)),
            class_="beside",
        )
        for name in measured.names(task.table)
    ]
    return element(
        "article",
        f"<h3>{escape(str(task.rows.iloc[0].get('title', task.name)))}</h3>",
        *pictures,
        *others,
        html.facts(facts | _commands(task.name, results)),
        id=f"task-{task.name}",
    )


# ---- How to read it ----


def _how(board: Board, results: Path) -> str:
    explained = {"The first table": FIRST_TABLE, **reading(board, results)}
    terms = {term: html.prose(words) for term, words in explained.items()}
    return element("section", "<h2>How to read it</h2>", html.facts(terms), id="how")
