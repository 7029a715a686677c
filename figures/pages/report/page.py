"""The page, the pages of the papers' claims, and the files beside them."""

from collections.abc import Iterable, Mapping

from bench.cli.options import version
from figures.claims import counted, in_print, margin_said, to_decide
from figures.pages.html import render
from figures.pages.report.collect import BAR, LOOKS, Report
from figures.pages.report.facts import Facts, duration
from figures.shared.verdicts import OURS

LONGEST = 100  # rows of a table on the page; longer ones are files
COMMON = {"LOOKS": LOOKS, "OURS": OURS, "in_print": in_print, "margin_said": margin_said, "to_decide": to_decide}


def page(report: Report, folder: str, files: Mapping[str, bytes]) -> str:
    """Return the whole page: one HTML document that makes no network requests.

    Args:
        report: what is shown.
        folder: the address of the folder with the files of `files_of`.
        files: these.
    """
    about = {"version": version(), "LONGEST": LONGEST, "BAR": BAR}
    about["cited"] = {section.name: section.paper.cited for section in report.papers}
    functions = {"origin": _origin, "counted": counted, "duration": duration}
    return render("report.html", report=report, folder=folder, files=files, **about, **functions, **COMMON)


def _origin(facts: Iterable[Facts | None]) -> dict[str, str]:
    """Return the number of runs, and the date of the newest."""
    found = [fact for fact in facts if fact]
    return {
        "Runs": f"{sum(fact.num_runs for fact in found):,}" if found else "",
        "Newest run": max((fact.newest for fact in found), default=""),
    }


def files_of(report: Report, index: str) -> dict[str, bytes]:
    """Return the files beside the page, by their path in the folder.

    Args:
        report: what is shown.
        index: the name of the page, which the pages of claims link back to.
    """
    files = {"claims/claims.csv": report.claims.to_csv(index=False).encode()}
    for section in report.papers:
        text = render("claims.html", section=section, index=index, **COMMON)
        files[f"claims/{section.name}.html"] = text.encode()
        if len(section.deviations):
            numbers = section.deviations.to_csv(index=False, float_format="%.6g")
            files[f"claims/claims_{section.name}_deviations.csv"] = numbers.encode()
        for exhibit in section.exhibits:
            for place, drawn in (("figures", exhibit.main), ("here", exhibit.here)):
                contents = {"png": drawn.picture, **drawn.files} if drawn else {}
                files |= {f"{place}/{exhibit.name}.{ending}": content for ending, content in contents.items()}
        if section.paper.in_full and (card := section.card):
            files[f"cards/{section.name}.png"] = card
    if report.board:
        files["board/board.csv"] = report.board.csv
        files |= {"board/index.html": report.board.page} if report.board.page else {}
    for compared in report.comparisons:
        contents = compared.files | ({"picture.png": compared.picture} if compared.picture else {})
        files |= {f"compare/{compared.name}_{name}": content for name, content in contents.items()}
    return files
