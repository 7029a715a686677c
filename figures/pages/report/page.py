"""The page, as text."""

from html import escape

import pandas as pd

from bench.analysis.select import span
from figures import PAPERS
from figures.pages.report import evidence, files, front, html
from figures.pages.report.collect import Compared, Drawn, Exhibit, Report, Section
from figures.pages.report.document import BESIDE, document, navigation
from figures.pages.report.evidence import LOOKS
from figures.pages.report.facts import Facts, duration
from figures.pages.report.html import element
from figures.pages.report.pictures import size
from figures.shared.verdicts import ERROR, NOT_RUN, OURS

TITLE = "Private federated learning, benchmarked"
LONGEST = 100  # rows of a table on the page; longer ones are files


def page(report: Report, folder: str) -> str:
    """Return the whole page: one HTML document that makes no network requests.

    Args:
        report: what is shown.
        folder: the address of the folder with the files of `figures.pages.report.files.files_of`.
    """
    sections = [
        front.run_here(report),
        front.cards(report, folder),
        front.board(report.board, folder),
        front.others(report),
        _contents(report),
        *(_paper(paper, report, folder) for paper in report.papers),
        _claims(report, folder),
        _here(report),
        *_comparisons(report.comparisons, folder),
    ]
    programs = [("figures.pages.report", "claims.js")]
    return document(
        TITLE, _header(report), [section for section in sections if section], programs=programs, images=BESIDE
    )


def _header(report: Report) -> str:
    links = {
        "board": "Board" if report.board else "",
        "contents": "Papers and figures",
        "claims": "All claims",
        "here": "Run here" if report.here else "",
        "comparisons": "Comparisons" if report.comparisons else "",
    }
    return front.header(report) + navigation([(to, words) for to, words in links.items() if words])


def _contents(report: Report) -> str:
    """Return the papers and their figures, each a link."""
    papers = []
    for section in report.papers:
        cited = PAPERS[section.name].cited
        figures = [
            element("li", element("a", escape(_short(exhibit.title, cited)), href=f"#{exhibit.name}"))
            for exhibit in section.exhibits
        ]
        head = element("a", escape(cited), href=f"#paper-{section.name}")
        papers.append(element("li", element("strong", head), element("ul", *figures)))
    return element("section", "<h2>Papers and figures</h2>", element("ul", *papers, class_="contents"), id="contents")


def _short(title: str, cited: str) -> str:
    """Return the title of a figure, without the paper that it is listed under."""
    short = title.rstrip(".").removeprefix(f"{cited}, ")
    return short[:1].upper() + short[1:]


# ---- Papers ----


def _paper(section: Section, report: Report, folder: str) -> str:
    paper = PAPERS[section.name]
    missing = [exhibit for exhibit in section.exhibits if exhibit.missing]
    parts = [_figure(exhibit, report, folder) for exhibit in section.exhibits if not exhibit.missing]
    if len(section.deviations):
        parts.append(_deviations(section, folder))
    if missing:
        parts.append(element("article", "<h3>Not run</h3>", element("ul", *map(_not_run, missing))))
    numbers = element("a", "how each is decided, and the numbers", href=f"{folder}/{evidence.file(section.name)}")
    return element(
        "section",
        f"<h2>{escape(paper.cited)}</h2>",
        element("p", escape(paper.citation)),
        element("p", escape(f"Protects {paper.protects}, against {paper.against}. Reproduced: {paper.state}.")),
        element("p", escape(paper.found)) if paper.found else "",
        front.tally(section),
        element("p", f"{len(section.verdicts)} claims: {numbers}"),
        *parts,
        id=f"paper-{section.name}",
    )


def _not_run(exhibit: Exhibit) -> str:
    return element("li", element("strong", escape(exhibit.title)), f" {html.prose(exhibit.missing)}", id=exhibit.name)


def _deviations(section: Section, folder: str) -> str:
    link = html.file_link(f"{folder}/{files.deviations(section.name)}", files.deviations(section.name).split("/")[-1])
    table = html.table(section.deviations, "Largest deviation from the published points, curve by curve")
    parts = [html.folded("Curve by curve", table)] if len(section.deviations) <= LONGEST else []
    return element("article", "<h3>How far from the published points</h3>", *parts, element("p", link))


def _figure(exhibit: Exhibit, report: Report, folder: str) -> str:
    """Return a figure of the place that is shown first, and below it, folded, that of the runs of here."""
    parts: list[str] = [element("h3", escape(exhibit.title))]
    caption = element("p", html.prose(exhibit.caption)) if exhibit.caption else ""
    if exhibit.main:
        parts += [_shown(exhibit, exhibit.main, f"{folder}/{files.MAIN}"), caption]
        parts.append(_behind(exhibit, exhibit.main, f"{folder}/{files.MAIN}"))
    if exhibit.here:
        scales = ", ".join(exhibit.here.facts.scales) if exhibit.here.facts else ""
        beside = [
            _shown(exhibit, exhibit.here, f"{folder}/{files.HERE}"),
            _behind(exhibit, exhibit.here, f"{folder}/{files.HERE}"),
        ]
        if exhibit.main:
            parts.append(html.folded(f"The same from the runs of here, at scale {scales}", *beside, class_="here"))
        else:
            said = f"Run here only, at scale {scales}: {report.main} has no runs of it."
            parts += [element("p", escape(said), class_="soft"), *beside, caption]
    return element("article", *parts, id=exhibit.name)


def _shown(exhibit: Exhibit, drawn: Drawn, folder: str) -> str:
    alt = f"{exhibit.alt or exhibit.title} The numbers are in {exhibit.name}.csv, linked below."
    return html.zoom_at(f"{folder}/{exhibit.name}.png", *size(drawn.picture), alt, f"Enlarge {exhibit.name}")


def _behind(exhibit: Exhibit, drawn: Drawn, folder: str) -> str:
    """Return the files of a figure, our numbers beside the published ones and, folded, where it comes from."""
    links = [html.file_link(f"{folder}/{exhibit.name}.{ending}", f"{exhibit.name}.{ending}") for ending in drawn.files]
    parts = [element("p", "Numbers: ", ", ".join(links))]
    beside = drawn.beside
    if beside is not None and len(beside) <= LONGEST:
        words = f"{exhibit.title} Here and published, line by line."
        parts.append(html.folded("Here and published, line by line", html.table(beside, words)))
    commands = {
        "Its runs": f"<code>{escape(drawn.run)}</code>" if drawn.run else "formulas, no runs",
        "Drawn by": f"<code>{escape(drawn.draw)}</code>",
    }
    provenance = html.facts((_provenance(drawn.facts) if drawn.facts else {}) | commands)
    return "".join([*parts, html.folded("Data, code and commands", provenance)])


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


# ---- Claims ----


def _claims(report: Report, folder: str) -> str:
    """Return all claims with their verdicts; the numbers behind them are on the pages of the papers' claims."""
    claims, cited = report.claims, {paper.name: PAPERS[paper.name].cited for paper in report.papers}
    cells = pd.DataFrame(
        {
            "verdict": claims["verdict"],
            "the paper states": _long(claims["statement"].mask(claims["whose"] == OURS, "a further claim of ours")),
            "in the paper": claims["where"],
            "our reading": _long(claims["claim"]),
            "on its own numbers": claims["published"],
            "margin": [margin.partition(" (")[0] for margin in claims["margin"]],
            "paper": claims["paper"].map(cited),
        }
    )
    if front.decided_here(report):
        cells.insert(1, "run here", claims["here"])
    table = html.table(
        cells,
        "What the papers state, our reading, and whether our results confirm it",
        rows=[
            {"data-paper": paper, "data-verdict": outcome}
            for paper, outcome in zip(claims["paper"], claims["verdict"], strict=True)
        ],
        wide=["the paper states", "our reading"],
        classes=LOOKS,
        id="claims-table",
        class_="claims",
    )
    outcomes = {outcome: outcome for outcome in LOOKS if (claims["verdict"] == outcome).any()}
    filters = [html.select("Paper", "paper", cited), html.select("Verdict", "verdict", outcomes)]
    left = element("span", id="claims-left", role="status")
    pages = [element("a", escape(words), href=f"{folder}/{evidence.file(name)}") for name, words in cited.items()]
    undecided = "" if report.decided else f"None of these claims is decided: {claims['evidence'].iloc[0]}."
    return element(
        "section",
        "<h2>All claims</h2>",
        element("p", escape(undecided)) if undecided else "",
        element("p", evidence.NOTE, class_="soft"),
        element("p", "How each is decided, and the numbers: ", "; ".join(pages)),
        element("div", *filters, left, class_="filters"),
        table,
        element("p", html.file_link(f"{folder}/{files.CLAIMS}", "claims.csv")),
        id="claims",
    )


def _long(texts: pd.Series) -> pd.Series:
    """Texts as cells that wrap."""
    return pd.Series([html.Html(element("div", escape(text))) for text in texts], dtype=object)


# ---- What was run here, and comparisons ----


def _here(report: Report) -> str:
    """Return what was run here of each paper; empty where nothing was beside the runs that are shown first."""
    if not report.here:
        return ""
    rows = []
    for paper in report.papers:
        facts, drawn = paper.of_here, sum(exhibit.here is not None for exhibit in paper.exhibits)
        rows.append(
            {
                "paper": PAPERS[paper.name].cited,
                "figures": f"{drawn} of {len(paper.exhibits)}",
                "runs": facts.num_runs if facts else 0,
                "time of the runs": duration(facts.wall_s + facts.compile_s) if facts else "",
                "newest run": facts.newest if facts else "",
                "verdicts": _verdicts_here(paper),
            }
        )
    table = html.table(pd.DataFrame(rows), f"Run here: {report.here}")
    words = "The pictures are below those of the committed results, under each figure of the papers."
    return element("section", "<h2>Run here</h2>", element("p", escape(words)), table, id="here")


def _verdicts_here(paper: Section) -> str:
    """Return how many verdicts of the runs of here agree with those that are shown first, and which do not."""
    both = paper.verdicts[~paper.verdicts["here"].isin(["", NOT_RUN, ERROR])]
    same = int((both["here"] == both["verdict"]).sum())
    return f"{same} of {len(both)} as committed" if len(both) else "none decided"


def _comparisons(comparisons: list[Compared], folder: str) -> list[str]:
    if not comparisons:
        return []
    shown = (_comparison(comparison, folder) for comparison in comparisons)
    return [element("section", "<h2>Comparisons</h2>", *shown, id="comparisons")]


def _comparison(compared: Compared, folder: str) -> str:
    parts = [f"<h3>{escape(compared.name)}</h3>"]
    if compared.picture is not None:
        alt = f"Comparison of methods, {compared.name}: the score against epsilon. The numbers are in the table below."
        source = f"{folder}/{files.in_comparison(compared.name, 'picture.png')}"
        parts.append(html.zoom_at(source, *size(compared.picture), alt, f"Enlarge {compared.name}"))
    if len(compared.table) <= LONGEST:
        parts.append(html.folded("As a table", html.table(compared.table, f"{compared.name}: comparison")))
    links = [html.file_link(f"{folder}/{files.in_comparison(compared.name, name)}", name) for name in compared.files]
    return element("article", *parts, element("p", "Numbers: ", ", ".join(links)))
