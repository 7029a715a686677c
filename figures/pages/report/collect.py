"""Collects the content of the report: verdicts, the figures of every paper, the board, and comparisons.

Results come from two places. What the repository has decided is shown first, where the suite runs from
the repository; what was run here, in another folder, is shown beside it.
"""

import io
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from PIL import Image

from bench.analysis.measured import PANEL, user_level_first
from bench.errors import InputError, in_one_line
from bench.files import AS_TEXT, recorded
from bench.store import KEPT, SMOKE, kind_of, part_files
from figures import PAPERS
from figures.claims import STATEMENTS, findings, recall, statements
from figures.pages.board.tables import task_ranks
from figures.pages.report.facts import COLUMNS, RUN, Facts
from figures.shared.drawn import RECORD, digest
from figures.shared.figure import Figure, FigureError, picture, save
from figures.shared.paper import Paper
from figures.shared.runs import UNREAD, command, first_with, folders_of, no_results, places_of, read, together
from figures.shared.verdicts import ERROR, NO, OPEN, YES, Claim

BAR = ("seen", "not seen", "open", "error")  # of a paper's statements, in the order of its bar
LOOKS = {YES: "verdict holds", NO: "verdict fails", OPEN: "verdict open", ERROR: "verdict error"}  # classes of cells
SIDE_BY_SIDE = [  # columns of a table with published numbers that are shown line by line
    *("dataset", "target_epsilon", "num_epochs", "num_clients", "algorithm", "series", "variant"),
    *("test_accuracy", "test_rmse", "low", "high", "published", "difference", "repetitions"),
]
ENDINGS = ("csv", "md", "tex")  # of files beside a picture, in the order in which they are linked
RANKED = 6  # methods of a unit of privacy on the first screen; the page of the board has all


@dataclass(frozen=True)
class Drawn:
    """A figure or table as drawn from the runs of one place.

    picture: a PNG file's content.
    files: ending -> content of the numbers as CSV and, for a table, its Markdown and LaTeX.
    facts: of its runs; None where it needs none.
    run, draw: the commands that make its runs (empty where it needs none) and draw it.
    """

    picture: bytes
    files: dict[str, bytes]
    facts: Facts | None
    run: str
    draw: str

    @property
    def beside(self) -> pd.DataFrame | None:
        """Our numbers and the published ones, line by line; None where the table has no published numbers."""
        if "md" not in self.files:
            return None
        table = pd.read_csv(io.BytesIO(self.files["csv"]))
        return table[[name for name in SIDE_BY_SIDE if name in table]] if "published" in table else None


@dataclass(frozen=True)
class Exhibit:
    """A figure or table on the page.

    name, figure: in FIGURES.
    main: from the runs that are shown first; None where there are none.
    here: from those that were run here; None where there are none.
    missing: why there is neither; empty where there is one.
    failed: the exception that its own code raised, in words; empty where there was none.
    """

    name: str
    figure: Figure
    main: Drawn | None
    here: Drawn | None
    missing: str
    failed: str


@dataclass(frozen=True)
class Section:
    """A paper: its figures in its order, its verdicts, and what was run of it here.

    paper: what the suite knows about it.
    verdicts: as of `figures.claims.judged`, with "here", the verdict of the runs of here, empty where they decide
        nothing.
    deviations: of our curves from the published ones, where known.
    of_main, of_here: the facts of all of its runs; None where there are none.
    """

    paper: Paper
    exhibits: list[Exhibit]
    verdicts: pd.DataFrame
    deviations: pd.DataFrame
    of_main: Facts | None
    of_here: Facts | None

    @property
    def name(self) -> str:
        return self.paper.name

    @property
    def bar(self) -> dict[str, int]:
        """The number of the paper's statements that were seen, not seen, or are open."""
        words = statements(self.verdicts).map(STATEMENTS).str.replace(r"^((?:not )?seen).*", r"\1", regex=True)
        return {word: int((words == word).sum()) for word in BAR if (words == word).any()}

    @property
    def shown_in(self) -> list[str]:
        """For each claim the name of the figure that its place names, or else of the first that shows its runs; empty
        where there is none."""

        def shows(claim: Claim) -> Iterator[str]:
            for kind, number in re.findall(r"(Figure|Table)s? (\w+)", claim.where):
                yield f"{self.name}_{'fig' if kind == 'Figure' else 'table'}{number}"
            yield from (name for name, figure in self.paper.figures.items() if {*figure.sweeps} & {*claim.sweeps})

        return [next((name for name in shows(claim) if name in self.paper.figures), "") for claim in self.paper.claims]

    @property
    def card(self) -> bytes | None:
        """The panel of the leading figure that a card has room for, drawn from its numbers; None without them."""
        shown = {exhibit.name: exhibit.main or exhibit.here for exhibit in self.exhibits}.get(self.paper.leading)
        return one_panel(self.paper.figures[self.paper.leading], shown, self.paper.panel) if shown else None

    @property
    def agreement(self) -> str:
        """How many verdicts of the user's runs equal those that are shown first, in words."""
        both = self.verdicts[self.verdicts["here"].isin([YES, NO])]
        same = int((both["here"] == both["seen"]).sum())
        return f"{same} of {len(both)} as committed" if len(both) else "none decided"


@dataclass(frozen=True)
class Compared:
    """A comparison made by another command: its table, its picture, and all of its tables as files, by name."""

    name: str
    table: pd.DataFrame
    picture: bytes | None
    files: dict[str, bytes]


@dataclass(frozen=True)
class Ranked:
    """The board. rows: of board.csv; page: of `python -m figures board`, None where it is missing."""

    rows: pd.DataFrame
    csv: bytes
    page: bytes | None

    @property
    def units(self) -> list[tuple[str, pd.DataFrame]]:
        """For each unit of privacy its caption, and the mean rank of its best methods by task."""
        panels = sorted(self.rows.groupby(PANEL), key=lambda panel: user_level_first(panel[0]))
        return [_unit(f"One {unit}, {relation}", rows) for (unit, relation), rows in panels]


def _unit(caption: str, rows: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    ranks = task_ranks(rows[np.isfinite(rows["target_epsilon"])].rename(columns={"task": "name"}))
    ranks.columns = [str(name).replace("_", " ") for name in ranks]
    cells = ranks.map(lambda value: "" if pd.isna(value) else f"{value:.1f}").reset_index(names="method")
    return caption + (f", {RANKED} of {len(cells)} methods" if len(cells) > RANKED else ""), cells.head(RANKED)


@dataclass(frozen=True)
class Report:
    """Everything on the page. main, here: what the two places are called; `here` is empty where there is one."""

    papers: list[Section]
    main: str
    here: str = ""
    board: Ranked | None = None
    comparisons: list[Compared] = field(default_factory=list)

    @property
    def decided(self) -> bool:
        """Whether any claim was decided by the runs that are shown first."""
        return bool(self.claims["seen"].isin([YES, NO]).any())

    @property
    def claims(self) -> pd.DataFrame:
        """The verdicts of all papers."""
        return pd.concat([paper.verdicts for paper in self.papers], ignore_index=True)

    @property
    def failed(self) -> list[str]:
        """A line for each figure whose own code raised an exception."""
        exhibits = [exhibit for paper in self.papers for exhibit in paper.exhibits]
        return [f"{exhibit.name}: {exhibit.failed}" for exhibit in exhibits if exhibit.failed]

    @property
    def outcomes(self) -> dict[str, str]:
        """The verdicts that there are, as choices of a list."""
        return {outcome: outcome for outcome in LOOKS if (self.claims["seen"] == outcome).any()}

    @property
    def decided_here(self) -> bool:
        """Whether the user's runs decide any claim."""
        return bool(self.claims["here"].isin([YES, NO]).any())


class Place(NamedTuple):
    """Results in one or several folders.

    folders: a sweep has its runs from the first of them that has any.
    title: what the place is called on the page.
    """

    folders: Sequence[Path]
    title: str

    def folder(self, *sweeps: str) -> Path | None:
        """Return the folder with runs of one of these sweeps, None where nothing was run; without sweeps, as for a
        table of formulas, the first that exists."""
        return first_with(self.folders, sweeps)

    def facts(self, *sweeps: str) -> Facts | None:
        """Return the facts of the runs of sweeps; None where there are none."""
        folder = self.folder(*sweeps) if sweeps else None
        parts = [tuple(part_files.parts_in(folder / sweep)) for sweep in sweeps] if folder else []
        return Facts(together([_origins(paths) for paths in parts if paths])) if folder else None


@cache  # figures share sweeps
def _origins(parts: tuple[Path, ...]) -> pd.DataFrame:
    """Return the origin of the runs of a sweep; the names of its parts tell other runs apart."""
    return read(parts[0].parents[1], [parts[0].parent.name], only=COLUMNS).drop_duplicates(RUN)


def collect(results: Path, scale: str | None, repository: Path | None) -> Report:
    """Collect everything to show.

    Args:
        results: the folder of results.
        scale: "smoke" for smoke runs; None is everything else, or else these, sweep by sweep.
        repository: the results of the repository, which are shown first; None without.

    Raises:
        InputError: where there are no results in the folder at all.
    """
    named = [sweep for paper in PAPERS.values() for sweep in paper.judged_by]
    if first_with(folders_of(results, scale), named) is None:
        raise no_results(results, scale, ["all"], "no results")
    if repository and repository.resolve() == results.resolve():
        repository = results  # as it was given, in the commands that are shown
    committed = repository / KEPT if repository else None
    if committed is None or first_with([committed], named) is None:
        main, here = Place(folders_of(results, scale), _title(results, scale)), None
    else:
        others = [folder for folder in folders_of(results, scale) if folder.resolve() != committed.resolve()]
        main = Place([committed], "committed with the repository")
        here = Place(others, _title(results, scale if len(others) == 1 else None))
        here = here if here.folder(*named) else None
    places = [results, *([repository] if repository not in (None, results) else [])]
    return Report(
        [_section(name, main, here) for name in PAPERS],
        main.title,
        here.title if here else "",
        next(filter(None, map(ranked, reversed(places))), None),
        [comparison for place in places for comparison in compared(place / "compare")],
    )


def _title(results: Path, scale: str | None) -> str:
    return f"in {results / kind_of(scale)}" if scale else f"in {results}"


# ---- Papers ----


def _section(name: str, main: Place, here: Place | None) -> Section:
    paper = PAPERS[name]
    sweeps = paper.sweeps
    verdicts, deviations = _verdicts(name, main)
    beside = _verdicts(name, here)[0] if here and any(_decides(here.folder(sweep)) for sweep in sweeps) else None
    marked = verdicts.assign(here="" if beside is None else list(beside["seen"]))
    exhibits = [_exhibit(*item, main, here) for item in paper.figures.items()]
    of_here = here.facts(*sweeps) if here else None
    return Section(paper, exhibits, marked, deviations, main.facts(*sweeps), of_here)


def _decides(folder: Path | None) -> bool:
    """Return whether runs in a folder decide claims: those of scale smoke do not."""
    return folder is not None and folder.name != SMOKE


def _verdicts(name: str, place: Place) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the verdicts on a paper and its deviations: those written beside these runs, or else new ones."""
    folders = places_of(PAPERS[name].judged_by, place.folders)
    for folder in dict.fromkeys(folders.values()):
        if known := recall(name, folders, folder / "figures"):
            return known
    runs = {sweep: read(folder, [sweep], UNREAD) for sweep, folder in folders.items()}
    if any(map(_decides, folders.values())):
        print(f"{name} is judged for the report: no verdicts were written on these runs", file=sys.stderr)
    found = findings(name, runs)
    return found.verdicts, found.deviations


def _exhibit(name: str, figure: Figure, main: Place, here: Place | None) -> Exhibit:
    """Return a figure from both places; redrawn where it is missing or was drawn from other runs."""
    made, reasons = [], []
    for place in (main, here if figure.sweeps else None):
        try:
            made.append(drawn(name, figure, place) if place else None)
        except InputError as why:
            made.append(None)
            reasons.append(why)
    failed = next((str(why) for why in reasons if isinstance(why, FigureError)), "")
    return Exhibit(name, figure, *made, missing="" if any(made) else str(reasons[0]), failed=failed)


def drawn(name: str, figure: Figure, place: Place) -> Drawn:
    """Return a figure as drawn from the runs of a place.

    Raises:
        InputError: where there are none, or they do not suffice.
        FigureError: where its code raises another exception.
    """
    folder = place.folder(*figure.sweeps)
    if folder is None:
        nearest = place.folder() or place.folders[0]
        run = command(nearest.parent, nearest.name, figure.sweeps)
        raise InputError(f"no results of {' '.join(figure.sweeps)}: run `{run}`")
    run = command(folder.parent, folder.name, figure.sweeps) if figure.sweeps else ""
    made = Drawn(b"", {}, place.facts(*figure.sweeps), run, _drawing_command(name, folder))
    path = folder / "figures" / f"{name}.png"
    if _is_current(path, folder, figure):
        beside = {ending: path.with_suffix(f".{ending}") for ending in (ENDINGS if figure.printed else ENDINGS[:1])}
        files = {ending: file.read_bytes() for ending, file in beside.items() if file.is_file()}
        return replace(made, picture=path.read_bytes(), files=files)
    try:
        shown = picture(figure, read(folder, figure.sweeps) if figure.sweeps else pd.DataFrame())
    except InputError as error:
        raise type(error)(f"{error} (`{run}`)") from error
    print(f"{name} is drawn for the report: {path} is missing or was not drawn from these runs", file=sys.stderr)
    with tempfile.TemporaryDirectory() as temporary:
        path = save(name, figure, shown, Path(temporary))
        files = {end: beside.read_bytes() for end in ENDINGS if (beside := path.with_suffix(f".{end}")).is_file()}
        return replace(made, picture=path.read_bytes(), files=files)


def _drawing_command(name: str, folder: Path) -> str:
    """Return the command that draws a figure from the folder of a scale, with the options that are not its defaults."""
    scale = f" --scale {SMOKE}" if folder.name == SMOKE else ""
    return f"python -m figures {name}{scale}" + (
        f" --results {folder.parent}" if folder.parent != Path("results") else ""
    )


def one_panel(figure: Figure, shown: Drawn, number: int) -> bytes:
    """Return one panel of a figure as a PNG; the picture of all panels where its numbers do not suffice to draw it."""
    try:
        numbers = pd.read_csv(io.BytesIO(shown.files["csv"]))
        text = numbers.select_dtypes(exclude=["number", "bool"]).columns
        sheet = figure.picture(numbers.fillna(dict.fromkeys(text, "")))
        axes = sheet.axes[number]
        entries = [handle for legend in sheet.legends for handle in legend.legend_handles if handle]
        for other in (*sheet.axes, *sheet.texts, *sheet.legends):
            if other is not axes:
                other.remove()
        sheet.set_layout_engine("none")
        sheet.set_size_inches(4, 3.2)
        axes.set_position((0.1, 0.1, 0.9, 0.9))
        axes.tick_params(labelbottom=True, labelleft=True)
        axes.legend(handles=entries, loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2, fontsize=8)
    except Exception:  # numbers that another version wrote
        return shown.picture
    out = io.BytesIO()
    sheet.savefig(out, format="png", bbox_inches="tight", dpi=200, metadata={"Software": None})
    return out.getvalue()


def _is_readable(path: Path) -> bool:
    """Return whether a file is a picture that can be read to its end."""
    try:
        with Image.open(path) as picture:
            picture.load()
    except Exception:  # damaged files raise exceptions of several types
        return False
    return True


def _is_current(path: Path, folder: Path, figure: Figure) -> bool:
    """Return whether the picture and its numbers exist and were drawn from these runs."""
    complete = path.is_file() and path.with_suffix(".csv").is_file()
    return complete and _is_readable(path) and recorded(path.parent / RECORD).get(path.stem) == digest(folder, figure)


# ---- The board and comparisons ----


def ranked(results: Path) -> Ranked | None:
    """Return the board as `python -m figures board` wrote it; None where it has not.

    Raises:
        InputError: where its table cannot be read.
    """
    path = results / "board" / "board.csv"
    if not path.is_file():
        return None
    try:
        rows = pd.read_csv(path)[["task", "algorithm", "target_epsilon", "rank", *PANEL]]
    except (OSError, ValueError, LookupError) as error:
        raise InputError(f"{path} cannot be read ({in_one_line(error)}): run `python -m figures board` again") from None
    page = path.with_name("index.html")
    return Ranked(rows, path.read_bytes(), page.read_bytes() if page.is_file() else None)


def compared(folder: Path) -> list[Compared]:
    """Return the comparisons in a folder, by name."""
    comparisons = []
    for path in sorted(folder.glob("*/comparison.csv")):
        try:
            files = {file.name: file.read_bytes() for file in sorted(path.parent.glob("*.csv"))}
            table = pd.read_csv(io.BytesIO(files[path.name]), dtype=AS_TEXT)
        except (OSError, ValueError) as error:
            raise InputError(f"{path.parent} cannot be read ({error}): make the comparison again") from None
        picture = path.with_suffix(".png")
        if picture.is_file() and not _is_readable(picture):
            raise InputError(f"{picture} is damaged: make the comparison again")
        image = picture.read_bytes() if picture.is_file() else None
        comparisons.append(Compared(path.parent.name, table, image, files))
    return comparisons
