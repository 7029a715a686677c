"""Checks the claims of the papers against the results.

Two questions are asked of every claim. Did we see it: yes or no where chance over repetitions is unlikely to explain
its margin, and open otherwise, as where runs are missing. In whose setting: the paper's, on other data, or with our
guess at what the paper leaves open. A claim whose check raised an exception is an "error", which is no verdict.
"""

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from bench.analysis import select
from bench.analysis.select import span
from bench.errors import InputError, in_one_line, writing
from bench.files import recorded, write_whole
from figures import PAPERS
from figures.shared.derived import derived
from figures.shared.drawn import JUDGED, digest_of
from figures.shared.margins import MOST_REPETITIONS, Margin
from figures.shared.runs import UNREAD, read, together
from figures.shared.verdicts import ERROR, GUESS, NO, OPEN, OTHER_DATA, OURS, YES, Claim, Verdict, verdict
from figures.shared.verdicts import PAPERS as SAME

NUMBERS = ["estimate", "half_width", "threshold", "unit", "repetitions", "needed", "comparison", "basis"]
COLUMNS = [
    *("paper", "whose", "statement", "where", "claim", "seen", "setting", "differs"),
    *("published", "published_met", "published_of"),
    *(*NUMBERS, "comparisons", "edges", "why", "source", "scale", "runs"),
]
ELSEWHERE = "not seen on other data or under our guess"
STATEMENTS = {  # what became of a statement, the weakest of its claims first -> the columns of the table of papers
    ERROR: "error",
    NO: "not seen in the paper's setting",
    ELSEWHERE: "not seen elsewhere",
    OPEN: "open",
    GUESS: "seen under our guess",
    OTHER_DATA: "seen on other data",
    SAME: "seen in the paper's setting",
}
WIDTH, MOST_NAMED = 100, 4  # of the text; comparisons that are named
repetitions, where_from = derived(select.repetitions), derived(select.where_from)  # many claims are about the same runs


def judge(claim: Claim, runs: pd.DataFrame | None) -> Verdict:
    """Return the verdict on a claim; never raises: an exception in the check is the verdict ERROR.

    Where runs are missing, it is open, and `why` says which.
    """
    if runs is None:
        return Verdict(OPEN, why=f"not run: no results of {' or '.join(claim.sweeps)}")
    if (runs["scale"] == "smoke").any():
        return Verdict(OPEN, why="scale smoke only shows that everything runs and cannot decide claims")
    try:
        return verdict(claim.check(claim.measure(runs)))
    except InputError as why:
        return Verdict(OPEN, why=f"not run: {why}")
    except Exception as error:  # caught so that the other claims are judged; `stopped` names it afterwards
        return Verdict(ERROR, why=f"the check failed: {type(error).__name__}: {' '.join(str(error).split())}")


def stopped(table: pd.DataFrame) -> list[str]:
    """Return a line for each claim in a table of `judged` whose check raised an exception."""
    errors = table[table["seen"] == ERROR]
    return [f"{row.paper}, {row.claim!r} ({row.where}): {row.why}" for row in errors.itertuples()]


# ---- Words ----

_wrapped = partial(textwrap.wrap, width=WIDTH, break_on_hyphens=False)


def said(row: Any) -> str:
    """Return the verdict of a row of `judged` in words: "yes, on other data: ..."."""
    setting = {SAME: "in the paper's setting", OTHER_DATA: "on other data", GUESS: "under our guess"}.get(row.setting)
    return row.seen + f", {setting}" * bool(setting) + f": {row.differs}" * bool(row.differs)


def margin_said(row: Any) -> str:
    """Return the numbers of a row of `judged` in words; empty where it was not run."""
    if row.estimate == "":
        return ""
    half = f" ± {float(row.half_width):.2g}" if row.half_width not in ("", "nan") else ""
    limit = float(row.threshold)
    above = f", must be above {limit:.3g}" if limit else ""
    deciding = f"the deciding one of {row.comparisons}: " if int(row.comparisons) > 1 else ""
    of = f"{deciding}{row.comparison}; " if row.comparison else ""
    number = f", {row.repetitions}" if int(row.repetitions) > 1 else ""
    return f"{float(row.estimate):+.3g}{half} {row.unit}{above} ({of}{row.basis}{number})"


def to_decide(row: Any) -> str:
    """Return the reason why a row of `judged` is open, in words; empty where it is not."""
    if row.why or row.seen != OPEN:
        return row.why
    if row.half_width in ("", "nan"):
        return "further repetitions are needed"
    if row.needed == "":
        return "the guesses differ in it"
    number = float(row.needed)
    about = f"about {number:,.0f}" if number <= MOST_REPETITIONS else f"more than {MOST_REPETITIONS:,}"
    return f"{about} repetitions would decide it"


def in_print(row: Any) -> str:
    """Return the outcome of a row of `judged` on the numbers that the paper published; empty without such numbers."""
    return f"{row.published}, {row.published_met} of {row.published_of}" if row.published else ""


def as_text(table: pd.DataFrame, comparisons: pd.DataFrame | None = None) -> str:
    """Return the verdicts as Markdown lines that fit a terminal; with `comparisons`, also the numbers behind each.

    Where no claim was run, for one and the same reason, this is said once.
    """
    if len(table) > 1 and set(table["seen"]) == {OPEN} and table["why"].nunique() == 1 and table["why"].iloc[0]:
        text = f"- **{OPEN}**, all {len(table)} claims of {table['paper'].iloc[0]}: {table['why'].iloc[0]}"
        return "\n".join(_wrapped(text, subsequent_indent="  "))
    lines = []
    for row in table.itertuples():
        place = f" ({row.where})" if row.where else ""
        lines += _wrapped(f"- **{row.seen}**: {row.claim}{place}", subsequent_indent="  ")
        if comparisons is None:
            continue
        facts = {
            "the paper states": row.statement,
            "setting": f"{row.setting}: {row.differs}" if row.differs else row.setting,
            "its own numbers": in_print(row),
            "margin": margin_said(row),
            "open": to_decide(row) if row.seen == OPEN else row.why,
            "not beyond chance at": _undecided_comparisons(comparisons[comparisons["row"] == str(row.Index)]),
            "rests on": row.edges,
        }
        for name, text in facts.items():
            if text:
                lines += _wrapped(f"- {name}: {text}", initial_indent="    ", subsequent_indent="      ")
    scales = ", ".join(dict.fromkeys(scale for several in table["scale"] if several for scale in several.split(", ")))
    lines += ["", *_wrapped(f"Scale {scales}. {counted(table)}.")]
    return "\n".join(lines)


def _undecided_comparisons(comparisons: pd.DataFrame) -> str:
    """Return the comparisons that are not met beyond chance by themselves, the first few by name."""
    names = list(comparisons.loc[comparisons["seen"] != YES, "comparison"])
    if len(comparisons) < 2 or not names:
        return ""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{len(names)} of {len(comparisons)} comparisons: {'; '.join(names[:MOST_NAMED])}{more}"


def deviations_as_text(table: pd.DataFrame, left_out: Iterable[str]) -> str:
    """Return the deviations from the published curves, and what is left out, as Markdown lines that fit a terminal."""
    lines = ["Largest deviation from the published points, curve by curve:", ""]
    for row in table.itertuples():
        variant = f" ({row.variant})" if row.variant else ""
        at = f" at {row.x_name} {row.x:g}" if row.x_name else ""
        deviation = f"{row.deviation:+.4f}{at}: {row.here:.4f}, published {row.published:.4f}"
        text = f"- {row.figure}, {row.series}{variant}, {row.y_name}: {deviation} ({row.points} points)"
        lines += _wrapped(text, subsequent_indent="  ")
    for text in left_out:
        lines += _wrapped(f"- {text}", subsequent_indent="  ")
    return "\n".join(lines)


# ---- Judging ----


def judged(paper: str, runs: Mapping[str, pd.DataFrame]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the claims of a paper with their verdicts, COLUMNS of text, a row each; and the comparisons behind them,
    with the row of the claim, from 0.

    whose: PAPERS_OWN or OURS. statement, where, claim: what the paper states, its place, and our reading.
    seen: YES, NO, OPEN or ERROR. setting, differs: whose it is, and what differs from the paper's or was guessed.
    published, published_met, published_of: YES or NO by the same comparisons on the numbers that the paper published,
        how many are met, and their number; empty without such numbers.
    estimate, half_width, threshold, unit: of the deciding comparison: the number, half of its 95 % interval, and what
        it must be above. repetitions, basis: how many are behind it, and what the interval follows from.
    needed: repetitions that would decide it, where it is open.
    comparison, comparisons: what is compared, and how many comparisons there are.
    edges: settings behind the margin that are the smallest or largest tried, so that others may be better.
    why: what is missing, where it was not run.
    source: of the data of the claim's runs. scale: of the sweep's. runs: repetitions of the claim's points, "1 to 3".

    Args:
        paper: its short name.
        runs: sweep -> its runs; a sweep without results is left out.
    """
    rows, parts = [], []
    for claim in PAPERS[paper].claims:
        of_sweep = runs_for(claim, runs)
        found, printed = judge(claim, of_sweep), claim.in_print()
        row = {"paper": paper, "whose": claim.whose, "statement": claim.statement, "where": claim.where}
        row |= {"claim": claim.text, "seen": found.seen, "differs": claim.settings.words, "why": found.why, "runs": "0"}
        row["setting"] = claim.settings.whose if claim.statement else ""
        if printed:
            met = sum(part.value > 0 for part in printed[1:])
            row |= {"published": YES if printed[0].value > 0 else NO, "published_met": met}
            row["published_of"] = len(printed) - 1
        if found.margin:
            compared = found.margin.all
            parts += [{"row": len(rows), "seen": verdict(part).seen, **numbers(part, "")} for part in compared]
            row |= numbers(found.margin, found.seen)
            row |= {"comparisons": len(compared), "edges": rests_on(found.margin)}
        if of_sweep is not None:
            about = claim.about(of_sweep)
            row |= {"source": where_from(about)["source"], "scale": where_from(of_sweep)["scale"]}
            row["runs"] = span(repetitions(about))
        rows.append(dict.fromkeys(COLUMNS, "") | row)
    behind = pd.DataFrame(parts, columns=["row", "seen", *NUMBERS]).drop(columns=["needed", "basis"])
    return pd.DataFrame(rows, columns=COLUMNS).astype(str), behind.astype(str)


def numbers(margin: Margin, seen: str) -> dict[str, Any]:
    """Return the numbers of a margin, by column. "needed", the repetitions that would decide it, is empty unless it is
    open."""
    needed = margin.needed if seen == OPEN and margin.needed == margin.needed else ""
    return {
        "estimate": f"{margin.estimate:.6g}",
        "half_width": "" if pd.isna(margin.half) else f"{margin.half:.6g}",
        "threshold": f"{margin.threshold:.6g}",
        "unit": margin.unit,
        "repetitions": margin.repetitions,
        "needed": "" if needed == "" else f"{needed:.0f}",
        "comparison": margin.comparison,
        "basis": margin.basis,
    }


def rests_on(margin: Margin) -> str:
    """Return the edges of grids behind a margin as text, similar ones joined."""
    alike: dict[str, list[str]] = {}
    for edge in margin.edges:
        *series, end = edge.split(": ", 1)
        alike.setdefault(end, []).extend(series)
    return "; ".join(f"{end} ({', '.join(series[:3])}{', ...' * (len(series) > 3)})" for end, series in alike.items())


def runs_for(claim: Claim, runs: Mapping[str, pd.DataFrame]) -> pd.DataFrame | None:
    """Return the runs of a claim's sweeps in one table; None where one of the sweeps has no results."""
    if any(sweep not in runs for sweep in claim.sweeps):
        return None
    return together([runs[sweep] for sweep in claim.sweeps])


class Findings(NamedTuple):
    """The verdicts on a paper from some runs.

    verdicts, comparisons: as of `judged`.
    deviations, left_out: as of `Paper.deviations`.
    """

    verdicts: pd.DataFrame
    comparisons: pd.DataFrame
    deviations: pd.DataFrame
    left_out: list[str]


def findings(paper: str, runs: Mapping[str, pd.DataFrame]) -> Findings:
    """Return the verdicts on a paper's claims, and the deviations from its curves.

    Args:
        paper: its short name.
        runs: sweep -> its runs; a sweep without results is left out.
    """
    return Findings(*judged(paper, runs), *PAPERS[paper].deviations(runs))


def findings_in(paper: str, folders: Mapping[str, Path]) -> Findings:
    """Return `findings` of the runs in folders: sweep -> the folder of the scale that its runs are in."""
    return findings(paper, {sweep: read(folder, [sweep], UNREAD) for sweep, folder in folders.items()})


def check(paper: str, found: Findings, folder: Path, *, brief: bool = False) -> None:
    """Print the claims of a paper with their verdicts, and write them to claims_<paper>.csv and .md, and the
    comparisons behind them to claims_<paper>_comparisons.csv.

    Where the paper's curves are available as numbers, the deviations from them are printed too, and written to
    claims_<paper>_deviations.csv; figures that cannot be made from the runs are listed as left out.

    Args:
        paper: its short name.
        found: what its runs say.
        folder: where the files go.
        brief: whether to print the verdicts alone; the files are the same.
    """
    text = as_text(found.verdicts, found.comparisons)
    if len(found.deviations) or found.left_out:
        text += "\n\n" + deviations_as_text(found.deviations, found.left_out)
    print(as_text(found.verdicts) if brief else text)
    with writing(folder):
        write_whole(folder / f"claims_{paper}.csv", found.verdicts.to_csv(index=False))
        write_whole(folder / f"claims_{paper}_comparisons.csv", found.comparisons.to_csv(index=False))
        if len(found.deviations):
            numbers = found.deviations.to_csv(index=False, float_format="%.6g")
            write_whole(folder / f"claims_{paper}_deviations.csv", numbers)
        write_whole(folder / f"claims_{paper}.md", text + "\n")


def statements(table: pd.DataFrame) -> pd.Series:
    """Return the outcome of each statement of a paper in a table of `judged`, a key of STATEMENTS: that of the weakest
    of its claims."""
    stated, order = table[table["whose"] != OURS], list(STATEMENTS)
    became = stated["setting"].where(stated["seen"] == YES, stated["seen"])
    became = became.mask((became == NO) & (stated["setting"] != SAME), ELSEWHERE)
    return became.map(order.index).groupby(stated["statement"], sort=False).min().map(order.__getitem__)


def tallies(table: pd.DataFrame) -> dict[str, int]:
    """Return the number of statements of papers in a table of `judged`, and how many of them have each outcome."""
    became = pd.concat([statements(rows) for _, rows in table.groupby("paper", sort=False)])
    names = [SAME, OTHER_DATA, GUESS, NO, ELSEWHERE, OPEN, *([ERROR] if (became == ERROR).any() else [])]
    return {"statements": len(became), **{STATEMENTS[name]: int((became == name).sum()) for name in names}}


def counted(table: pd.DataFrame) -> str:
    """Return `tallies` in words: "3 statements: 2 seen on other data, 1 open"."""
    number, *others = tallies(table).items()
    return f"{number[1]} statements: {', '.join(f'{count} {words}' for words, count in others if count)}"


def judged_from(paper: str, folders: Mapping[str, Path]) -> str:
    """Return the digest of a paper's claims as they are written and of the runs, which its verdicts follow from.

    Args:
        paper: its short name.
        folders: sweep -> the folder of the scale that its runs are in, for the sweeps that have runs.
    """
    words = [
        word for claim in PAPERS[paper].claims for word in (claim.statement, claim.where, claim.text, *claim.settings)
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
    if not path.is_file() or recorded(folder / JUDGED).get(paper) != judged_from(paper, folders):
        return None
    table, far = written(path, f"run `python -m figures claims {paper}`"), folder / f"claims_{paper}_deviations.csv"
    return table, pd.read_csv(far) if far.is_file() else pd.DataFrame()


def join(tables: Mapping[str, pd.DataFrame], folder: Path) -> pd.DataFrame:
    """Print a summary of the papers' claims, and write all claims to claims.csv.

    Nothing is printed or written for a single paper without others in the folder.

    Args:
        tables: paper -> the table of `judged`; of the other papers the tables that lie in the folder are taken.
        folder: with claims_<paper>.csv, and where the files go.
    """
    table = pd.concat(_tables_of_all_papers(tables, folder), ignore_index=True)
    if table["paper"].nunique() < 2:
        return table
    print()
    if others := [name for name in table["paper"].unique() if name not in tables]:
        print(f"all papers, with the earlier verdicts on {', '.join(others)}:")
    for name, rows in table.groupby("paper", sort=False):
        print(f"{name}: {counted(rows)}")
    with writing(folder):
        write_whole(folder / "claims.csv", table.to_csv(index=False))
    return table


def _tables_of_all_papers(tables: Mapping[str, pd.DataFrame], folder: Path) -> Iterator[pd.DataFrame]:
    """Yield the tables of all papers, in their order: those that are given, and those that an earlier command wrote."""
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
