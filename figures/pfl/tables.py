"""Tables 2 to 5 of Bhaskar et al. 2025: accuracies here, as published, and how far they are apart."""

from collections.abc import Hashable
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.patches import Patch

from bench.analysis import metric_limits, style, tables
from figures.pfl import common
from figures.pfl.common import CELL
from figures.shared.figure import Figure
from figures.shared.margins import need
from figures.shared.runs import matching

NEAR, CLOSE = 0.01, 0.02  # differences in accuracy: one point, two points; rounded as published accuracies are
NOT_RUN = "not run"
ONE_CLIENT, SINGLE_NODE = "pfl_one_client", {"clip_norm": 0.1, "batch_size": 64}  # of the authors' program for one node
BY_PROGRAM = "single-node program"
# From below the published value to above it: violet, white, orange, which eyes of every kind tell apart, and grey.
AGREEMENT: dict[str, style.Look] = {
    "more than 2 points below": {"facecolor": "#998ec3"},
    "1 to 2 points below": {"facecolor": "#d8daeb"},
    "within 1 point of the published": {"facecolor": "#ffffff"},
    "1 to 2 points above": {"facecolor": "#fee0b6"},
    "more than 2 points above": {"facecolor": "#f1a340"},
    "diverged": {"facecolor": "#8c8c8c"},
    NOT_RUN: {"facecolor": "#eeeeee", "hatch": "////"},
}
TABLE_5_NAME = "pfl_table5"


def agreement(difference: float, repetitions: float) -> str:
    """Return the distance of a cell from the published value, in the words of the legend."""
    if not repetitions > 0:
        return NOT_RUN
    if not np.isfinite(difference):
        return "diverged"
    steps = sum(round(abs(difference), 4) > limit for limit in (NEAR, CLOSE))
    return list(AGREEMENT)[2 + (steps if difference > 0 else -steps)]


def table(runs: pd.DataFrame, *figures: str, own: bool = False) -> pd.DataFrame:
    """Return one row per published cell: accuracy here with interval and repetitions, published, difference, agreement.

    A cell that was not run has the published value alone.

    Args:
        runs: of one sweep.
        figures: the published tables, "pfl_table2".
        own: use the cells that were run, published or not, and no others.

    Raises:
        InputError: where no cell of them was run.
    """
    cells = common.published_tables(*figures)
    rows = common.final(runs) if own else common.final(runs).merge(cells[CELL], on=CELL)
    sweep, names = " ".join(runs["sweep"].unique()), ", ".join(figures)
    need(len(rows), f"no run of {sweep} is in a cell of {names}: run the whole sweep at a scale other than smoke")
    compared = cells.merge(common.averaged(rows), on=CELL, how="right" if own else "left")
    compared["difference"] = compared["test_accuracy"] - compared["published"]
    words = [agreement(*pair) for pair in compared[["difference", "repetitions"]].to_numpy()]
    ends = rows.groupby(CELL)["test_accuracy"].agg(lowest="min", highest="max").reset_index()
    compared = compared.merge(ends, on=CELL, how="left")
    rounds = compared["total_epochs"] // compared["num_epochs"]
    return compared.assign(communication_rounds=rounds, agreement=words, **common.facts(rows))


def table_by_clients(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the cells of Table 5, and those of one client a second time with the settings of the authors' program for
    a single node, told apart by "program"."""
    own = runs["sweep"] == ONE_CLIENT
    rows = table(runs[~own], TABLE_5_NAME).assign(program="")
    single = runs[own & matching(runs, **SINGLE_NODE)]
    if single.empty:
        return rows
    again = table(single, TABLE_5_NAME).assign(program=BY_PROGRAM)
    return pd.concat([rows, again[again["num_clients"] == 1]], ignore_index=True)


def _keys(table: pd.DataFrame) -> tuple[list[str], list[str]]:
    """Return the columns that identify the rows of the printed table, and those that identify its columns."""
    if table["num_clients"].nunique() > 1:
        rows = ["num_clients", "program"] if "program" in table else ["num_clients"]
        return rows, ["dataset", "target_epsilon", "algorithm"]
    return ["num_epochs", "communication_rounds"], ["target_epsilon", "algorithm"]


def arranged(table: pd.DataFrame, values: pd.Series) -> pd.DataFrame:
    """Return the values of the cells, in the rows and columns of the printed table."""
    rows, columns = _keys(table)
    groups = table[columns].drop_duplicates()
    wide = table.assign(value=values).pivot(index=rows, columns=columns, values="value").sort_index()
    if "num_clients" in rows:  # one client last, as in the paper
        wide = wide.loc[sorted(wide.index, key=lambda key: (np.max(key[0] if len(rows) > 1 else key) == 1, key))]
    return wide[pd.MultiIndex.from_frame(groups)]


def cell(row) -> str:
    """Accuracy here with its interval, the published one and the difference, and the number of seeds.

    The interval is its half width, or its two ends where it would go beyond 0 or 100 %. Where it says nothing, since it
    goes beyond both, as of three seeds of which one has learned nothing, the lowest and the highest run stand for it.
    """
    published = f"{100 * row.published:.2f}"
    if row.agreement == NOT_RUN:
        return f"{NOT_RUN}\n{published}"
    if row.agreement == "diverged":
        others = "" if np.isnan(row.accuracy_of_finite) else f"\nothers {100 * row.accuracy_of_finite:.2f}"
        return f"{row.diverged:.0f} of {row.repetitions:.0f} diverged\n{published}{others}"
    seeds = f"{row.repetitions:.0f} seed" + "s" * (row.repetitions > 1)
    half = (row.high - row.low) / 2
    interval = f" ± {100 * half:.2f}" if np.isfinite(half) else ""
    if _is_cut(row):
        low, high = metric_limits.cut(row.test_accuracy, row.low, row.high, "test_accuracy")
        interval = f" [{100 * low:.2f}, {100 * high:.2f}]"
    if _is_empty(row):
        interval = f" ({100 * row.lowest:.2f} to {100 * row.highest:.2f})"
    difference = round(100 * row.difference, 2) + 0.0  # no -0.00
    return f"{100 * row.test_accuracy:.2f}{interval}\n{published}, {difference:+.2f}\n{seeds}"


def _is_cut(row) -> bool:
    """Return whether the interval of a cell, or of any cell of a table, goes beyond 0 or 1."""
    return bool(np.any(np.less(row.low, 0)) or np.any(np.greater(row.high, 1)))


def _is_empty(row) -> bool:
    """Return whether the interval of a cell, or of any cell of a table, goes beyond 0 and beyond 1."""
    return bool(np.any(np.less(row.low, 0) & np.greater(row.high, 1)))


def printed(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table for a reader, three lines a cell."""
    texts = pd.Series([cell(row) for row in table.itertuples()], table.index)
    wide = arranged(table, texts)
    head: dict[Hashable, str] = {"num_clients": "k", "num_epochs": "E", "communication_rounds": "R"}
    first = ", ".join(head[name] for name in wide.index.names if name in head)
    separator = ", " if "num_epochs" in wide.index.names else ",\n"
    keys = [key if isinstance(key, tuple) else (key,) for key in wide.index]
    index = [separator.join(str(part) for part in key if part != "") for key in keys]
    names = [_heading(dict(zip(wide.columns.names, key, strict=True))) for key in wide.columns]
    return pd.DataFrame(wide.to_numpy(), columns=names).assign(**{first: index})[[first, *names]]


def _heading(key: dict) -> str:
    """Return the lines of a heading: the data set where the table has several, epsilon, model."""
    lines = [key.get("dataset", ""), common.epsilon_symbol(key["target_epsilon"]), key["algorithm"]]
    return "\n".join(filter(None, lines))


def draw(table: pd.DataFrame, title: str, note: str = ""):
    """The table as a picture, coloured by how far its cells are from the published ones."""
    colors = arranged(table, table["agreement"])
    looks = np.vectorize(AGREEMENT.get, otypes=[object])(colors.to_numpy())
    words = [word for word in AGREEMENT if word in set(table["agreement"]) or word not in ("diverged", NOT_RUN)]
    legend = [Patch(edgecolor="#999999", linewidth=0.6, label=word, **AGREEMENT[word]) for word in words]
    diverged = " Where a run diverged: how many did, and our mean over the others."
    diverged = diverged if (table["agreement"] == "diverged").any() else ""
    ranges = "In round brackets: lowest and highest run, where the interval says nothing. " * _is_empty(table)
    cells = printed(table)
    cells.iloc[0, 0] = f"{cells.iloc[0, 0]}\npublished, difference\nseeds"
    figure = tables.draw(cells, title, looks=np.insert(looks, 0, np.array(None), axis=1), legend=legend)
    style.footer(
        figure,
        table,
        common.privacy_note(table),
        common.training_note(table),
        note,
        _contradiction(table),
        differs=f"{ranges}Test accuracy in percent; differences to the published means of 10 runs in points.{diverged}",
        unequal="(as written in the cells)",
        bands="± or brackets" if _is_cut(table) else "±",
    )
    return figure


def _contradiction(table: pd.DataFrame) -> str:
    """Return the cells of this table that another published table prints differently, in words."""
    cells = common.contradictions().merge(table[CELL], on=CELL)
    contradictions = [
        f"{row['algorithm']} on {row['dataset']} at {common.epsilon_name(row['target_epsilon'])}, E = "
        f"{row['num_epochs']}, k = {row['num_clients']} is "
        + " and ".join(f"{100 * row[name]:.2f} in Table {name[-1]}" for name in common.TABLES if name in row)
        for row in cells.to_dict("records")
    ]
    words = f"The paper prints different values for the same cell: {'; '.join(contradictions)}."
    return words if contradictions else ""


def figure_of(about: str, name: str, title: str, note: str = "") -> Figure:
    """Return a published table of `pfl_splits` beside the accuracies here. name: here and in the published numbers."""
    return Figure(
        about, ("pfl_splits",), lambda runs: table(runs, name), partial(draw, title=title, note=note), printed
    )


TABLE_2 = figure_of(
    """\
Bhaskar et al. 2025, Table 2: accuracy on MNIST by how 20 epochs are split into rounds of E local ones.

Expected: (1, 20) is the best split or close to it; with privacy all models but SN+Lin lose tens of points towards
(20, 1); and without, CNN+RL collapses there.
""",
    "pfl_table2",
    "MNIST, 10 clients, E × R = 20 epochs (Bhaskar et al. 2025, Table 2)",
)
TABLE_3 = figure_of(
    """\
Bhaskar et al. 2025, Table 3: accuracy on Fashion-MNIST by how 20 epochs are split into rounds of E local ones.

Expected: as on MNIST, some 10 points lower.
""",
    "pfl_table3",
    "Fashion-MNIST, 10 clients, E × R = 20 epochs (Bhaskar et al. 2025, Table 3)",
    "The text of the paper says that SN+CNN falls from 84.26, where its table has 81.26, and that SN+Lin falls from "
    "86.01, the value at epsilon 2.7, to 82.79, the value at 1.2.",
)
TABLE_4 = figure_of(
    """\
Bhaskar et al. 2025, Table 4: accuracy on CIFAR-10 by how 20 epochs are split into rounds of E local ones.

Expected: SN+Lin stays within 3 points whatever the split, the others fall towards 10 %, which is chance.
""",
    "pfl_table4",
    "CIFAR-10, 10 clients, E × R = 20 epochs (Bhaskar et al. 2025, Table 4)",
    "The text of the paper has epsilon 7.52 where its tables have 7.53.",
)
TABLE_5 = Figure(
    """\
Bhaskar et al. 2025, Table 5: accuracy by number of clients k, E = 1, at the larger epsilon of each data set.

Each client has max(N / k, N / 10) of the N examples. The settings of one client, which has all data, are not in the
paper: the last row but one has those of the other cells, the last those of the authors' program for a single node
(clipping norm 0.1, step 0.1, momentum 0.9). Expected: accuracy grows with k from 10 on and stays below that
of one client, which has all data.
""",
    ("pfl_clients", ONE_CLIENT),
    table_by_clients,
    partial(draw, title="Accuracy by number of clients k, 20 rounds of E = 1 (Bhaskar et al. 2025, Table 5)"),
    printed,
)
