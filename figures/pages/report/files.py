"""The files beside the page: what they are called, and what is in them."""

from figures.pages.report import evidence
from figures.pages.report.collect import Drawn, Report

MAIN, HERE = "figures", "here"  # folders of the figures of both places
BOARD, BOARD_ROWS = "board/index.html", "board/board.csv"
CLAIMS = "claims/claims.csv"


def figure(folder: str, name: str, ending: str = "png") -> str:
    """Return the file of a figure. `folder`: MAIN or HERE."""
    return f"{folder}/{name}.{ending}"


def deviations(paper: str) -> str:
    """Return the file with the deviations of a paper's curves from the published ones."""
    return f"claims/claims_{paper}_deviations.csv"


def in_comparison(name: str, file: str) -> str:
    """Return a file of a comparison, its tables and picture.png."""
    return f"compare/{name}_{file}"


def files_of(report: Report, index: str) -> dict[str, bytes]:
    """Return all files, by their path in the folder.

    Args:
        report: what is shown.
        index: the name of the page, which the pages of claims link back to.
    """
    files = {CLAIMS: report.claims.to_csv(index=False).encode()}
    for paper in report.papers:
        files[evidence.file(paper.name)] = evidence.page(paper, f"../../{index}").encode()
        if len(paper.deviations):
            numbers = paper.deviations.to_csv(index=False, float_format="%.6g")
            files[deviations(paper.name)] = numbers.encode()
        for exhibit in paper.exhibits:
            for folder, drawn in ((MAIN, exhibit.main), (HERE, exhibit.here)):
                files |= _of_figure(folder, exhibit.name, drawn) if drawn else {}
    if report.board:
        files[BOARD_ROWS] = report.board.csv
        files |= {BOARD: report.board.page} if report.board.page else {}
    for comparison in report.comparisons:
        files |= {in_comparison(comparison.name, file): content for file, content in comparison.files.items()}
        files |= {in_comparison(comparison.name, "picture.png"): comparison.picture} if comparison.picture else {}
    return files


def _of_figure(folder: str, name: str, drawn: Drawn) -> dict[str, bytes]:
    tables = {figure(folder, name, ending): content for ending, content in drawn.files.items()}
    return {figure(folder, name): drawn.picture, **tables}
