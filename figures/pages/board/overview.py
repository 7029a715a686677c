"""The table that the page begins with: all methods by all tasks at one epsilon, beside learning alone."""

import math
from html import escape
from itertools import pairwise

import numpy as np
import pandas as pd

from bench.analysis import tables as printing
from bench.analysis.measured import PANEL, user_level_first
from figures.pages.board import alone, tables
from figures.pages.board.collect import Board
from figures.pages.report import html
from figures.pages.report.html import Html, element

FIRST = 1.0  # the epsilon that is shown at first, where the board has it


def overview(board: Board, ranks: dict[tuple[str, str], pd.DataFrame]) -> str:
    """Return the section with the table, a part of it for each epsilon, of which a list shows one.

    Args:
        board: what is shown.
        ranks: the mean ranks of every unit of privacy, which give the order of methods.
    """
    panels = sorted(board.panels, key=user_level_first)
    rows = board.rows().merge(_alone(board), on=["name", *alone.PLACE], validate="1:1")
    epsilons = sorted(rows["target_epsilon"].unique())
    options = {f"{value:g}": tables.epsilon_words(value) for value in epsilons}
    finite = [value for value in epsilons if math.isfinite(value)] or epsilons
    first = FIRST if FIRST in epsilons else finite[len(finite) // 2]
    listed = [
        element("option", escape(words), value=value, selected=value == f"{first:g}")
        for value, words in options.items()
    ]
    parts = [
        element("div", _table(rows[rows["target_epsilon"] == value], panels, ranks, value), data_of_all=f"{value:g}")
        for value in epsilons
    ]
    return element(
        "section",
        element(
            "div",
            element("label", "Privacy ", element("select", *listed, id="epsilon-of-all")),
            _key(),
            class_="filters",
        ),
        element(
            "p",
            "A cell has the score, its 95 % interval, and the gain over learning alone, ± half its 95 % interval, "
            "paired by split. A hatched cell has no run. Ranks and all details are below.",
            class_="soft key",
        ),
        *parts,
        id="all-tasks",
    )


def _alone(board: Board) -> pd.DataFrame:
    return pd.concat([task.alone.assign(name=task.name) for task in board.tasks], ignore_index=True)


def _key() -> str:
    """Return what the colours mean."""
    edges = alone.EDGES
    larger = [f"{low:g}–{high:g}" for low, high in pairwise(edges)] + [f"over {edges[-1]:g}"]
    shares = [f"{1 / edge:.2g}" for edge in edges]
    smaller = [f"{low}–{high}" for high, low in pairwise(shares)] + [f"under {shares[-1]}"]
    boxes = [
        *((words, -number) for number, words in reversed(list(enumerate(larger, start=1)))),
        ("about 1", 0),
        *((words, number) for number, words in enumerate(smaller, start=1)),
    ]
    return element(
        "p",
        "Colour: the error or risk, divided by that of learning alone. ",
        *(element("span", escape(words), class_=look(number)) for words, number in boxes),
        element("span", "not run", class_="none"),
        class_="key",
    )


def look(number: int) -> str:
    """Return the class of a step of colour: worse-4 to worse-1, even, better-1 to better-4."""
    return f"better-{number}" if number > 0 else f"worse-{-number}" if number < 0 else "even"


def _table(here: pd.DataFrame, panels: list[tuple[str, str]], ranks: dict, epsilon: float) -> str:
    """Return the table of one epsilon: methods that learn alone first, then those of each unit of privacy by mean
    rank."""
    columns = {  # (task, unit, relation) -> heading, in the order of the units of privacy
        (name, *panel): f"{name}\n{metric},\n{'higher' if best == 'max' else 'lower'} is better"
        for panel in panels
        for name, metric, best in here.loc[(here[PANEL] == list(panel)).all(axis=1), ["name", "metric", "best"]]
        .drop_duplicates()
        .itertuples(index=False, name=None)
    }
    groups = [("", 1)]
    for panel in panels:
        if count := sum(place[1:] == panel for place in columns):
            groups.append((tables.panel_words(panel), count))
    order = [method for panel in panels for method in _by_rank(ranks[panel], epsilon)]
    silent = set(here.loc[here["reveals_nothing"], "algorithm"])
    methods = sorted(dict.fromkeys(order), key=lambda method: method not in silent)
    at = {(row["name"], row[PANEL[0]], row[PANEL[1]], row["algorithm"]): row for row in here.to_dict("records")}
    titles = {row["algorithm"]: tables.title(row) for row in at.values()}
    listed = []
    for method in methods:
        cells: dict = {"method": titles[method]}
        for place, heading in columns.items():
            row = at.get((*place, method))
            cells[heading] = html.missing("none") if row is None else _cell(row)
        listed.append(cells)
    caption = f"All methods by task, {tables.epsilon_words(epsilon)}"
    return html.table(pd.DataFrame(listed, dtype=object), caption, groups=groups, class_="all-tasks")


def _by_rank(ranks: pd.DataFrame, epsilon: float) -> list[str]:
    return ranks.loc[ranks["target_epsilon"] == epsilon, "algorithm"].tolist()


def _cell(row: dict) -> Html:
    """Return a score that links to its row, and its gain over learning alone; the colour is that of its error beside
    it."""
    mean, _, interval = tables.score(row).partition(" ")
    small, look_of = [interval], None
    if row["algorithm"] == row["alone"]:
        small, look_of = [*small, "learns alone"], "alone"
    elif not np.isfinite(row["score"]):
        look_of = look(-len(alone.EDGES))
    elif np.isfinite(row["over_alone"]):
        form = printing.digits_for(row["metric"])
        half = row["over_alone_high"] - row["over_alone"]
        small.append(f"{row['over_alone']:+{form}}" + (f" ±{half:{form}}" if np.isfinite(half) else ""))
        look_of = look(alone.step(row["times_alone"])) if np.isfinite(row["times_alone"]) else None
    below = escape("".join(f"\n{line}" for line in small if line))
    return html.sorted_by(
        row["score"], element("a", escape(mean), href=tables.link(row)) + element("small", below), look_of
    )
