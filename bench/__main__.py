"""The command line: python -m bench --help."""

import json
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from bench.cli import exit_status
from bench.data.commands import app as data_app
from bench.errors import InputError, unknown_name
from bench.privacy.commands import epsilon, noise

app = typer.Typer(
    help="A benchmark suite for private federated learning.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.add_typer(data_app, name="data", help="The data sets: what is here, where the rest comes from.")
app.command()(epsilon)
app.command()(noise)

DataDir = Annotated[Path | None, typer.Option(help="Folder with data files that you have already.")]
Download = Annotated[bool, typer.Option("--download", help="Allow downloads from official addresses.")]


@app.command(name="list")
def list_everything(
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Sweeps, algorithms, tasks, data sets (with where each was found) and figures."""
    from bench.catalog import catalog, tables

    _data_options(data_dir, False)
    print(json.dumps(catalog(), indent=2) if as_json else tables(catalog()))


@app.command()
def run(
    names: Annotated[list[str], typer.Argument(help="Sweeps, or `all`.")],
    scale: Annotated[str, typer.Option(help="smoke, laptop or paper.")] = "smoke",
    out: Annotated[Path, typer.Option(help="Results folder.")] = Path("results"),
    where: Annotated[str | None, typer.Option(help='Only these points, as "noise_multiplier <= 10".')] = None,
    seeds: Annotated[int | None, typer.Option(help="Repetitions of every point.")] = None,
    task: Annotated[str | None, typer.Option(help="Another task than the sweep's own; see `list`.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="First set all the sweep's results aside.")] = False,
    chunk: Annotated[int | None, typer.Option(help="Points at once at most; never changes a result.")] = None,
    data_dir: DataDir = None,
    download: Download = False,
) -> None:
    """Run what is missing of the sweeps. Interrupt it at any time and run it again."""
    from bench.data.tasks import TASKS
    from bench.sweeps import SCALES, SWEEPS
    from bench.sweeps.run import run_sweep, use_compilation_cache
    from bench.sweeps.spec import on_task, select

    if scale not in SCALES:
        raise unknown_name("scale", scale, SCALES)
    for option, value, most in (("--seeds", seeds, 10_000), ("--chunk", chunk, 10**9)):
        if value is not None and not 1 <= value <= most:
            raise InputError(f"{option} is {value}: it must be at least 1 and at most {most:,}")
    chosen = list(SWEEPS) if names == ["all"] else names
    for name in chosen:
        if name not in SWEEPS:
            raise unknown_name("sweep", name, SWEEPS)
    if task is not None and task not in TASKS:
        raise unknown_name("task", task, TASKS)
    _data_options(data_dir, download)
    use_compilation_cache()
    todo = []  # names and conditions of all of them are checked before the first one runs
    for name in chosen:
        whole = SWEEPS[name](scale)
        if task is not None:
            whole = on_task(whole, task, TASKS[task])
        sweep = whole if where is None else select(whole, where)
        todo.append((whole, sweep if seeds is None else sweep._replace(seeds=seeds)))
    for whole, sweep in todo:
        run_sweep(sweep, whole=whole, scale=scale, out=out, fresh=fresh, most=chunk)


@app.command()
def perf(
    names: Annotated[list[str] | None, typer.Argument(help="Benchmarks; default all.")] = None,
) -> None:
    """Speed and memory against plain NumPy loops, and the share of a measured matrix-product peak."""
    from bench.perf import BENCHMARKS, report

    for name in names or []:
        if name not in BENCHMARKS:
            raise unknown_name("benchmark", name, BENCHMARKS)
    report(names or list(BENCHMARKS))


def _data_options(data_dir: Path | None, download: bool) -> None:
    """Pass the options on where every reader of data looks for them."""
    if data_dir is not None:
        if not data_dir.is_dir():
            raise InputError(f"--data-dir {data_dir} is not a folder: give the one that holds the files")
        os.environ["BENCH_DATA"] = str(data_dir)
    if download:
        os.environ["BENCH_DOWNLOAD"] = "1"


def main() -> int:
    """Run a command; the exit status."""
    return exit_status(app)


if __name__ == "__main__":
    sys.exit(main())
