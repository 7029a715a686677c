"""Writes the page, Markdown, LaTeX and CSV of the board, all of them or none."""

from pathlib import Path

import pandas as pd

from bench.analysis import tables as printing
from bench.analysis.tables import without_formulas
from bench.errors import InputError, writing
from bench.files import written_whole
from bench.ranking import EVERY
from figures.pages.board import tables
from figures.pages.board.collect import BOARD, Board, collect, command
from figures.pages.board.page import Ranks, page, protected, reading
from figures.pages.html import render

TABLES = f"{BOARD}.csv", f"{BOARD}.md", f"{BOARD}.tex", "scores.csv"


def write(results: Path, out: Path | None) -> tuple[Path, Board]:
    """Make the page of the board, and board.csv, board.md, board.tex and scores.csv beside it.

    Args:
        results: the folder of results.
        out: the page's file; None is board/index.html in the folder of results.

    Returns:
        Where it is, and what it shows.

    Raises:
        InputError: where there is no board, or a file cannot be written.
    """
    out = out or results / BOARD / "index.html"
    beside = [out.with_name(name) for name in TABLES]
    for path in (out, *beside):
        if path.is_dir():
            raise InputError(f"cannot write {path}: it is a folder; name another file with --out")
    if out in beside:
        raise InputError(f"cannot write the page as {out}, which is a table of it: name another file with --out")
    board = collect(results)
    ranks = board.mean_ranks()
    csv = without_formulas(tables.all_rows(board)).to_csv(index=False, float_format="%.6g")
    scores = without_formulas(board.scores).to_csv(index=False, float_format="%.9g")
    texts = [page(board, ranks, results, csv), csv, markdown(board, ranks, results), latex(board, ranks), scores]
    with writing(out), written_whole([out, *beside]) as files:
        for path, text in zip(files, texts, strict=True):
            path.write_text(text, encoding="utf-8")
    return out, board


def _tables(board: Board, ranks: Ranks) -> list[tuple[tuple[str, str], str, pd.DataFrame]]:
    """Return unit of privacy and relation, heading, and table for each unit and epsilon."""
    return [
        (
            panel,
            f"{tables.panel_words(panel)}, {tables.epsilon_words(epsilon)}",
            tables.plain(board.rows(panel), of_panel, epsilon),
        )
        for panel, of_panel in ranks.items()
        for epsilon in sorted({EVERY, *board.rows(panel)["target_epsilon"]})
    ]


def markdown(board: Board, ranks: Ranks, results: Path) -> str:
    """Return the tables of the board in Markdown, with the protocol and how to read them."""
    return render(
        "board.md",
        board=board,
        made_by=command("board", results),
        printed=_tables(board, ranks),
        protocols=pd.DataFrame([tables.protocol_of(task) for task in board.tasks]),
        reading=reading(board, results),
        **{"markdown": printing.markdown, "protected": protected},
    )


def latex(board: Board, ranks: Ranks) -> str:
    """Return the tables in LaTeX, with the rules of the package booktabs; a comment before each says what it is."""
    parts = (
        f"% {heading.replace('ε', 'epsilon')}\n{printing.latex(table)}" for _, heading, table in _tables(board, ranks)
    )
    return "\n".join(parts)
