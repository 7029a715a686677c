"""The command line: python -m figures --help."""

import sys
from pathlib import Path
from types import ModuleType
from typing import Annotated

import pandas as pd
import typer
from matplotlib.figure import Figure

from bench.cli import exit_status
from bench.errors import InputError, unknown_name
from figures.shared.drawn import digest, record
from figures.shared.runs import SCALES, command, no_results, runs_of, without_runs

TUNINGS = ("paper", "validation", "both")

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


def one_tuning(table: pd.DataFrame, tunings: dict[str, str], tune: str) -> pd.DataFrame:
    """The rows of one way of tuning, of a figure's two."""
    label = list(tunings)[TUNINGS.index(tune)]
    return table[table["tuned_on"] == label].reset_index(drop=True)


def picture(figure: ModuleType, runs: pd.DataFrame, tune: str) -> tuple[Figure, pd.DataFrame]:
    """A figure and the numbers that it shows.

    Raises:
        InputError: where the runs at hand cannot make it.
    """
    table = figure.table(runs)
    if tune != "both" and hasattr(figure, "TUNINGS"):
        table = one_tuning(table, figure.TUNINGS, tune)
    return figure.draw(table), table


def judge_papers(names: list[str], results: Path, scale: str | None, out: Path | None) -> None:
    """Check the claims of the papers named, or of all of which there are results; of several in one table as well."""
    from figures.claims import CLAIMS, check, join, judged

    missing, tables, folders = {}, {}, {}
    for name in names or CLAIMS:
        found = {claim.sweep: runs_of(results, scale, claim.sweep) for claim in CLAIMS[name]}
        if any(found.values()):
            folders[name] = out or next(folder for _, folder in filter(None, found.values())) / "figures"
            tables[name] = check(name, {sweep: pair[0] for sweep, pair in found.items() if pair}, folders[name])
        else:
            missing[name] = no_results(results, scale, next(iter(found)))
            tables[name] = judged(name, {})
    if missing and (names or not folders):
        raise next(iter(missing.values()))
    for name, why in missing.items():
        print(f"the claims of {name} are left out: {why}", file=sys.stderr)
    if len(tables) > 1:
        join(tables.values(), next(iter(folders.values())))


def make_report(results: Path, scale: str | None, out: Path | None) -> None:
    """Make the page that shows everything, and print where it is and how large."""
    from figures.report.write import write

    path = write(results, scale, out)
    print(f"{path} ({path.stat().st_size / 1e6:.1f} MB)")


@app.command()
def main(
    names: Annotated[
        list[str] | None, typer.Argument(help="Figures; default all. Or `claims`, then papers; or `report`.")
    ] = None,
    results: Annotated[Path, typer.Option(help="Results folder.")] = Path("results"),
    out: Annotated[
        Path | None, typer.Option(help="Where to draw; default figures/ beside the results. The file of `report`.")
    ] = None,
    scale: Annotated[str | None, typer.Option(help="smoke, laptop or paper; default the largest there.")] = None,
    tune: Annotated[
        str, typer.Option(help="Of figures that show both: tuned as in the `paper`, on `validation` data, or `both`.")
    ] = "both",
) -> None:
    """Draw figures from results: PNG, PDF, the numbers as CSV, tables as Markdown and LaTeX as well.

    `claims` checks what the papers claim. `report` makes one page of everything, report/index.html in the results.

    Example: python -m figures ppsgd_fig1a --scale laptop
    """
    from bench.analysis import style, tables
    from figures import FIGURES
    from figures.claims import CLAIMS

    for kind, value, known in (("scale", scale, SCALES), ("way of tuning", tune, TUNINGS)):
        if value is not None and value not in known:
            raise unknown_name(kind, value, known)
    if names and names[0] == "claims":
        for name in names[1:]:
            if name not in CLAIMS:
                raise unknown_name("paper with claims", name, CLAIMS)
        judge_papers(names[1:], results, scale, out)
        return
    if names and names[0] == "report":
        if names[1:]:
            raise InputError(f"report takes no names, here {' '.join(names[1:])!r}: it shows everything")
        make_report(results, scale, out)
        return
    for name in names or []:
        if name not in FIGURES:
            raise unknown_name("figure", name, FIGURES)
    drawn = 0
    for name in names or FIGURES:
        figure = FIGURES[name]
        found = runs_of(results, scale, figure.SWEEP) if figure.SWEEP else without_runs(results, scale)
        if not found:
            missing = no_results(results, scale, figure.SWEEP)
            if names:
                raise missing
            print(f"{name} is left out: {missing}", file=sys.stderr)
            continue
        drawn_from = digest(found[1], figure, tune)
        try:
            drawing, table = picture(figure, found[0], tune)
        except InputError as error:
            incomplete = InputError(f"{error} (`{command(results, found[1].name, figure.SWEEP)}`)")
            if names:
                raise incomplete from None
            print(f"{name} is left out: {incomplete}", file=sys.stderr)
            continue
        folder = out or found[1] / "figures"
        try:
            print(style.save(drawing, table, folder, name)[0])
            if hasattr(figure, "printed"):
                tables.save(figure.printed(table), folder, name)
            record(folder, name, drawn_from)
        except OSError as error:
            raise InputError(f"cannot write {error.filename or folder}: {error.strerror}; choose --out") from None
        drawn += 1
    if not drawn:
        raise InputError(
            f"nothing to draw in {results}: first run `{command(results, scale, 'all')}`, or choose --results"
        )


def run() -> int:
    """Run the command; the exit status."""
    return exit_status(app)


if __name__ == "__main__":
    sys.exit(run())
