"""The page of a paper's claims: how each is decided, its margin, and the numbers behind it."""

from html import escape

import pandas as pd

from figures import PAPERS
from figures.pages.report import html
from figures.pages.report.collect import Section
from figures.pages.report.document import document
from figures.pages.report.html import element
from figures.shared.verdicts import (
    CARRIES_OVER,
    CONTRADICTED,
    DOES_NOT_CARRY_OVER,
    ERROR,
    FAILS,
    HOLDS,
    NO_SETTINGS,
    NOT_RUN,
    OURS,
    UNDECIDED,
)

LOOKS = {
    HOLDS: "verdict holds",
    CARRIES_OVER: "verdict holds",
    CONTRADICTED: "verdict fails",
    DOES_NOT_CARRY_OVER: "verdict fails",
    FAILS: "verdict fails",
    UNDECIDED: "verdict open",
    NO_SETTINGS: "verdict open",
    NOT_RUN: "verdict missing",
    ERROR: "verdict error",
}
NOTE = (
    "A margin says by how much the deciding comparison is met (+) or missed (-), with half of its 95 % interval. A "
    "claim holds where all of its comparisons are met significantly; where one is missed significantly (after Holm's "
    "correction for their number), a claim of a paper is contradicted, or does not carry over to other data than the "
    "paper's, and a claim of ours fails; otherwise it is undecided. Where the paper leaves open a setting that may "
    "change this, no verdict is given. Repetitions are the runs of each point, which differ in seed or in the draw of "
    "the data."
)


def file(paper: str) -> str:
    """Return the page's path in the folder of the report."""
    return f"claims/{paper}.html"


def page(section: Section, index: str) -> str:
    """Return an HTML document. `index`: the address of the page of all papers."""
    paper, verdicts = PAPERS[section.name], section.verdicts
    cells = pd.DataFrame(
        {
            "verdict": verdicts["verdict"],
            "the paper states": verdicts["statement"].mask(verdicts["whose"] == OURS, "a further claim of ours"),
            "in the paper": verdicts["where"],
            "our reading": pd.Series([_claim(row) for row in verdicts.itertuples()], dtype=object),
            "on the published numbers": [
                f"{row.published}: {row.published_numbers}" if row.published else "" for row in verdicts.itertuples()
            ],
            "margin": verdicts["margin"],
            "what would decide it": verdicts["to_decide"],
            "data": verdicts["source"],
            "scale": verdicts["scale"],
            "repetitions": verdicts["repetitions"],
        }
    )
    back = element("a", "Back to the page of all papers", href=f"{index}#paper-{section.name}")
    header = element("p", escape(paper.citation)) + element("p", back)
    caption = "What the paper states, our reading, and whether our results confirm it"
    table = html.table(
        cells, caption, wide=["the paper states", "our reading"], classes=LOOKS, id="claims-table", class_="claims"
    )
    body = element("section", element("p", NOTE, class_="soft"), table)
    return document(f"{paper.cited}: claims", header, [body])


def _claim(row) -> html.Html:
    """Our reading, its settings, the edges of grids behind it and, folded, how it is decided and the numbers."""
    numbers = element("ul", *(element("li", escape(part)) for part in row.evidence.split("; ")))
    folded = html.folded("how, and numbers", element("p", escape(row.how)), numbers)
    notes = {"settings": row.settings, "rests on": row.edges, "here": row.outcome if row.outcome != row.verdict else ""}
    soft = [element("p", escape(f"{name}: {words}"), class_="soft") for name, words in notes.items() if words]
    return element("div", escape(row.claim), *soft, folded)
