"""The command line: python -m figures --help."""

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, NamedTuple

import pandas as pd
import typer
from typer.core import TyperGroup

from bench.analysis import style
from bench.cli.options import Version
from bench.cli.options import path as given_path
from bench.errors import InputError, check_name, unknown_name, writing
from bench.files import record, write_whole
from bench.processes import side_by_side
from bench.store import KEPT, SCALES
from figures.shared import user_grids
from figures.shared.drawn import JUDGED, RECORD, digest
from figures.shared.figure import FigureError, picture, save
from figures.shared.runs import REPOSITORY, UNREAD, command, folders_of, no_results, places_of, runs_of

WORTH_PROCESSES = 6  # groups of figures for which the start of further processes pays

Names = Annotated[list[str] | None, typer.Argument(help="Names of figures; default all.")]
Papers = Annotated[list[str] | None, typer.Argument(help="Short names of papers; default all.")]
Results = Annotated[Path, typer.Option(parser=given_path, metavar="PATH", help="Results folder.")]
Scale = Annotated[str | None, typer.Option(help="smoke for smoke runs; default all others, where there are any.")]
Folder = Annotated[
    Path | None,
    typer.Option(parser=given_path, metavar="PATH", help="Folder to write to; default figures/ next to the results."),
]
Page = Annotated[
    Path | None,
    typer.Option(
        parser=given_path,
        metavar="PATH",
        help="File to write; default index.html in report/ or board/ of the results folder.",
    ),
]
Width = Annotated[
    float | None,
    typer.Option(
        metavar="INCHES",
        help="Only a PDF of this width for LaTeX, text of 8 points, no title and footer: ICML's page has 6.75.",
    ),
]


class DrawByDefault(TyperGroup):
    """The group of commands; without the name of one of them the command is `draw`."""

    def parse_args(self, ctx, args: list[str]) -> list[str]:
        named = args[:1] and args[0] in (*self.commands, "--help", "--version")
        return super().parse_args(ctx, args if named else ["draw", *args])


app = typer.Typer(
    cls=DrawByDefault,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Draw the papers' figures and tables and check their claims. Without a command, figures are "
    "drawn.\n\nExample: python -m figures ppsgd_fig1a",
)


@app.callback()
def options(version: Version = False) -> None:
    """Options that come before a command."""


def check_scale(scale: str | None) -> None:
    """Raise InputError for a scale that does not exist."""
    if scale is not None and scale not in SCALES:
        raise unknown_name("scale", scale, SCALES)


def check_width(width: float, names: list[str] | None) -> None:
    """Raise InputError where --width cannot be used: out of range, without the name of a figure, or for a table."""
    from figures import FIGURES

    style.check_width(width)
    if not names:
        raise InputError(
            f"--width {width:g} needs the name of a figure, as in `python -m figures ppsgd_fig1a --width {width:g}`"
        )
    for name in names:
        if FIGURES[name].printed:
            raise InputError(f"--width is for figures, {name} is a table: take its .tex")


class Drawn(NamedTuple):
    """A figure that has been drawn, or is left out.

    name: of the figure.
    path: of the image; None where it is left out.
    made_from: digest of its runs, for `record`; None for a PDF for print, whose folder keeps no record.
    missing: why it is left out.
    failed: whether the reason is an exception in its own code.
    """

    name: str
    path: Path | None = None
    made_from: str | None = None
    missing: str = ""
    failed: bool = False


def write_together(
    sweeps: tuple[str, ...],
    names: Sequence[str],
    results: Path,
    scale: str | None,
    *,
    every: bool,
    out: Path | None,
    width: float | None,
) -> list[Drawn]:
    """Draw the figures that show the same sweeps, whose runs are read once, and write their files.

    Args:
        sweeps: that they show.
        names: of the figures.
        results: the results folder.
        scale: that was asked for.
        every: whether a figure that cannot be made ends this.
        out: the folder to write to; default figures/ beside the runs.
        width: as for `save`.

    Raises:
        InputError: where a file cannot be read or written; with `every`, where a figure cannot be made from the
            available runs, unless its own code fails.
    """
    from figures import FIGURES

    made_of, found = runs_of(results, scale, sweeps, UNREAD), []
    for name in names:
        figure = FIGURES[name]
        try:
            if made_of is None:
                raise no_results(results, scale, sweeps)
            made_from = digest(made_of[1], figure) if width is None else None
            made = picture(figure, made_of[0], width)
        except InputError as error:
            why = f"{error} (`{command(results, made_of[1].name, sweeps)}`)" if made_of else str(error)
            failed = isinstance(error, FigureError)
            if every and not failed:
                raise InputError(why) from None
            found.append(Drawn(name, missing=why, failed=failed))
            continue
        path = save(name, figure, made, out or made_of[1] / "figures", width)
        found.append(Drawn(name, path, made_from))
    return found


@app.command()
def draw(
    names: Names = None,
    results: Results = Path("results"),
    out: Folder = None,
    scale: Scale = None,
    runs: Annotated[
        list[Path] | None,
        typer.Option(
            parser=given_path, metavar="PATH", help="Folder of results of `bench run --grid` to draw; may be repeated."
        ),
    ] = None,
    where: Annotated[str | None, typer.Option(help="With --runs: draw only rows that satisfy this condition.")] = None,
    width: Width = None,
) -> None:
    """Draw figures from results as PNG and CSV; tables also as Markdown and LaTeX.

    The word `draw` can be omitted. The exit status is 1 where the code of a figure raised an exception, which is a bug;
    it is named, and all others are drawn.

    Example: python -m figures draw ppsgd_fig1a
    """
    from figures import FIGURES

    check_scale(scale)
    for name in names or []:
        check_name("figure", name, FIGURES)
    if width is not None:
        check_width(width, names)
    if where is not None and not runs:
        raise InputError(f"--where {where!r} only applies to --runs: give the folder of runs")
    if runs:
        if not names:
            raise InputError("--runs needs the name of a figure, as in `python -m figures ppsgd_fig1a --runs F`")
        for name in names:
            path, lines = user_grids.write(name, FIGURES[name], runs, where, out, width)
            print(path)
            for line in lines:
                print(line, file=sys.stderr)
        return
    drawn, failed = 0, []
    groups: dict[tuple[str, ...], list[str]] = {}  # figures of the same sweeps, whose runs are read once
    for name in dict.fromkeys(names or FIGURES):
        groups.setdefault(FIGURES[name].sweeps, []).append(name)
    given = [(*group, results, scale) for group in groups.items()]
    write = partial(write_together, every=bool(names), out=out, width=width)
    for found in side_by_side(write, given, None if len(given) >= WORTH_PROCESSES else 1):
        for made in found:
            if made.failed:
                failed.append(f"{made.name}: {made.missing}")
                continue
            if made.path is None:
                print(f"{made.name} is left out: {made.missing}", file=sys.stderr)
                continue
            print(made.path, flush=True)
            drawn += 1
            if made.made_from is not None:
                with writing(made.path.parent):
                    record(made.path.parent / RECORD, made.name, made.made_from)
    fail_for(failed)
    if not drawn:
        raise no_results(results, scale, ["all"], "nothing to draw")


@app.command("list")
def list_() -> None:
    """List the figures and tables, with one line about each.

    Example: python -m figures list
    """
    from figures import FIGURES

    width = max(map(len, FIGURES))
    for name, figure in FIGURES.items():
        print(f"{name:{width}}  {figure.title}")


@app.command()
def claims(
    papers: Papers = None,
    results: Results = Path("results"),
    out: Folder = None,
    scale: Scale = None,
    brief: Annotated[bool, typer.Option("--brief", help="Print the verdicts without their numbers.")] = False,
) -> None:
    """Check the papers' claims: was each seen, and in whose setting?

    It is open where chance over repetitions can explain its margin; the output says what would decide it. The setting
    is the paper's, or on other data, or under our guess at what the paper leaves open.

    The exit status is 1 where a check raised an exception, which is a bug; it is named, and all others are written.

    Example: python -m figures claims ppsgd
    """
    from figures import PAPERS
    from figures.claims import check, findings_in, join, judged, judged_from, stopped

    check_scale(scale)
    for name in papers or []:
        check_name("paper with claims", name, PAPERS)
    judged_on = {name: places_of(PAPERS[name].judged_by, folders_of(results, scale)) for name in papers or PAPERS}
    given = [(name, places) for name, places in judged_on.items() if places]
    missing = {
        name: no_results(results, scale, PAPERS[name].judged_by[:1]) for name, places in judged_on.items() if not places
    }
    if missing and (papers or not given):
        raise next(iter(missing.values()))
    verdicts, folders = {name: judged(name, {})[0] for name in missing}, {}
    for (name, places), found in zip(given, side_by_side(findings_in, given), strict=True):
        folders[name] = out or next(iter(places.values())) / "figures"
        verdicts[name] = found.verdicts
        check(name, found, folders[name], brief=brief)
        if not stopped(found.verdicts):
            record(folders[name] / JUDGED, name, judged_from(name, places))
    for name, why in missing.items():
        print(f"the claims of {name} are left out: {why}", file=sys.stderr)
    join({name: verdicts[name] for name in judged_on}, next(iter(folders.values())))
    fail_for(stopped(pd.concat(verdicts.values(), ignore_index=True)))


@app.command()
def report(results: Results = Path("results"), out: Page = None, scale: Scale = None) -> None:
    """Write an HTML page with all claims, figures, tables and comparisons, and a folder of its files.

    What the repository has decided comes first, and what was run here beside it. The exit status is 1
    where the check of a claim or the code of a figure raised an exception; the page says so.

    Example: python -m figures report
    """
    from figures.claims import stopped
    from figures.pages.report.write import write

    check_scale(scale)
    path, beside, shown = write(results, scale, out, REPOSITORY)
    size = sum(file.stat().st_size for file in beside.rglob("*") if file.is_file())
    print(f"{path} ({path.stat().st_size / 1e6:.1f} MB, and {size / 1e6:.1f} MB of files in {beside.name})")
    fail_for([*stopped(shown.claims), *shown.failed])


@app.command()
def board(results: Results = Path("results"), out: Page = None) -> None:
    """Write the HTML page of the board, all methods by task and epsilon, and its tables as CSV, Markdown and LaTeX.

    Example: python -m figures board
    """
    from figures.pages.board.write import write

    path, shown = write(results, out)
    for line in shown.left_out:
        print(f"left out: {line}", file=sys.stderr)
    print(f"{path} ({path.stat().st_size / 1e6:.1f} MB)")


@app.command()
def docs() -> None:
    """Update the generated parts of README.md and docs from the claims. Run it in the repository's folder.

    Example: python -m figures claims; python -m figures docs
    """
    from figures.docs import outdated

    root = Path.cwd()
    if not (root / "docs" / "papers").is_dir():
        raise InputError(f"{root} has no folder docs/papers: run this in the repository's folder")
    for page, text in outdated(root, Path("results") / KEPT / "figures").items():
        print(page)
        write_whole(page, text)


def fail_for(lines: Sequence[str]) -> None:
    """Print what raised exceptions, a claim or a figure a line; exit with status 1 where there is any."""
    for line in lines:
        print(f"error: {line}", file=sys.stderr)
    if lines:
        raise typer.Exit(1)
