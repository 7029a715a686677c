"""Generates the parts of README.md and docs that follow from the papers' objects and their claims.

A generated part is between a comment that names it and `<!-- end -->`:

    <!-- numbers -->          how many methods, tasks, papers, statements and runs there are, with links
    <!-- papers -->           one line per paper: the link to its page, what became of its statements, and what to know
    <!-- papers in full -->   citation, what is private, against whom, what is implemented, and the same
    <!-- claims NAME -->      what a paper states and the verdict; and below, our further claims
    <!-- gallery -->          every figure with its title and what the paper leads to expect
    <!-- shares -->           which share of the published grids and tables has been run
    <!-- runs -->             how many runs there are of every paper, and how long they took
    <!-- measured NAMES -->   what `python -m bench perf NAMES` measured
    <!-- compiled -->         what a GPU would do, as `python -m bench perf h100` counted
    <!-- accelerators -->     what GPUs and TPUs reach, as `python -m bench perf accelerator` measured

Verdicts are those that `python -m figures claims` wrote next to the figures.
"""

import json
import re
from functools import cache, partial
from pathlib import Path

import pandas as pd

from bench.analysis.tables import markdown, no_markup
from bench.errors import InputError
from bench.store import part_files
from figures import PAPERS, shares
from figures.claims import said, tallies
from figures.claims import written as read_claims
from figures.shared.paper import Paper
from figures.shared.runs import ended, read
from figures.shared.verdicts import ERROR, NO, OURS

KINDS = "papers in full|papers|numbers|gallery|shares|runs|accelerators|compiled|claims|measured"
PART = re.compile(rf"(<!-- ({KINDS})( [\w ]+)? -->\n).*?(<!-- end -->)", re.DOTALL)
PERF = "perf.json"  # in the results folder
PERF_OF_ACCELERATORS = "perf-*.json"
COMPILED = "compiled-for-*.json"
CLAIMS = "../../results/sweeps/figures"  # as a paper's page links to them
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
    if (table["seen"] == ERROR).any():
        raise InputError(f"{path} has a check that failed: fix it, then {remedy}")
    return table


def claims_part(paper: Paper, folder: Path) -> str:
    """Return a table of what a paper states and whether it was seen, one of our further claims, and a link to the
    rest."""
    table = verdicts(paper, folder)
    further = table["whose"] == OURS
    stated = [f"{row.statement} ({row.where})" for row in table[~further].itertuples()]
    parts = [_verdict_table(table[~further], "the paper states", stated)]
    if further.any():
        parts.append(_verdict_table(table[further], "our further claims", table.loc[further, "claim"].tolist()))
    file = f"{CLAIMS}/claims_{paper.name}"
    parts.append(f"Our reading of each statement, margin and runs: [table]({file}.md), [CSV]({file}.csv).\n")
    return "\n".join(parts)


def _verdict_table(table: pd.DataFrame, heading: str, lines: list[str]) -> str:
    """Return a table with a row for each statement, and the verdicts on its claims."""
    words = [said(row).partition(":")[0] for row in table.itertuples()]
    words = [text.replace(NO, f"**{NO}**", 1) if text.startswith(NO) else text for text in words]
    rows = pd.DataFrame({heading: lines, "seen?": words}).drop_duplicates()
    return markdown(rows.groupby(heading, sort=False)["seen?"].agg("; ".join).reset_index(), words=True)


def papers_part(folder: Path, in_full: bool) -> str:
    """Return a table of the papers with the outcomes of their statements: for the README link and what to know;
    `in_full` citation, what is private, and state."""
    rows = []
    for paper in PAPERS.values():
        outcomes = tallies(verdicts(paper, folder))
        full = {
            "name": f"[`{paper.name}`]({paper.name}.md)",
            "paper": f"{paper.authors}, *{paper.title}*, {paper.venue}",
            "what is private, against whom": f"{paper.protects}, against {paper.against}",
            "state": paper.state,
        }
        link = {"paper": f"[{paper.cited}](docs/papers/{paper.name}.md)"}
        rows.append(full | outcomes if in_full else link | outcomes | {"the exception to know": paper.exception})
    return markdown(pd.DataFrame(rows), words=True)


def gallery_part() -> str:
    """Return the section of every figure and table: title, picture, and what the paper leads to expect."""
    parts = []
    for paper in PAPERS.values():
        parts.append(f"## {paper.cited}\n\n[Claims and findings](papers/{paper.name}.md)\n")
        for name, figure in paper.figures.items():
            title = no_markup(figure.title.rstrip(".").removeprefix(f"{paper.cited}, "))
            title = title[:1].upper() + title[1:]
            alt = re.split(r"[:(,]", title)[0].strip()
            parts.append(f"### {title}\n\n![{alt}]({PICTURES}/{name}.png)\n")
            expected = figure.caption[figure.caption.find("Expected") :] if "Expected" in figure.caption else ""
            parts.append(f"{no_markup(expected)}\n\n" * bool(expected) + f"    python -m figures {name}\n")
    return "\n".join(parts)


def shares_part(folder: Path) -> str:
    """Return two tables: the shares of the published grids, and of the published tables, that have been run."""
    return "\n".join(markdown(table(folder.parent), words=True) for table in (shares.of_grids, shares.of_tables))


def numbers_part(folder: Path) -> str:
    """Return a line with the numbers of methods and tasks on the board, of papers and their statements, and of runs,
    with links."""
    board = pd.read_csv(folder.parent.parent / "board" / "board.csv")
    stated = sum(tallies(verdicts(paper, folder))["statements"] for paper in PAPERS.values())
    runs = sum(number for _, number, _ in _runs(folder))
    counts = {
        "methods": (board["algorithm"].nunique(), "docs/methods/index.md"),
        "tasks": (board["task"].nunique(), "docs/board.md"),
        "papers": (len(PAPERS), "docs/papers/index.md"),
        "statements": (stated, "docs/verdicts.md"),
        "runs": (runs, "results/README.md"),
    }
    return " · ".join(f"[{number:,} {words}]({link})" for words, (number, link) in counts.items()) + "\n"


@cache
def _runs(folder: Path) -> list[tuple[str, int, float]]:
    """Return name, number of runs and seconds of one worker of each paper that was run."""
    rows = []
    for paper in PAPERS.values():
        places = [sweep for sweep in paper.sweeps if part_files.parts_in(folder.parent / sweep)]
        runs = [read(folder.parent, [sweep], only=("rounds", "num_rounds", "wall_s")) for sweep in places]
        times = [ended(each)["wall_s"] for each in runs]
        rows += [(paper.name, sum(map(len, times)), float(sum(each.sum() for each in times)))] if times else []
    return rows


def runs_part(folder: Path) -> str:
    """Return a table of the runs of every paper and the hours of one worker that they took."""
    rows = [(f"`{name}`", f"{number:,}", f"{seconds / 3600:.2g}") for name, number, seconds in _runs(folder)]
    return markdown(pd.DataFrame(rows, columns=["paper", "runs", "hours of a worker"]))


def measured_part(folder: Path, names: str) -> str:
    """Return the date of benchmarks and a table of what they reached.

    A table of one benchmark has a row for each workload, where a line of it is "workload: what was measured". That of
    several has a row for each line that is not about memory, and the share of the machine's limit.

    Args:
        folder: that of the figures.
        names: of benchmarks, separated by spaces.

    Raises:
        InputError: where they were not measured.
    """
    path = folder.parent.parent / PERF
    found = json.loads(path.read_text()) if path.is_file() else {}
    if missing := [name for name in names.split() if name not in found]:
        raise InputError(f"{path} has no times of {missing[0]}: run `python -m bench perf {missing[0]} --out {path}`")
    records = [found[name] for name in names.split()]
    left_out = "resident memory" if len(records) == 1 else "memory"
    lines = [line for record in records for line in record["lines"] if left_out not in line["what"]]
    if len(records) == 1:
        cells: dict[str, dict[str, str]] = {}
        for line in lines:
            workload, _, what = line["what"].rpartition(": ")
            heading = f"{what}, {line['unit']}" if workload else line["unit"]
            cells.setdefault(workload or what, {})[heading] = _three_digits(line["value"])
        table = pd.DataFrame.from_dict(cells, orient="index").fillna("").rename_axis("workload").reset_index()
    else:
        rows = [(line["what"], f"{_three_digits(line['value'])} {line['unit']}") for line in lines]
        shares = [pair for record in records for pair in record["shares_of_limit"].items()]
        rows += [(f"{name}: share of the machine's limit", f"{100 * on['1 core']:.0f} %") for name, on in shares]
        table = pd.DataFrame(rows, columns=["workload", "measured"])
    dates = ", ".join(sorted({record["date"] for record in records}))
    about = f"Measured on {dates}, {records[0]['cores']} cores, jax {records[0]['jax']}:"
    return f"{about}\n\n{markdown(table)}"


def _three_digits(value: float) -> str:
    """Return a number with three significant digits, and commas."""
    return f"{float(f'{value:.3g}'):,.10g}"


def compiled_part(folder: Path) -> str:
    """Return a paragraph and a table for each GPU for which programs were compiled.

    Args:
        folder: that of the figures.
    """
    parts = []
    for path in sorted(folder.parent.parent.glob(COMPILED)):
        found = json.loads(path.read_text())
        rows = [
            {
                "workload": line["what"],
                "points": f"{line['points']:,}",
                "launches": f"{line['launches']:,.0f}",
                "waits": f"{line['waits']:,.0f}",
                "MB": _three_digits(line["bytes"] / 1e6),
                "memory, GB": f"{line['memory'] / 1e9:.2g}",
                "ms, by XLA": f"{1e3 * line['seconds']:.3g}",
            }
            for line in found["compiled"]
        ]
        about = (
            f"Compiled on {found['date']} for {found['device']} with jax {found['jax']}; for a round of all points, or "
            "a step:"
        )
        parts.append(f"{about}\n\n{markdown(pd.DataFrame(rows))}")
    return "\n".join(parts)


def accelerators_part(folder: Path) -> str:
    """Return a paragraph and a table for each device that was measured.

    Args:
        folder: that of the figures.

    Raises:
        InputError: where none was measured.
    """
    results = folder.parent.parent
    paths = sorted(results.glob(PERF_OF_ACCELERATORS))
    if not paths:
        raise InputError(f"{results} has no {PERF_OF_ACCELERATORS}: run `python -m bench perf accelerator` there")
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
        kind, names = match[2], (match[3] or "").strip()
        if kind == "claims" and names not in PAPERS:
            raise InputError(f"a page has a part `claims {names}`, but no paper is called {names}")
        make = {
            "papers": partial(papers_part, folder, in_full=False),
            "papers in full": partial(papers_part, folder, in_full=True),
            "numbers": partial(numbers_part, folder),
            "gallery": gallery_part,
            "shares": partial(shares_part, folder),
            "runs": partial(runs_part, folder),
            "accelerators": partial(accelerators_part, folder),
            "compiled": partial(compiled_part, folder),
            "measured": partial(measured_part, folder, names),
            "claims": lambda: claims_part(PAPERS[names], folder),
        }
        return match[1] + make[kind]() + match[4]

    return PART.sub(part, text)


def pages(root: Path) -> list[Path]:
    """Return README.md and the pages in docs."""
    return [root / "README.md", *sorted(path for path in (root / "docs").rglob("*.md") if "_build" not in path.parts)]


def outdated(root: Path, folder: Path) -> dict[Path, str]:
    """Return the pages of the repository that are outdated, with their correct content."""
    anew = {page: written_anew(page.read_text(), folder) for page in pages(root)}
    return {page: text for page, text in anew.items() if text != page.read_text()}
