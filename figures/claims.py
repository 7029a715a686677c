"""Checks the claims of the papers against the results.

The check of a claim is a function of the runs that returns an outcome and the numbers behind it. A claim holds or fails
where chance over repetitions is unlikely to explain its margin, and is undecided otherwise. A claim without runs is
"not run", and a claim whose check raised an exception is an "error", which is no verdict. What the outcome says of the
paper follows from it and from the claim's settings (`Claim.says`).
"""

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from bench.analysis import select
from bench.analysis.select import span
from bench.analysis.tables import markdown
from bench.errors import InputError, cannot_write, in_one_line
from bench.files import write_whole
from figures import PAPERS
from figures.shared.derived import derived
from figures.shared.drawn import JUDGED, digest_of, recorded
from figures.shared.runs import UNREAD, read, together
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
    PAPERS_OWN,
    UNDECIDED,
    Claim,
    NotTestable,
    Verdict,
)

COLUMNS = [
    *("paper", "whose", "statement", "where", "claim", "how", "settings", "verdict", "outcome"),
    *("published", "published_numbers", "margin", "to_decide", "edges", "evidence", "source", "scale", "repetitions"),
]
COUNTED = {
    HOLDS: ("holds", "hold"),
    CARRIES_OVER: ("carries over", "carry over"),
    CONTRADICTED: ("is contradicted", "are contradicted"),
    DOES_NOT_CARRY_OVER: ("does not carry over", "do not carry over"),
    FAILS: ("fails", "fail"),
    UNDECIDED: ("is undecided", "are undecided"),
    NOT_RUN: ("was not run", "were not run"),
    NO_SETTINGS: ("rests on settings not given", "rest on settings not given"),
    ERROR: ("has a check that failed", "have checks that failed"),
}
WIDTH = 100  # of the text
repetitions, where_from = derived(select.repetitions), derived(select.where_from)  # many claims are about the same runs


def judge(claim: Claim, runs: pd.DataFrame | None) -> Verdict:
    """Return the verdict on a claim; never raises: an exception in the check gives the outcome ERROR.

    Where runs are missing, the evidence says which.
    """
    if runs is None:
        return Verdict(NOT_RUN, f"no results of {' or '.join(claim.sweeps)}")
    if (runs["scale"] == "smoke").any():
        return Verdict(
            NOT_RUN, "scale smoke only shows that everything runs and cannot decide claims: run a larger scale"
        )
    try:
        return claim.check(runs)
    except (NotTestable, InputError) as why:
        return Verdict(NOT_RUN, str(why))
    except Exception as error:  # caught so that the other claims are judged; `stopped` names it afterwards
        return Verdict(ERROR, f"the check failed: {type(error).__name__}: {' '.join(str(error).split())}")


def stopped(table: pd.DataFrame) -> list[str]:
    """Return a line for each claim in a table of `judged` whose check raised an exception."""
    errors = table[table["verdict"] == ERROR]
    return [f"{row.paper}, {row.claim!r} ({row.where}): {row.evidence}" for row in errors.itertuples()]


def as_text(table: pd.DataFrame, *, brief: bool = False) -> str:
    """Return the verdicts as Markdown lines that fit a terminal; if brief, without their evidence.

    Where no claim was run, for one and the same reason, this is said once.
    """
    if len(table) > 1 and set(table["verdict"]) == {NOT_RUN} and table["evidence"].nunique() == 1:
        text = f"- **{NOT_RUN}**, all {len(table)} claims of {table['paper'].iloc[0]}: {table['evidence'].iloc[0]}"
        return "\n".join(textwrap.wrap(text, WIDTH, subsequent_indent="  "))
    lines = []
    for row in table.itertuples():
        place = f" ({row.where})" if row.where else ""
        lines += textwrap.wrap(f"- **{said(row)}**: {row.claim}{place}", WIDTH, subsequent_indent="  ")
        if brief:
            continue
        marked = {
            "the paper states": row.statement,
            "settings": row.settings if row.whose == PAPERS_OWN or row.verdict == NO_SETTINGS else "",
            "its own numbers": f"{row.published}, {row.published_numbers}" if row.published else "",
            "margin": row.margin,
            "to decide": row.to_decide,
            "rests on": row.edges,
        }
        facts = [f"{name}: {text}" for name, text in marked.items() if text]
        for part in [f"how: {row.how}", *facts, *str(row.evidence).split("; ")]:
            lines += textwrap.wrap(f"- {part}", WIDTH, initial_indent="    ", subsequent_indent="      ")
    scales = ", ".join(dict.fromkeys(scale for scale in table["scale"] if scale))
    tally = "; ".join(f"{name}: {text}" for name, text in tallies(table).items() if text)
    lines += ["", *textwrap.wrap(f"Scale {scales}. {tally[:1].upper()}{tally[1:]}.", WIDTH)]
    return "\n".join(lines)


def said(row) -> str:
    """Return the verdict of a row of `judged` in words; where settings are not given, with the outcome here."""
    here = {UNDECIDED: "undecided here", FAILS: "fails here, which is not comparable"}
    return (
        f"{row.verdict} ({here.get(row.outcome, f'{row.outcome} here')})" if row.verdict == NO_SETTINGS else row.verdict
    )


def deviations_as_text(table: pd.DataFrame, left_out: Iterable[str]) -> str:
    """Return the deviations from the published curves, and what is left out, as Markdown lines that fit a terminal."""
    lines = ["Largest deviation from the published points, curve by curve:", ""]
    for row in table.itertuples():
        variant = f" ({row.variant})" if row.variant else ""
        at = f" at {row.x_name} {row.x:g}" if row.x_name else ""
        deviation = f"{row.deviation:+.4f}{at}: {row.here:.4f}, published {row.published:.4f}"
        text = f"- {row.figure}, {row.series}{variant}, {row.y_name}: {deviation} ({row.points} points)"
        lines += textwrap.wrap(text, WIDTH, subsequent_indent="  ")
    for text in left_out:
        lines += textwrap.wrap(f"- {text}", WIDTH, subsequent_indent="  ")
    return "\n".join(lines)


def judged(paper: str, runs: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the claims of a paper with their verdicts: COLUMNS, a row each.

    whose: PAPERS_OWN or OURS.
    statement, where, claim: what the paper states, its place, and our reading.
    verdict: what the outcome says of the paper.
    outcome: that of the test on our runs.
    published, published_numbers: the outcome of the same comparison on the numbers that the paper published, and how
        many comparisons they meet; empty without such numbers.
    margin: margin of the deciding comparison, in words; empty where the claim was not run.
    to_decide: what would decide an undecided claim; empty for all others.
    edges: settings behind the margin that are the smallest or largest tried, so that others may be better.
    source: source of the data of the claim's runs, empty without runs; scale: scale of the sweep's runs.
    repetitions: number of repetitions of the claim's points, "3", or "1 to 3" where they differ.

    Args:
        paper: its short name.
        runs: sweep -> its runs; a sweep without results is left out.
    """
    rows = []
    for claim in PAPERS[paper].claims:
        of_sweep = runs_for(claim, runs)
        outcome, evidence, margin = judge(claim, of_sweep)
        theirs = claim.published() if claim.published else Verdict("", "")
        about = None if of_sweep is None else claim.about(of_sweep)
        rows.append(
            {
                "paper": paper,
                "whose": claim.whose,
                "statement": claim.statement,
                "where": claim.where,
                "claim": claim.text,
                "how": claim.how,
                "settings": str(claim.settings),
                "verdict": claim.says(outcome),
                "outcome": outcome,
                "published": theirs.outcome,
                "published_numbers": theirs.evidence,
                "margin": "" if margin is None else str(margin),
                "to_decide": "" if margin is None else margin.to_decide,
                "edges": "" if margin is None else margin.rests_on,
                "evidence": evidence,
                "source": "" if about is None else where_from(about)["source"],
                "scale": "" if of_sweep is None else where_from(of_sweep)["scale"],
                "repetitions": "0" if about is None else span(repetitions(about)),
            }
        )
    return pd.DataFrame(rows, columns=COLUMNS)


def runs_for(claim: Claim, runs: Mapping[str, pd.DataFrame]) -> pd.DataFrame | None:
    """Return the runs of a claim's sweeps in one table; None where one of the sweeps has no results."""
    if any(sweep not in runs for sweep in claim.sweeps):
        return None
    return runs[claim.sweep] if not claim.also else together([runs[sweep] for sweep in claim.sweeps])


def deviations_of(paper: str, runs: Mapping[str, pd.DataFrame]) -> tuple[pd.DataFrame, list[str]]:
    """Return the deviations of the runs from published points, and the figures left out; empty without published
    curves."""
    deviations = PAPERS[paper].deviations
    return deviations(runs) if deviations else (pd.DataFrame(), [])


class Findings(NamedTuple):
    """What runs say of a paper.

    verdicts: the table of `judged`.
    deviations, left_out: as of `deviations_of`.
    """

    verdicts: pd.DataFrame
    deviations: pd.DataFrame
    left_out: list[str]


def findings(paper: str, runs: Mapping[str, pd.DataFrame]) -> Findings:
    """Return the verdicts on a paper's claims, and the deviations from its curves.

    Args:
        paper: its short name.
        runs: sweep -> its runs; a sweep without results is left out.
    """
    return Findings(judged(paper, runs), *deviations_of(paper, runs))


def findings_in(paper: str, folders: Mapping[str, Path]) -> Findings:
    """As `findings`, of the runs in folders: sweep -> the folder of the scale that its runs are in."""
    return findings(paper, {sweep: read(folder, [sweep], UNREAD) for sweep, folder in folders.items()})


def check(paper: str, found: Findings, folder: Path, *, brief: bool = False) -> None:
    """Print the claims of a paper with their verdicts, and write them to claims_<paper>.csv and .md.

    Where the paper's curves are available as numbers, the deviations from them are printed too, and written to
    claims_<paper>_deviations.csv; figures that cannot be made from the runs are listed as left out.

    Args:
        paper: its short name.
        found: what its runs say.
        folder: where the files go.
        brief: whether to print the verdicts alone; the files are the same.
    """
    text = as_text(found.verdicts)
    if len(found.deviations) or found.left_out:
        text += "\n\n" + deviations_as_text(found.deviations, found.left_out)
    print(as_text(found.verdicts, brief=True) if brief else text)
    with writing(folder):
        write_whole(folder / f"claims_{paper}.csv", found.verdicts.to_csv(index=False))
        if len(found.deviations):
            numbers = found.deviations.to_csv(index=False, float_format="%.6g")
            write_whole(folder / f"claims_{paper}_deviations.csv", numbers)
        write_whole(folder / f"claims_{paper}.md", text + "\n")


def count(table: pd.DataFrame, column: str = "verdict") -> str:
    """Return the number of claims by verdict: "3 hold, 1 is contradicted"."""
    numbers = table[column].value_counts()
    return ", ".join(f"{numbers[v]} {words[int(numbers[v] > 1)]}" for v, words in COUNTED.items() if v in numbers)


def tallies(table: pd.DataFrame) -> dict[str, str]:
    """Return what became of the claims in a table of `judged`, in words, apart: those of the paper with its settings,
    the same on the numbers that it published, those whose settings it does not give, and ours."""
    own, unknown = table["whose"] == PAPERS_OWN, table["verdict"] == NO_SETTINGS
    open_ones = table[own & unknown]
    return {
        "its claims": count(table[own & ~unknown]),
        "on its own published numbers": count(table[own], "published"),
        "settings not given": f"{len(open_ones)} ({count(open_ones, 'outcome')} here)" if len(open_ones) else "",
        "our further claims": count(table[table["whose"] == OURS]),
    }


def judged_from(paper: str, folders: Mapping[str, Path]) -> str:
    """Return the digest of what the verdicts of a paper follow from: its claims as they are written, and the runs.

    Args:
        paper: its short name.
        folders: sweep -> the folder of the scale that its runs are in, for the sweeps that have runs.
    """
    words = [
        word
        for claim in PAPERS[paper].claims
        for word in (claim.whose, claim.statement, claim.where, claim.text, claim.how, str(claim.settings))
    ]
    return digest_of([folders[sweep] / sweep for sweep in sorted(folders)], "\n".join([*COLUMNS, *words]))


def recall(paper: str, folders: Mapping[str, Path], folder: Path) -> tuple[pd.DataFrame, pd.DataFrame] | None:
    """Return the verdicts that `check` wrote to a folder, and the deviations; None where they are not of these runs.

    Args:
        paper: its short name.
        folders: as for `judged_from`.
        folder: with claims_<paper>.csv.
    """
    path = folder / f"claims_{paper}.csv"
    if not path.is_file() or recorded(folder, JUDGED).get(paper) != judged_from(paper, folders):
        return None
    table, far = written(path, f"run `python -m figures claims {paper}`"), folder / f"claims_{paper}_deviations.csv"
    return table, pd.read_csv(far) if PAPERS[paper].deviations and far.is_file() else pd.DataFrame()


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """`tallies` of each paper, a row each."""
    return pd.DataFrame([{"paper": name, **tallies(rows)} for name, rows in table.groupby("paper", sort=False)])


def join(tables: Mapping[str, pd.DataFrame], folder: Path) -> pd.DataFrame:
    """Print a summary of the papers' claims, and write all claims to claims.csv and claims.md.

    Nothing is printed or written for a single paper without others in the folder.

    Args:
        tables: paper -> the table of `judged`; of the other papers the tables that lie in the folder are taken.
        folder: with claims_<paper>.csv, and where the files go.
    """
    table = pd.concat(_with_others(tables, folder), ignore_index=True)
    if table["paper"].nunique() < 2:
        return table
    counts = summary(table)
    print()
    if others := [name for name in counts["paper"] if name not in tables]:
        print(f"all papers, with the earlier verdicts on {', '.join(others)}:")
    for row in counts.to_dict("records"):
        print(f"{row.pop('paper')}: {'; '.join(f'{name}: {text}' for name, text in row.items() if text)}")
    cells = table.assign(evidence=table["evidence"].str.replace("; ", "\n"))
    with writing(folder):
        write_whole(folder / "claims.csv", table.to_csv(index=False))
        write_whole(folder / "claims.md", f"{markdown(counts, words=True)}\n{markdown(cells, words=True)}")
    return table


def _with_others(tables: Mapping[str, pd.DataFrame], folder: Path) -> Iterator[pd.DataFrame]:
    """Yield the tables of all papers that have one, in the order of the papers."""
    for paper in PAPERS:
        path = folder / f"claims_{paper}.csv"
        if paper in tables:
            yield tables[paper]
        elif path.exists():
            yield written(path, f"run `python -m figures claims {paper}`")


def written(path: Path, remedy: str) -> pd.DataFrame:
    """Return a table of verdicts that `check` wrote, all of it text.

    Raises:
        InputError: where it is damaged; `remedy` says what to do.
    """
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read ({in_one_line(error)}): {remedy}") from None
    if missing := [name for name in COLUMNS if name not in table]:
        raise InputError(f"{path} is damaged (no column {missing[0]!r}): {remedy}")
    return table


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Turn errors in writing files into InputErrors of one line.

    Raises:
        InputError: where it cannot be written.
    """
    try:
        yield
    except OSError as error:
        raise cannot_write(error, folder) from None
