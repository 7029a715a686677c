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
from bench.sweeps import store

SCALES = ("paper", "laptop", "smoke")  # the largest first: the default is the largest that is there
TUNINGS = ("paper", "validation", "both")

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


def runs_of(results: Path, scale: str | None, sweep: str | tuple[str, ...]) -> tuple[pd.DataFrame, Path] | None:
    """A sweep's runs at the scale, or at the largest scale that is there, and the folder of that scale.

    Of several sweeps those that are there, in one table.
    """
    sweeps = [sweep] if isinstance(sweep, str) else sweep
    for folder in [results / name for name in ([scale] if scale else SCALES)]:
        there = [
            folder / name
            for name in sweeps
            if any(path.name != store.COLUMNS for path in (folder / name).glob("*.parquet"))
        ]
        if there:
            return pd.concat([store.read(path) for path in there], ignore_index=True), folder
    return None


def without_runs(results: Path, scale: str | None) -> tuple[None, Path]:
    """What `runs_of` gives for a table of formulas: no runs, and the folder of the scale."""
    names = [scale] if scale else SCALES
    return None, next((results / name for name in names if (results / name).is_dir()), results / names[0])


def no_results(results: Path, scale: str | None, sweep: str | tuple[str, ...]) -> InputError:
    """The error where a sweep has none: says how to make some."""
    words = sweep if isinstance(sweep, str) else " ".join(sweep)
    return InputError(f"no results of {words} in {results}: first run `{command(results, scale, sweep)}`")


def command(results: Path, scale: str | None, sweep: str | tuple[str, ...]) -> str:
    """What makes a sweep's results at the scale, with the options that are not its defaults."""
    sweep = sweep if isinstance(sweep, str) else " ".join(sweep)
    options = {"--scale": (scale or "smoke", "smoke"), "--out": (results, Path("results"))}
    said = [f" {option} {value}" for option, (value, default) in options.items() if value != default]
    return f"python -m bench run {sweep}{''.join(said)}"


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
    """Check the claims of the papers named, or of all of which there are results."""
    from figures.claims import CLAIMS, check

    missing = {}
    for name in names or CLAIMS:
        found = {claim.sweep: runs_of(results, scale, claim.sweep) for claim in CLAIMS[name]}
        if any(found.values()):
            folder = out or next(folder for _, folder in filter(None, found.values())) / "figures"
            check(name, {sweep: pair[0] for sweep, pair in found.items() if pair}, folder)
        else:
            missing[name] = no_results(results, scale, next(iter(found)))
    if missing and (names or len(missing) == len(CLAIMS)):
        raise next(iter(missing.values()))
    for name, why in missing.items():
        print(f"the claims of {name} are left out: {why}", file=sys.stderr)


@app.command()
def main(
    names: Annotated[list[str] | None, typer.Argument(help="Figures; default all. Or `claims`, then papers.")] = None,
    results: Annotated[Path, typer.Option(help="Results folder.")] = Path("results"),
    out: Annotated[Path | None, typer.Option(help="Where to draw; default figures/ beside the results.")] = None,
    scale: Annotated[str | None, typer.Option(help="smoke, laptop or paper; default the largest there.")] = None,
    tune: Annotated[
        str, typer.Option(help="Of figures that show both: tuned as in the `paper`, on `validation` data, or `both`.")
    ] = "both",
) -> None:
    """Draw figures from results: PNG, PDF, the numbers as CSV, tables as Markdown and LaTeX as well.

    `claims` checks what the papers claim.
    """
    from figures import FIGURES, style, tables
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
