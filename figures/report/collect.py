"""What the page shows: the claims, every figure of every paper in the paper's order, and comparisons."""

import io
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import pandas as pd

from bench.analysis import style
from bench.errors import InputError
from figures.claims import CLAIMS, DEVIATIONS, judged
from figures.report.facts import Facts, facts_of
from figures.shared.drawn import digest, recorded
from figures.shared.runs import command, runs_of, sweeps_of, without_runs

PAPERS = {  # short name -> as the figures cite it, and in full
    "ppsgd": (
        "Bietti et al. 2022",
        "Bietti, Wei, Dudík, Langford, Wu: Personalization improves privacy–accuracy tradeoffs in federated learning, "
        "ICML 2022",
    ),
    "isrl": (
        "Gao et al. 2024",
        "Gao, Lowy, Zhou, Wright: Private heterogeneous federated learning without a trusted server revisited, ICML "
        "2024",
    ),
    "p2p": (
        "Bellet et al. 2018",
        "Bellet, Guerraoui, Taziki, Tommasi: Personalized and private peer-to-peer machine learning, AISTATS 2018",
    ),
    "pfl": ("Bhaskar et al. 2025", "Bhaskar, Srivastava, Vummintala, Manwani, Gujar: arXiv 2501.14453, 2025"),
}
SIDE_BY_SIDE = [  # what of a table with published numbers is shown line by line
    *("dataset", "target_epsilon", "num_epochs", "num_clients", "algorithm", "series", "variant"),
    *("test_accuracy", "test_rmse", "low", "high", "published", "difference", "repetitions"),
]


@dataclass(frozen=True)
class Shown:
    """A figure or table.

    name: in FIGURES. title, caption: of its module.
    run, draw: the commands that make its runs (empty where it needs none) and draw it.
    facts: of its runs; None where it needs none.
    picture: a PNG file's content; None where it could not be made, and `missing` says why.
    numbers: what it shows, as CSV.
    printed: the table as a reader sees it; None for a figure. beside: here and published, line by line.
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


@dataclass(frozen=True)
class Paper:
    """A paper's figures, in its order, and how far its published curves are from those here, where that is known."""

    name: str
    cited: str
    title: str
    figures: list[Shown]
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
    papers: list[Paper]
    comparisons: list[Compared] = field(default_factory=list)

    @property
    def facts(self) -> list[Facts]:
        return [shown.facts for paper in self.papers for shown in paper.figures if shown.facts]


class Sweeps:
    """The runs of sweeps, each read once.

    Attributes:
        results: the folder of results.
        scale: which; None is the largest that is there, sweep by sweep.
    """

    def __init__(self, results: Path, scale: str | None):
        self.results, self.scale = results, scale
        self._read: dict[str, tuple[pd.DataFrame, Path] | None] = {}

    def of(self, sweep: str | tuple[str, ...]) -> tuple[pd.DataFrame, Path] | None:
        """As `runs_of`."""
        if not isinstance(sweep, str):
            return runs_of(self.results, self.scale, sweep)
        if sweep not in self._read:
            self._read[sweep] = runs_of(self.results, self.scale, sweep)
        return self._read[sweep]


def collect(results: Path, scale: str | None) -> Report:
    """Everything there is to show of the results.

    Raises:
        InputError: where there are no results at all.
    """
    from figures import FIGURES

    sweeps = Sweeps(results, scale)
    named = {claim.sweep for claims in CLAIMS.values() for claim in claims}
    if not any(sweeps.of(sweep) for sweep in sorted(named)):
        raise InputError(f"no results in {results}: first run `{command(results, scale, 'all')}`, or choose --results")
    tables, papers = [], []
    for paper in CLAIMS:
        found = {claim.sweep: sweeps.of(claim.sweep) for claim in CLAIMS[paper]}
        runs = {sweep: pair[0] for sweep, pair in found.items() if pair}
        tables.append(judged(paper, runs))
        own = [name for name in FIGURES if name.startswith(f"{paper}_")]
        shown = [show(name, FIGURES[name], sweeps) for name in own]
        papers.append(Paper(paper, *PAPERS[paper], shown, _deviations(paper, runs)))
    return Report(pd.concat(tables, ignore_index=True), papers, compared(results / "compare"))


def _deviations(paper: str, runs: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    return DEVIATIONS[paper](runs)[0] if paper in DEVIATIONS else pd.DataFrame()


def show(name: str, figure: ModuleType, sweeps: Sweeps) -> Shown:
    """A figure as it lies beside the results; drawn anew where it is missing, or of other runs."""
    results, scale = sweeps.results, sweeps.scale
    title, _, rest = (figure.__doc__ or name).strip().partition("\n")
    found = sweeps.of(figure.SWEEP) if figure.SWEEP else without_runs(results, scale)
    there = (found or without_runs(results, scale))[1].name
    run = command(results, there, figure.SWEEP) if figure.SWEEP else ""
    bare = Shown(name, title, " ".join(rest.split()), run, _draws(name, results, there))
    if found is None:
        return _with(bare, missing=f"no results of {' '.join(sweeps_of(figure))}: run `{run}`")
    runs, folder = found
    facts = facts_of(runs) if figure.SWEEP else None
    drawn = folder / "figures" / f"{name}.png"
    current = _current(drawn, folder, figure)
    try:
        table = figure.table(runs) if hasattr(figure, "printed") or not current else None
        if current:
            picture, numbers = drawn.read_bytes(), drawn.with_suffix(".csv").read_text()
        else:
            print(
                f"{name} is drawn for the report: {drawn} is missing or was not drawn from these runs", file=sys.stderr
            )
            picture, numbers = _drawn(name, figure, table)
    except InputError as error:
        return _with(bare, facts=facts, missing=f"{error} (`{run}`)")
    printed = figure.printed(table) if hasattr(figure, "printed") else None
    return _with(bare, facts=facts, picture=picture, numbers=numbers, printed=printed, beside=_beside(table, printed))


def _with(shown: Shown, **values) -> Shown:
    return Shown(**(vars(shown) | values))


def _draws(name: str, results: Path, scale: str | None) -> str:
    """The command that draws a figure, with the options that are not its defaults."""
    options = {"--scale": (scale, None), "--results": (results, Path("results"))}
    said = [f" {option} {value}" for option, (value, default) in options.items() if value != default]
    return f"python -m figures {name}{''.join(said)}"


def _current(drawn: Path, folder: Path, figure: ModuleType) -> bool:
    """Whether the picture and its numbers are there and were drawn from these runs."""
    there = drawn.is_file() and drawn.with_suffix(".csv").is_file()
    return there and recorded(drawn.parent).get(drawn.stem) == digest(folder, figure)


def _drawn(name: str, figure: ModuleType, table: pd.DataFrame) -> tuple[bytes, str]:
    """The picture and its numbers, drawn where nothing of them stays."""
    with tempfile.TemporaryDirectory() as folder:
        style.save(figure.draw(table), table, Path(folder), name)
        return (Path(folder) / f"{name}.png").read_bytes(), (Path(folder) / f"{name}.csv").read_text()


def _beside(table: pd.DataFrame | None, printed: pd.DataFrame | None) -> pd.DataFrame | None:
    """Here and published line by line, of a table that has both and does not print them so."""
    if table is None or printed is None or "published" not in table or "published" in printed:
        return None
    return table[[name for name in SIDE_BY_SIDE if name in table]]


def compared(folder: Path) -> list[Compared]:
    """The comparisons in a folder, by name."""
    found = []
    for path in sorted(folder.glob("*/comparison.csv")):
        try:
            tables = {one.stem: pd.read_csv(io.StringIO(one.read_text())) for one in (path, *_others(path))}
        except (OSError, ValueError) as error:
            raise InputError(f"{path.parent} cannot be read ({error}): make the comparison again") from None
        picture = path.with_suffix(".png")
        found.append(Compared(path.parent.name, picture.read_bytes() if picture.is_file() else None, tables))
    return found


def _others(path: Path) -> list[Path]:
    return [other for other in sorted(path.parent.glob("*.csv")) if other != path]
