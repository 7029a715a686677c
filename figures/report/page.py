"""The page, as text."""

from html import escape

import pandas as pd

from bench.analysis.select import span
from figures.claims import summary
from figures.report import html
from figures.report.collect import Compared, Exhibit, Report, Section
from figures.report.document import document, navigation
from figures.report.facts import Facts, duration
from figures.report.html import element
from figures.shared.verdicts import ERROR, FAILS, HOLDS, NOT_RUN, UNDECIDED

TITLE = "Private federated learning, benchmarked"
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


def page(report: Report) -> str:
    """The whole page: one HTML document that makes no network requests."""
    sections = [_claims(report), *map(_paper, report.papers), *_comparisons(report.comparisons)]
    return document(TITLE, _header(report), sections, programs=[("figures.report", "claims.js")])


def _header(report: Report) -> str:
    scales = sorted({scale for facts in report.facts for scale in facts.scales})
    newest = max((facts.newest for facts in report.facts), default="")
    drawn = sum(exhibit.picture is not None for paper in report.papers for exhibit in paper.exhibits)
    whole = sum(len(paper.exhibits) for paper in report.papers)
    links = [("claims", "Claims"), *((f"paper-{paper.name}", paper.cited) for paper in report.papers)]
    links += [("comparisons", "Comparisons")] if report.comparisons else []
    terms = {
        "Scale": escape(", ".join(scales)),
        "Newest run": escape(newest),
        "Figures and tables": f"{drawn} of {whole}, the others are listed as not run",
    }
    return html.facts(terms) + navigation(links)


# ---- Claims ----


def _claims(report: Report) -> str:
    claims, cited = report.claims, {paper.name: paper.cited for paper in report.papers}
    counts = summary(claims)
    counts["paper"] = counts["paper"].map(cited)
    cells = pd.DataFrame(
        {
            "paper": claims["paper"].map(cited),
            "verdict": claims["verdict"],
            "claim": pd.Series([_claim(row) for row in claims.itertuples()], dtype=object),
            "margin": claims["margin"],
            "what would decide it": claims["to_decide"],
            "in the paper": claims["where"],
            "data": claims["source"],
            "scale": claims["scale"],
            "repetitions": claims["repetitions"],
        }
    )
    listed = html.table(
        cells,
        "What the papers claim, and whether our results confirm it",
        rows=[
            {"data-paper": paper, "data-verdict": outcome}
            for paper, outcome in zip(claims["paper"], claims["verdict"], strict=True)
        ],
        wide=["claim"],
        classes=LOOKS,
        id="claims-table",
        class_="claims",
    )
    outcomes = {outcome: outcome for outcome in LOOKS if outcome != ERROR or (claims["verdict"] == ERROR).any()}
    filters = [html.select("Paper", "paper", cited), html.select("Verdict", "verdict", outcomes)]
    left = element("span", id="claims-left", role="status")
    return element(
        "section",
        "<h2>Claims</h2>",
        html.table(counts, "Claims by paper: how many hold, fail, are undecided, were not run", id="claims-summary"),
        element("div", *filters, left, class_="filters"),
        element("p", NOTE, class_="soft"),
        listed,
        element("p", html.download(claims.to_csv(index=False), "claims.csv")),
        id="claims",
    )


def _claim(row) -> html.Html:
    """A claim, the edges of grids behind its margin and, folded, how it is decided and the numbers."""
    numbers = element("ul", *(element("li", escape(part)) for part in row.evidence.split("; ")))
    folded = html.folded("how, and numbers", element("p", escape(row.how)), numbers)
    edges = [element("p", escape(f"rests on {row.edges}"), class_="soft")] if row.edges else []
    return element("div", escape(row.claim), *edges, folded)


# ---- Figures ----


def _paper(paper: Section) -> str:
    missing = [exhibit for exhibit in paper.exhibits if exhibit.picture is None]
    parts = [_figure(exhibit, exhibit.picture) for exhibit in paper.exhibits if exhibit.picture is not None]
    if len(paper.deviations):
        table = html.table(paper.deviations, "Largest deviation from the published points, curve by curve")
        name = f"claims_{paper.name}_deviations.csv"
        link = html.download(paper.deviations.to_csv(index=False, float_format="%.6g"), name)
        folded = html.folded("Curve by curve", table)
        parts.append(element("article", "<h3>How far from the published points</h3>", folded, element("p", link)))
    if missing:
        parts.append(element("article", "<h3>Not run</h3>", element("ul", *map(_not_run, missing))))
    return element(
        "section",
        f"<h2>{escape(paper.cited)}</h2>",
        element("p", escape(paper.citation)),
        *parts,
        id=f"paper-{paper.name}",
    )


def _not_run(exhibit: Exhibit) -> str:
    return element("li", element("strong", escape(exhibit.title)), f" {html.prose(exhibit.missing)}", id=exhibit.name)


def _figure(exhibit: Exhibit, png: bytes) -> str:
    alt = f"{exhibit.alt or exhibit.title} The numbers are in {exhibit.name}.csv, linked below."
    zoom = html.zoom(png, alt, f"Enlarge {exhibit.name}")
    tables = []
    if exhibit.printed is not None:
        tables.append(html.folded("As a table", html.table(exhibit.printed, exhibit.title, class_="printed")))
    if exhibit.beside is not None:
        words = f"{exhibit.title} Here and published, line by line."
        tables.append(html.folded("Here and published, line by line", html.table(exhibit.beside, words)))
    sources = {
        "Its runs": f"<code>{escape(exhibit.run)}</code>" if exhibit.run else "formulas, no runs",
        "Drawn by": f"<code>{escape(exhibit.draw)}</code>",
        "Numbers": html.download(exhibit.numbers, f"{exhibit.name}.csv"),
    }
    caption = element("p", html.prose(exhibit.caption)) if exhibit.caption else ""
    provenance = html.facts((_provenance(exhibit.facts) if exhibit.facts else {}) | sources)
    return element("article", element("h3", escape(exhibit.title)), zoom, caption, *tables, provenance, id=exhibit.name)


def _provenance(facts: Facts) -> dict[str, str]:
    terms = {
        "Data": ", ".join(facts.sources),
        "Scale": ", ".join(facts.scales),
        "Repetitions of a point": span(facts.repetitions),
        "Runs": f"{facts.num_runs:,} in {duration(facts.wall_s)}, and {duration(facts.compile_s)} of compilation",
        "Code": f"commit {', '.join(facts.commits)}; jax {', '.join(facts.jax_versions)}",
        "Device": ", ".join(facts.devices),
        "Newest run": facts.newest,
    }
    return {term: escape(words) for term, words in terms.items()}


# ---- Comparisons ----


def _comparisons(comparisons: list[Compared]) -> list[str]:
    if not comparisons:
        return []
    return [element("section", "<h2>Comparisons</h2>", *map(_comparison, comparisons), id="comparisons")]


def _comparison(compared: Compared) -> str:
    parts = [f"<h3>{escape(compared.name)}</h3>"]
    if compared.picture is not None:
        alt = f"Comparison of methods, {compared.name}: the score against epsilon. The numbers are in the table below."
        parts.append(html.zoom(compared.picture, alt, f"Enlarge {compared.name}"))
    for name, table in compared.tables.items():
        parts.append(html.folded(name, html.table(table, f"{compared.name}: {name}")))
        link = html.download(table.to_csv(index=False), f"{compared.name}_{name}.csv")
        parts.append(element("p", link))
    return element("article", *parts)
