"""Generates the parts of README.md and docs/papers that follow from the claims.

A generated part is between a comment `<!-- claims NAME -->` or `<!-- papers -->` and the comment `<!-- end -->`. It is
made from the papers' objects and the verdicts that `python -m figures claims` wrote next to the figures.
"""

import re
from pathlib import Path
from typing import Any

import pandas as pd

from bench.analysis.tables import markdown
from bench.errors import InputError
from figures import PAPERS
from figures.shared.paper import Paper
from figures.shared.verdicts import ERROR, FAILS, HOLDS, NOT_RUN, UNDECIDED

PART = re.compile(r"(<!-- (papers|claims (\w+)) -->\n).*?(<!-- end -->)", re.DOTALL)
COUNTED = {
    HOLDS: ("holds", "hold"),
    FAILS: ("fails", "fail"),
    UNDECIDED: ("is undecided", "are undecided"),
    NOT_RUN: ("was not run", "were not run"),
}


def verdicts(paper: Paper, folder: Path) -> pd.DataFrame:
    """The claims of a paper with their last written verdicts, in the paper's order.

    Args:
        folder: with claims_NAME.csv.

    Raises:
        InputError: where the file is missing, has other claims than the code, or has a failed check.
    """
    path, remedy = folder / f"claims_{paper.name}.csv", f"run `python -m figures claims {paper.name}`"
    if not path.is_file():
        raise InputError(f"{path} is missing: {remedy}")
    table = pd.read_csv(path, keep_default_na=False)
    written, claimed = list(table["claim"]), [claim.text for claim in paper.claims]
    if written != claimed:
        raise InputError(f"{path} has other claims than figures/{paper.name}: {remedy}")
    if (table["verdict"] == ERROR).any():
        raise InputError(f"{path} has a check that failed: fix it, then {remedy}")
    return table.assign(ours=[claim.ours for claim in paper.claims])


def claims_part(paper: Paper, folder: Path) -> str:
    """The table of a paper's claims: what is claimed, where, the verdict and its margin."""
    table = verdicts(paper, folder)
    cells = pd.DataFrame(
        {
            "claim": table["claim"],
            "where": ["ours" if ours else place for ours, place in zip(table["ours"], table["where"], strict=True)],
            "here": [f"**{verdict}**" if verdict == FAILS else verdict for verdict in table["verdict"]],
            "margin": [_margin(row) for row in table.itertuples()],
            "runs": table["repetitions"],
        }
    )
    return markdown(cells, words=True)


def _margin(row: Any) -> str:
    """A margin, what would decide it, and the edges of grids that it rests on."""
    parts = [
        row.margin,
        f"to decide: {row.to_decide}" if row.to_decide else "",
        f"edge: {row.edges}" if row.edges else "",
    ]
    return "; ".join(filter(None, parts))


def count(table: pd.DataFrame) -> str:
    """The number of claims by outcome: "3 hold, 1 fails"."""
    numbers = table["verdict"].value_counts()
    return ", ".join(f"{numbers[v]} {words[int(numbers[v] > 1)]}" for v, words in COUNTED.items() if v in numbers)


def papers_part(folder: Path) -> str:
    """The table of all papers: citation, what is private, state, and the outcomes of their claims and ours."""
    rows = []
    for paper in PAPERS.values():
        table = verdicts(paper, folder)
        ours = table[table["ours"]]
        rows.append(
            {
                "paper": f"{paper.authors}, *{paper.title}*, {paper.venue}",
                "short name": f"`{paper.name}`",
                "what is private, against whom": f"{paper.protects}, against {paper.against}",
                "state": paper.state,
                "its claims": count(table[~table["ours"]]),
                "ours beyond it": count(ours),
            }
        )
    return markdown(pd.DataFrame(rows), words=True)


def written_anew(text: str, folder: Path) -> str:
    """A page with its generated parts updated.

    Raises:
        InputError: for a part about an unknown paper.
    """

    def part(match: re.Match) -> str:
        name = match[3]
        if name and name not in PAPERS:
            raise InputError(f"a page has a part `claims {name}`, but no paper is called {name}")
        return match[1] + (claims_part(PAPERS[name], folder) if name else papers_part(folder)) + match[4]

    return PART.sub(part, text)


def pages(root: Path) -> list[Path]:
    """README.md and the pages of papers."""
    return [root / "README.md", *sorted((root / "docs" / "papers").glob("*.md"))]


def outdated(root: Path, folder: Path) -> dict[Path, str]:
    """The pages of the repository that are outdated, with their correct content."""
    anew = {page: written_anew(page.read_text(), folder) for page in pages(root)}
    return {page: text for page, text in anew.items() if text != page.read_text()}
