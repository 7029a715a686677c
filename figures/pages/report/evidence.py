"""The page of a paper's claims: how each is decided, its margin, and the numbers behind it."""

from html import escape

import pandas as pd

from figures import PAPERS
from figures.pages.report import html
from figures.pages.report.collect import Section
from figures.pages.report.document import document
from figures.pages.report.html import element
from figures.shared.verdicts import ERROR, FAILS, HOLDS, NOT_RUN, UNDECIDED

LOOKS = {
    HOLDS: "verdict holds",
    FAILS: "verdict fails",
    UNDECIDED: "verdict open",
    NOT_RUN: "verdict missing",
    ERROR: "verdict error",
}
NOTE = (
    "A margin says by how much the deciding comparison is met (+) or missed (-), with half of its 95 % interval. A "
    "claim holds where all of its comparisons are met significantly, fails where one is missed significantly (after "
    "Holm's correction for their number), and is undecided otherwise. Repetitions are the runs of each point, which "
    "differ in seed or in the draw of the data."
)


def file(paper: str) -> str:
    """The page's path in the folder of the report."""
    return f"claims/{paper}.html"


def page(section: Section, index: str) -> str:
    """An HTML document. `index`: the address of the page of all papers."""
    paper, verdicts = PAPERS[section.name], section.verdicts
    cells = pd.DataFrame(
        {
            "verdict": verdicts["verdict"],
            "claim": pd.Series([_claim(row) for row in verdicts.itertuples()], dtype=object),
            "margin": verdicts["margin"],
            "what would decide it": verdicts["to_decide"],
            "in the paper": verdicts["where"],
            "data": verdicts["source"],
            "scale": verdicts["scale"],
            "repetitions": verdicts["repetitions"],
        }
    )
    back = element("a", "Back to the page of all papers", href=f"{index}#paper-{section.name}")
    header = element("p", escape(paper.citation)) + element("p", back)
    caption = "What the paper claims, and whether our results confirm it"
    table = html.table(cells, caption, wide=["claim"], classes=LOOKS, id="claims-table", class_="claims")
    body = element("section", element("p", NOTE, class_="soft"), table)
    return document(f"{paper.cited}: claims", header, [body])


def _claim(row) -> html.Html:
    """A claim, the edges of grids behind its margin and, folded, how it is decided and the numbers."""
    numbers = element("ul", *(element("li", escape(part)) for part in row.evidence.split("; ")))
    folded = html.folded("how, and numbers", element("p", escape(row.how)), numbers)
    edges = [element("p", escape(f"rests on {row.edges}"), class_="soft")] if row.edges else []
    return element("div", escape(row.claim), *edges, folded)
