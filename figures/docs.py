"""Generates the parts of README.md and docs that follow from the papers' objects and their claims.

A generated part is between a comment that names it and `<!-- end -->`:

    <!-- papers -->           one line per paper: the link to its page, and what became of its claims and ours
    <!-- papers in full -->   the same with the citation, what is private, against whom, and what is implemented
    <!-- claims NAME -->      what a paper states, our reading and the verdict; and below, our further claims
    <!-- gallery -->          every figure with its title and caption
    <!-- shares -->           which share of the published grids and tables has been run
    <!-- commands -->         how long whole commands take, as `python -m bench perf commands` measured
    <!-- accelerators -->     what GPUs and TPUs reach, as `python -m bench perf --accelerator` measured

Single numbers in the prose are those of `figures.prose`. Verdicts are those that `python -m figures claims` wrote next
to the figures.
"""

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd

from bench.analysis.tables import markdown, no_markup
from bench.errors import InputError
from figures import PAPERS, prose, shares
from figures.claims import said, tallies
from figures.claims import written as read_claims
from figures.shared.paper import Paper
from figures.shared.verdicts import CONTRADICTED, DOES_NOT_CARRY_OVER, ERROR, FAILS, OURS

PART = re.compile(
    r"(<!-- (papers|papers in full|gallery|shares|commands|accelerators|claims (\w+)) -->\n).*?(<!-- end -->)",
    re.DOTALL,
)
PICTURES = "../results/sweeps/figures"  # as a page in docs links to them


def verdicts(paper: Paper, folder: Path) -> pd.DataFrame:
    """Return the claims of a paper with their last written verdicts, in the paper's order.

    Args:
        folder: with claims_NAME.csv.

    Raises:
        InputError: where the file is missing, has other claims than the code, or has a failed check.
    """
    path, remedy = folder / f"claims_{paper.name}.csv", f"run `python -m figures claims {paper.name}`"
    if not path.is_file():
        raise InputError(f"{path} is missing: {remedy}")
    table = read_claims(path, remedy)
    written, claimed = list(table["claim"]), [claim.text for claim in paper.claims]
    if written != claimed:
        raise InputError(f"{path} has other claims than figures/{paper.name}: {remedy}")
    if (table["verdict"] == ERROR).any():
        raise InputError(f"{path} has a check that failed: fix it, then {remedy}")
    return table


def claims_part(paper: Paper, folder: Path) -> str:
    """Return two tables: what a paper states and what we measure, with the verdict and its margin; and our further
    claims."""
    table = verdicts(paper, folder)
    ours = table["whose"] == OURS
    theirs = _cells(table[~ours])
    theirs.insert(0, "the paper states", [f"{row.statement} ({row.where})" for row in table[~ours].itertuples()])
    published = table.loc[~ours, "published"]
    if published.any():
        numbers = [
            f"{row.published}: {row.published_numbers}" if row.published else "" for row in table[~ours].itertuples()
        ]
        theirs.insert(3, "its own numbers", numbers)
    parts = [markdown(theirs, words=True)]
    if ours.any():
        mine = _cells(table[ours]).rename(columns={"our reading": "our further claims"})
        parts.append(markdown(mine, words=True))
    return "\n".join(parts)


def _cells(table: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "our reading": table["claim"],
            "verdict": [_verdict(row) for row in table.itertuples()],
            "margin": [_margin(row) for row in table.itertuples()],
            "runs": table["repetitions"],
        }
    )


def _verdict(row: Any) -> str:
    """Return the verdict, emphasised where it goes against the claim, and what the settings rest on."""
    text = f"**{row.verdict}**" if row.verdict in (CONTRADICTED, DOES_NOT_CARRY_OVER, FAILS) else said(row)
    kind, _, words = row.settings.partition(": ")
    return f"{text}; {kind}: {words}" if words else text


def _margin(row: Any) -> str:
    """Return a margin, what would decide it, and the edges of grids that it rests on."""
    parts = [
        row.margin,
        f"to decide: {row.to_decide}" if row.to_decide else "",
        f"edge: {row.edges}" if row.edges else "",
    ]
    return "; ".join(filter(None, parts))


def papers_part(folder: Path) -> str:
    """Return one line per paper: the link to its page from the README, and the outcomes of its claims and ours."""
    rows = [
        {
            "name": f"[`{paper.name}`](docs/papers/{paper.name}.md)",
            "paper": paper.cited,
            **tallies(verdicts(paper, folder)),
        }
        for paper in PAPERS.values()
    ]
    return markdown(pd.DataFrame(rows), words=True)


def papers_in_full(folder: Path) -> str:
    """Return the table of all papers: citation, what is private, state, and how their claims and ours come out."""
    rows = [
        {
            "name": f"[`{paper.name}`]({paper.name}.md)",
            "paper": f"{paper.authors}, *{paper.title}*, {paper.venue}",
            "what is private, against whom": f"{paper.protects}, against {paper.against}",
            "state": paper.state,
            **tallies(verdicts(paper, folder)),
        }
        for paper in PAPERS.values()
    ]
    return markdown(pd.DataFrame(rows), words=True)


def gallery_part() -> str:
    """Return every figure and table of every paper: title, picture, caption, and the command that draws it."""
    parts = []
    for paper in PAPERS.values():
        parts.append(f"## {paper.cited}\n\n[Claims and findings](papers/{paper.name}.md)\n")
        for name, figure in paper.figures.items():
            title = no_markup(figure.title.rstrip(".").removeprefix(f"{paper.cited}, "))
            title = title[:1].upper() + title[1:]
            parts.append(f"### {title}\n\n![{title}]({PICTURES}/{name}.png)\n")
            parts.append(f"{no_markup(figure.caption)}\n\n    python -m figures {name}\n")
    return "\n".join(parts)


def shares_part(folder: Path) -> str:
    """Return two tables: which share of the published grids, and of the published tables, has been run."""
    return "\n".join(markdown(table(folder.parent), words=True) for table in (shares.of_grids, shares.of_tables))


def commands_part(folder: Path) -> str:
    """When commands were timed, and a table of their seconds.

    Args:
        folder: that of the figures.

    Raises:
        InputError: where they were not measured.
    """
    found = prose.measurements(folder.parent).get("commands")
    if found is None:
        path = folder.parent.parent / prose.PERF
        raise InputError(f"{path} has no times of commands: run `python -m bench perf commands --out {path}`")
    seconds = {line["what"]: line["value"] for line in found["lines"] if line["unit"] == "s"}
    rows = [
        {
            "command": f"`{what}`",
            "s": f"{seconds[what]:.2g}",
            "processor, s": f"{seconds[f'{what}: processor']:.2g}",
        }
        for what in seconds
        if f"{what}: processor" in seconds
    ]
    about = f"Measured on {found['date']}, {found['cores']} cores, jax {found['jax']}:"
    return f"{about}\n\n{markdown(pd.DataFrame(rows))}"


def _three_digits(value: float) -> str:
    """Return a number with three digits that count, and commas."""
    return f"{float(f'{value:.3g}'):,.10g}"


def accelerators_part(folder: Path) -> str:
    """What each device was measured to reach, and a table of it.

    Args:
        folder: that of the figures.

    Raises:
        InputError: where none was measured.
    """
    results = folder.parent.parent
    paths = sorted(results.glob(prose.PERF_OF_ACCELERATORS))
    if not paths:
        raise InputError(
            f"{results} has no {prose.PERF_OF_ACCELERATORS}: run `python -m bench perf --accelerator` there"
        )
    parts = []
    for path in paths:
        found = json.loads(path.read_text())
        rows = [
            {
                "workload": line["what"],
                "reached": f"{_three_digits(line['value'])} {line['unit']}",
                "ms": f"{line['ms']:.3g}" if "ms" in line else "",
                "share of the limit": f"{100 * line['share_of_limit']:.2g} % of {line['limit']}"
                if "limit" in line
                else "",
            }
            for line in found["measured"]
        ]
        about = (
            f"One {found['device']}, measured on {found['date']} with jax {found['jax']}; a product of two float32 "
            f"matrices reaches {found['peak_gflops'] / 1e3:.0f} TFLOP/s there:"
        )
        left_out = "; ".join(f"{what}: {why}" for what, why in found["left_out"].items())
        parts.append(f"{about}\n\n{markdown(pd.DataFrame(rows))}" + f"\nLeft out: {left_out}\n" * bool(left_out))
    return "\n".join(parts)


def written_anew(text: str, folder: Path) -> str:
    """Return a page with its generated parts updated.

    Raises:
        InputError: for a part about an unknown paper.
    """

    def part(match: re.Match) -> str:
        name = match[3]
        if name and name not in PAPERS:
            raise InputError(f"a page has a part `claims {name}`, but no paper is called {name}")
        if name:
            return match[1] + claims_part(PAPERS[name], folder) + match[4]
        make = {
            "papers": papers_part,
            "papers in full": papers_in_full,
            "shares": shares_part,
            "commands": commands_part,
            "accelerators": accelerators_part,
        }
        return match[1] + (make[match[2]](folder) if match[2] in make else gallery_part()) + match[4]

    return prose.written_anew(PART.sub(part, text), folder.parent)


def pages(root: Path) -> list[Path]:
    """README.md, and the pages in docs."""
    return [root / "README.md", *sorted(path for path in (root / "docs").rglob("*.md") if "_build" not in path.parts)]


def outdated(root: Path, folder: Path) -> dict[Path, str]:
    """Return the pages of the repository that are outdated, with their correct content."""
    anew = {page: written_anew(page.read_text(), folder) for page in pages(root)}
    return {page: text for page, text in anew.items() if text != page.read_text()}
