"""The command line: python -m figures --help."""

import sys
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from bench.errors import InputError, unknown_name
from bench.sweeps import store

SCALES = ("paper", "laptop", "smoke")  # the largest first: the default is the largest that is there
TUNINGS = ("paper", "validation", "both")

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


def runs_of(results: Path, scale: str | None, sweep: str) -> tuple[pd.DataFrame, Path]:
    """A sweep's runs at the scale, or at the largest scale that is there, and the folder of that scale."""
    folders = [results / name for name in ([scale] if scale else SCALES)]
    folder = next((f for f in folders if any((f / sweep).glob("*.parquet"))), folders[-1])
    if not any((folder / sweep).glob("*.parquet")):
        option = f" --scale {scale}" if scale else ""
        raise InputError(f"no results of {sweep} in {results}: first run `python -m bench run {sweep}{option}`")
    return store.read(folder / sweep), folder


@app.command()
def main(
    names: Annotated[list[str] | None, typer.Argument(help="Figures; default all. Or `claims`, then papers.")] = None,
    results: Annotated[Path, typer.Option(help="Results folder.")] = Path("results"),
    out: Annotated[Path | None, typer.Option(help="Where to draw; default figures/ beside the results.")] = None,
    scale: Annotated[str | None, typer.Option(help="smoke, laptop or paper; default the largest there.")] = None,
    tune: Annotated[str, typer.Option(help="Step sizes chosen as in the paper, on validation data, or both.")] = "both",
) -> None:
    """Draw figures from results: PNG, PDF and the numbers as CSV. `claims` checks what the papers claim."""
    from figures import FIGURES
    from figures.claims import CLAIMS, check

    for kind, value, known in (("scale", scale, SCALES), ("way of tuning", tune, TUNINGS)):
        if value is not None and value not in known:
            raise unknown_name(kind, value, known)
    if names and names[0] == "claims":
        for paper in names[1:] or CLAIMS:
            if paper not in CLAIMS:
                raise unknown_name("paper with claims", paper, CLAIMS)
            check(paper, lambda sweep: runs_of(results, scale, sweep), out)
        return
    for name in names or []:
        if name not in FIGURES:
            raise unknown_name("figure", name, FIGURES)
    from figures import style

    for name in names or FIGURES:
        figure = FIGURES[name]
        runs, folder = runs_of(results, scale, figure.SWEEP)
        table = figure.table(runs)
        if tune != "both":
            label = list(table["tuned_on"].unique())[TUNINGS.index(tune)]
            table = table[table["tuned_on"] == label]
        try:
            paths = style.save(figure.draw(table), table, out or folder / "figures", name)
        except OSError as error:
            raise InputError(f"cannot write {error.filename}: {error.strerror}; choose --out") from None
        print(paths[0])


def run() -> int:
    """Run the command; bad input is one line and exit status 2."""
    try:
        app(standalone_mode=False)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except typer.TyperException as error:
        print(f"error: {error.format_message()}", file=sys.stderr)
        return 2
    except (KeyboardInterrupt, typer.Abort):
        print("stopped; run the same command again", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(run())
