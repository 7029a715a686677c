"""Collects the content of the report: claims, the figures of every paper, and comparisons."""

import io
import sys
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path

import pandas as pd

from bench.analysis.files import AS_TEXT
from bench.analysis.saving import save_picture
from bench.errors import InputError
from figures import PAPERS
from figures.claims import deviations_of, judged
from figures.report.facts import Facts, facts_of
from figures.report.pictures import is_whole
from figures.shared.drawn import digest, recorded
from figures.shared.figure import Figure
from figures.shared.runs import command, folder_of, nothing_in, runs_of

SIDE_BY_SIDE = [  # columns of a table with published numbers that are shown line by line
    *("dataset", "target_epsilon", "num_epochs", "num_clients", "algorithm", "series", "variant"),
    *("test_accuracy", "test_rmse", "low", "high", "published", "difference", "repetitions"),
]


@dataclass(frozen=True)
class Exhibit:
    """A figure or table on the page.

    name: in FIGURES.
    title, caption: of the figure.
    run, draw: the commands that make its runs (empty where it needs none) and draw it.
    facts: of its runs; None where it needs none.
    picture: a PNG file's content; None where it could not be made.
    numbers: the numbers that it shows, as CSV.
    printed: the table as a reader sees it; None for a figure.
    beside: our numbers and the published ones, line by line.
    missing: why there is no picture; empty where there is one.
    alt: the alternative text of the picture.
    """

    name: str
    title: str
    caption: str
    run: str
    draw: str
    facts: Facts | None = None
    picture: bytes | None = None
    numbers: str = ""
    printed: pd.DataFrame | None = None
    beside: pd.DataFrame | None = None
    missing: str = ""
    alt: str = ""


@dataclass(frozen=True)
class Section:
    """A paper's figures, in its order, and the deviations of our curves from the published ones, where known."""

    name: str
    cited: str
    citation: str
    exhibits: list[Exhibit]
    deviations: pd.DataFrame


@dataclass(frozen=True)
class Compared:
    """A comparison made by another command: its picture, and its tables by name."""

    name: str
    picture: bytes | None
    tables: dict[str, pd.DataFrame]


@dataclass(frozen=True)
class Report:
    """Everything on the page. claims: as of `figures.claims.judged`."""

    claims: pd.DataFrame
    papers: list[Section]
    comparisons: list[Compared] = field(default_factory=list)

    @property
    def facts(self) -> list[Facts]:
        return [exhibit.facts for paper in self.papers for exhibit in paper.exhibits if exhibit.facts]


class Sweeps:
    """The runs of sweeps, each read once.

    Attributes:
        results: the folder of results.
        scale: the scale; None is the largest available, sweep by sweep.
    """

    def __init__(self, results: Path, scale: str | None):
        self.results, self.scale = results, scale
        self._read: dict[str, tuple[pd.DataFrame, Path] | None] = {}

    def of(self, *sweeps: str) -> tuple[pd.DataFrame, Path] | None:
        """As `runs_of`."""
        if len(sweeps) != 1:
            return runs_of(self.results, self.scale, sweeps)
        (sweep,) = sweeps
        if sweep not in self._read:
            self._read[sweep] = runs_of(self.results, self.scale, sweeps)
        return self._read[sweep]


def collect(results: Path, scale: str | None) -> Report:
    """Collect everything to show from a results folder.

    Raises:
        InputError: where there are no results at all.
    """
    sweeps = Sweeps(results, scale)
    named = {claim.sweep for paper in PAPERS.values() for claim in paper.claims}
    if not any(sweeps.of(sweep) for sweep in sorted(named)):
        raise nothing_in(results, scale, "no results")
    tables, sections = [], []
    for name, paper in PAPERS.items():
        pairs = {claim.sweep: sweeps.of(claim.sweep) for claim in paper.claims}
        runs = {sweep: pair[0] for sweep, pair in pairs.items() if pair}
        tables.append(judged(name, runs))
        exhibits = [exhibit(*item, sweeps) for item in paper.figures.items()]
        sections.append(Section(name, paper.cited, paper.citation, exhibits, deviations_of(name, runs)[0]))
    return Report(pd.concat(tables, ignore_index=True), sections, compared(results / "compare"))


def exhibit(name: str, figure: Figure, sweeps: Sweeps) -> Exhibit:
    """A figure from the results folder; redrawn where it is missing or was drawn from other runs."""
    results, scale = sweeps.results, sweeps.scale
    pair = sweeps.of(*figure.sweeps)
    folder = pair[1] if pair else folder_of(results, scale)
    run = command(results, folder.name, figure.sweeps) if figure.sweeps else ""
    undrawn = Exhibit(name, figure.title, figure.caption, run, _draws(name, results, folder.name), alt=figure.alt)
    if pair is None:
        return replace(undrawn, missing=f"no results of {' '.join(figure.sweeps)}: run `{run}`")
    runs = pair[0]
    facts = facts_of(runs) if figure.sweeps else None
    drawn = folder / "figures" / f"{name}.png"
    current = _current(drawn, folder, figure)
    try:
        table = figure.table(runs) if figure.printed or not current else None
        if current or table is None:  # without a current picture there is a table
            picture, numbers = drawn.read_bytes(), drawn.with_suffix(".csv").read_text()
        else:
            print(
                f"{name} is drawn for the report: {drawn} is missing or was not drawn from these runs", file=sys.stderr
            )
            picture, numbers = _drawn(name, figure, table)
    except InputError as error:
        return replace(undrawn, facts=facts, missing=f"{error} (`{run}`)")
    printed = figure.printed(table) if figure.printed and table is not None else None
    beside = _beside(table, printed)
    return replace(undrawn, facts=facts, picture=picture, numbers=numbers, printed=printed, beside=beside)


def _draws(name: str, results: Path, scale: str | None) -> str:
    """The command that draws a figure, with the options that are not its defaults."""
    options = {"--scale": (scale, None), "--results": (results, Path("results"))}
    written = [f" {option} {value}" for option, (value, default) in options.items() if value != default]
    return f"python -m figures {name}{''.join(written)}"


def _current(drawn: Path, folder: Path, figure: Figure) -> bool:
    """Whether the picture and its numbers exist and were drawn from these runs."""
    complete = drawn.is_file() and drawn.with_suffix(".csv").is_file()
    return complete and is_whole(drawn) and recorded(drawn.parent).get(drawn.stem) == digest(folder, figure)


def _drawn(name: str, figure: Figure, table: pd.DataFrame) -> tuple[bytes, str]:
    """The picture and its numbers, drawn in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        save_picture(figure.picture(table), table, Path(folder), name, figure.alt)
        return (Path(folder) / f"{name}.png").read_bytes(), (Path(folder) / f"{name}.csv").read_text()


def _beside(table: pd.DataFrame | None, printed: pd.DataFrame | None) -> pd.DataFrame | None:
    """Our numbers and the published ones line by line, for a table that has both and prints them otherwise."""
    if table is None or printed is None or "published" not in table or "published" in printed:
        return None
    return table[[name for name in SIDE_BY_SIDE if name in table]]


def compared(folder: Path) -> list[Compared]:
    """The comparisons in a folder, by name."""
    comparisons = []
    for path in sorted(folder.glob("*/comparison.csv")):
        try:
            tables = {
                file.stem: pd.read_csv(io.StringIO(file.read_text()), dtype=AS_TEXT) for file in (path, *_others(path))
            }
        except (OSError, ValueError) as error:
            raise InputError(f"{path.parent} cannot be read ({error}): make the comparison again") from None
        picture = path.with_suffix(".png")
        if picture.is_file() and not is_whole(picture):
            raise InputError(f"{picture} is damaged: make the comparison again")
        comparisons.append(Compared(path.parent.name, picture.read_bytes() if picture.is_file() else None, tables))
    return comparisons


def _others(path: Path) -> list[Path]:
    return [other for other in sorted(path.parent.glob("*.csv")) if other != path]
