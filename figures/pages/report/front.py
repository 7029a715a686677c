"""The first screen: what the suite is, what was found of each paper, and the ranks of the board."""

from collections.abc import Sequence
from html import escape

import numpy as np
import pandas as pd

from bench.analysis.measured import PANEL, user_level_first
from bench.cli.options import version
from figures import PAPERS
from figures.claims import count, tallies
from figures.pages.report import evidence, files, html
from figures.pages.report.collect import Ranked, Report, Section
from figures.pages.report.facts import Facts, duration
from figures.pages.report.html import element
from figures.pages.report.pictures import size
from figures.shared.verdicts import NOT_RUN, OURS

SHOWN = 6  # methods of a unit of privacy; the page of the board has all


def header(report: Report) -> str:
    """Return what the suite is, what all verdicts together are, and where the numbers come from."""
    units = list(dict.fromkeys(paper.protects for paper in PAPERS.values()))
    protected = f"{', '.join(units[:-1])}, or {units[-1]}" if units[1:] else units[0]
    claims = report.claims
    papers = f"{len(report.papers)} published papers" if report.papers[1:] else "a published paper"
    theirs = claims[claims["whose"] != OURS]
    counted = f"Of {len(theirs)} claims of the papers {count(theirs)}. " if report.decided else ""
    words = (
        f"The experiments of {papers} on federated learning under differential privacy, run again: each claim is "
        f"decided by a statistical test, and methods are compared at equal privacy. {counted}Every ε protects one unit "
        f"against named observers: {protected}."
    )
    terms = {"Results": escape(report.main), **_origin([paper.of_main for paper in report.papers])}
    terms["Version"] = escape(version())
    origin = (element("span", f"{escape(term)}: {said}") for term, said in terms.items() if said)
    return element("p", escape(words), class_="lead") + element("p", *origin, class_="origin")


def _origin(facts: Sequence[Facts | None]) -> dict[str, str]:
    """Return the number of runs, the date and commit of the newest, and how many commits there are."""
    found = [fact for fact in facts if fact]
    newest = max((fact.newest for fact in found), default="")
    latest = sorted({commit for fact in found if fact.newest == newest for commit in fact.newest_commits})
    several = len({commit for fact in found for commit in fact.commits})
    commits = f", commit {', '.join(latest[:2])}" if latest else ""
    others = f" (all runs: {several} commits)" if several > 1 else ""
    return {
        "Runs": f"{sum(fact.num_runs for fact in found):,}" if found else "",
        "Newest run": escape(f"{newest}{commits}{others}") if newest else "",
    }


def run_here(report: Report) -> str:
    """Return what was run here beside the committed results, in a paragraph; empty where nothing was."""
    if not report.here:
        return ""
    facts = [paper.of_here for paper in report.papers if paper.of_here]
    drawn = sum(exhibit.here is not None for paper in report.papers for exhibit in paper.exhibits)
    origin = _origin(facts)
    seconds = sum(fact.wall_s + fact.compile_s for fact in facts)
    told = (
        "The verdicts of these runs stand beside the committed ones."
        if decided_here(report)
        else "Scale smoke shows that everything runs, and decides no claim."
    )
    words = (
        f"<strong>Run here</strong>: {escape(report.here)}. {origin['Runs']} runs in {duration(seconds)} of computing, "
        f"the newest of {origin['Newest run']}; {drawn} figures. {told} "
    )
    return element("p", words, element("a", "What was run here", href="#here"), class_="band")


def decided_here(report: Report) -> bool:
    """Return whether the runs of here decide any claim."""
    return bool((~report.claims["here"].isin(["", NOT_RUN])).any())


def cards(report: Report, folder: str) -> str:
    """Return the papers that are reproduced in full, each with what was found and a picture from the folder of
    files."""
    full = [paper for paper in report.papers if PAPERS[paper.name].in_full]
    return element("div", *(_card(paper, folder) for paper in full), class_="cards") if full else ""


def others(report: Report) -> str:
    """Return the papers of which a part is reproduced, in a line or two each."""
    items = [_brief(paper) for paper in report.papers if not PAPERS[paper.name].in_full]
    if not items:
        return ""
    return element("section", "<h2>Methods of further papers</h2>", element("ul", *items, class_="brief"), id="others")


def _card(section: Section, folder: str) -> str:
    paper = PAPERS[section.name]
    lead = next((exhibit for exhibit in section.exhibits if exhibit.name == paper.leading), None)
    parts = [
        element("h2", element("a", escape(paper.cited), href=f"#paper-{section.name}")),
        element("p", escape(f"Protects {paper.protects}, against {paper.against}."), class_="soft"),
        tally(section),
        element("p", escape(paper.found)),
    ]
    drawn = lead and (lead.main or lead.here)
    if lead and drawn:
        source = f"{folder}/{files.figure(files.MAIN if lead.main else files.HERE, lead.name)}"
        parts.append(html.zoom_at(source, *size(drawn.picture), lead.alt or lead.title, f"Enlarge {lead.name}"))
    return element("article", *parts, class_="card")


def _brief(section: Section) -> str:
    paper = PAPERS[section.name]
    name = element("a", escape(paper.cited), href=f"#paper-{section.name}")
    return element("li", element("strong", name), f" {escape(paper.found)} ", tally(section))


def tally(section: Section) -> str:
    """Return the verdicts on a paper's own claims: a bar, and in words, with those of our further claims."""
    verdicts = section.verdicts
    decided = verdicts.loc[verdicts["whose"] != OURS, "verdict"].map(evidence.LOOKS).value_counts()
    bar = "".join(
        f'<span class="{look.split()[1]}" style="flex-grow: {decided[look]}"></span>'
        for look in dict.fromkeys(evidence.LOOKS.values())
        if look in decided and look.split()[1] in ("holds", "fails", "open")
    )
    words = "; ".join(f"{name}: {text}" for name, text in tallies(verdicts).items() if text)
    link = element("a", escape(words), href="#claims", data_claims=section.name)
    return element("div", element("div", bar, class_="bar", aria_hidden="true") if bar else "", link, class_="tally")


# ---- The board ----


def board(ranked: Ranked | None, folder: str) -> str:
    """Return the mean rank of methods by task, for each unit of privacy; empty where there is no board."""
    if ranked is None:
        return ""
    private = ranked.rows[np.isfinite(ranked.rows["target_epsilon"])]
    panels = sorted(private.groupby(PANEL), key=lambda panel: user_level_first(panel[0]))
    tables = [_unit(f"One {unit}, {relation}", rows) for (unit, relation), rows in panels]
    words = (
        "Mean rank over all ε by task, 1 is the best. All methods are tuned alike, and privacy units are ranked apart."
    )
    whole = []
    if ranked.page:
        whole.append(element("a", "All methods, scores and intervals", href=f"{folder}/{files.BOARD}"))
    whole.append(html.file_link(f"{folder}/{files.BOARD_ROWS}", "board.csv"))
    return element(
        "section",
        "<h2>The board: methods compared at equal privacy</h2>",
        element("p", escape(words), " ", ", ".join(whole), class_="soft"),
        element("div", *tables, class_="units"),
        id="board",
    )


def _unit(words: str, rows: pd.DataFrame) -> str:
    """Return the best methods of one unit of privacy by task."""
    ran = rows.groupby(["task", "target_epsilon"])["rank"].transform("count")
    ranks = rows.assign(rank=rows["rank"].fillna(ran + 1)).groupby(["algorithm", "task"])["rank"].mean().unstack()
    order = pd.DataFrame({"mean": ranks.mean(axis=1), "tasks": -ranks.notna().sum(axis=1)})
    ranks = ranks.loc[order.sort_values(["mean", "tasks"]).index]  # of the tasks that each was run on
    ranks.columns = [str(name).replace("_", " ") for name in ranks]
    cells = ranks.map(lambda value: "" if pd.isna(value) else f"{value:.1f}").reset_index(names="method")
    left = len(cells) - SHOWN
    caption = words + (f", {SHOWN} of {len(cells)} methods" if left > 0 else "")
    return html.table(cells.head(SHOWN), caption, class_="board")
