"""The command line: python -m bench --help."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from bench.audit.commands import audit
from bench.cli import distinct_pairs, pairs, print_version
from bench.data.commands import app as data_app
from bench.data.files import DataFiles
from bench.defaults import COMPARISON, NUM_SETTINGS
from bench.errors import InputError, unknown_name
from bench.paths import path
from bench.privacy.commands import epsilon, noise
from bench.sweeps.commands import export, merge, status

app = typer.Typer(
    help="A benchmark suite for private federated learning. Example: python -m bench run ppsgd_synthetic",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.add_typer(data_app, name="data", help="The data sets: what is here, where the rest comes from.")
app.command()(epsilon)
app.command()(noise)
app.command()(audit)
app.command()(merge)
app.command()(status)
app.command()(export)


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """What stands before a command."""


Workers = Annotated[
    str, typer.Option(help="Processes or tasks at the same time; auto: one a GPU, or else one a core.", metavar="N")
]
Executor = Annotated[str, typer.Option(help="Where they run: local, ray, ray://HOST:PORT or slurm.")]
Out = Annotated[Path, typer.Option(parser=path, metavar="PATH", help="Results folder.")]
DataDir = Annotated[
    Path | None, typer.Option(parser=path, metavar="PATH", help="Folder with data files that you have already.")
]
Download = Annotated[bool, typer.Option("--download", help="Allow downloads from official addresses.")]


@app.command(name="list")
def list_everything(
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Sweeps, algorithms, tasks, data sets (with where each was found), figures, and what methods are compared on.

    Example: python -m bench list --json
    """
    from bench.catalog import catalog, tables

    entries = catalog(DataFiles(data_dir))
    print(json.dumps(entries, indent=2) if as_json else tables(entries))


@app.command()
def run(
    names: Annotated[list[str], typer.Argument(help="Sweeps, or `all`.")],
    scale: Annotated[str, typer.Option(help="smoke, laptop or paper.")] = "smoke",
    out: Out = Path("results"),
    where: Annotated[str | None, typer.Option(help='Only these points, as "noise_multiplier <= 10".')] = None,
    seeds: Annotated[int | None, typer.Option(help="Repetitions of every point.")] = None,
    task: Annotated[str | None, typer.Option(help="Another task than the sweep's own; see `list`.")] = None,
    grid: Annotated[
        list[str] | None, typer.Option(help="COLUMN=VALUES in place of the sweep's: A,B,C or log:LOW:HIGH:COUNT.")
    ] = None,
    rounds: Annotated[int | None, typer.Option(help="Communication rounds, in place of the sweep's.")] = None,
    name: Annotated[str | None, typer.Option(help="Of the folder for --grid and --rounds.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="First set all the sweep's results aside.")] = False,
    chunk: Annotated[
        int | None, typer.Option(help="Points at once at most; changes results by rounding alone.")
    ] = None,
    workers: Workers = "auto",
    executor: Executor = "local",
    data_dir: DataDir = None,
    download: Download = False,
) -> None:
    """Run what is missing of the sweeps. Interrupt it at any time and run it again.

    Example: python -m bench run ppsgd_synthetic --scale laptop --where "noise_multiplier <= 10"
    """
    from bench.api import run_chosen
    from bench.sweeps import SWEEPS
    from bench.sweeps.chosen import chosen
    from bench.sweeps.execution.pool import Pool
    from bench.sweeps.grids import keeping_rounds
    from bench.sweeps.run import use_compilation_cache

    if chunk is not None and not 1 <= chunk <= 10**9:
        raise InputError(f"--chunk is {chunk}: it must be at least 1 and at most {10**9:,}")
    data_files = DataFiles(data_dir, download)
    use_compilation_cache()
    if "all" in names and len(names) > 1:
        raise InputError(f"`all` is every sweep: leave out {' '.join(name for name in names if name != 'all')}")
    sweeps = list(SWEEPS) if names == ["all"] else names
    if name is not None and len(sweeps) > 1:
        raise InputError(f"--name {name} is one folder for {len(sweeps)} sweeps: leave it out, or run them one by one")
    own = {"grid": distinct_pairs("--grid", grid), "rounds": rounds, "folder": name}
    # Names and conditions of all of them are checked before the first one runs.
    todo = [chosen(sweep, scale, where=where, seeds=seeds, task=task, **own) for sweep in sweeps]
    with Pool(executor, workers) as pool:
        for wanted in todo:
            run_chosen(wanted, scale, out=out, data_files=data_files, fresh=fresh, most=chunk, pool=pool)
            if wanted.request is not None:
                print(out / scale / wanted.part.name)
                if rounds is not None and (kept := keeping_rounds(wanted.part)):
                    print(f"--rounds leaves {', '.join(kept)} at rounds of their own", file=sys.stderr)


@app.command()
def compare(
    methods: Annotated[list[str] | None, typer.Argument(help="FILE.py:NAME, or built-in names.")] = None,
    task: Annotated[
        str,
        typer.Option(
            help="synthetic, digits, tags, images, images_dirichlet, fashion, odd_even, odd_even_dirichlet, "
            "linear_p2p, movielens, or clients of your own: a FILE.npz, or a CSV or Parquet file or folder."
        ),
    ] = "digits",
    client: Annotated[str | None, typer.Option(help="Column of a table of your own; default client.")] = None,
    label: Annotated[str | None, typer.Option(help="Column of a table of your own; default label.")] = None,
    regression: Annotated[bool, typer.Option("--regression", help="Labels of your own table are numbers.")] = False,
    epsilons: Annotated[str, typer.Option(help="Separated by commas; runs without noise are added.")] = "0.5,1,2,4,8",
    seeds: Annotated[int, typer.Option(help="Splits of the data, each with randomness of its own.")] = 5,
    tune: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=log:LOW:HIGH for an interval, log:LOW:HIGH:COUNT or A,B,C for values; METHOD:NAME=... of one."
        ),
    ] = None,
    fix: Annotated[list[str] | None, typer.Option("--set", help="NAME=VALUE; may be repeated.")] = None,
    num_settings: Annotated[
        int, typer.Option("--settings", help="Combinations of values that each method is tuned over at most.")
    ] = NUM_SETTINGS,
    trials: Annotated[int | None, typer.Option(hidden=True)] = None,
    rounds: Annotated[int | None, typer.Option(help="Communication rounds; default the task's.")] = None,
    baselines: Annotated[str | None, typer.Option(help="Names separated by commas, or none; default all.")] = None,
    neighbors: Annotated[str | None, typer.Option(help='"add-or-remove one" or "replace one".')] = None,
    delta: Annotated[float | None, typer.Option(help="Default the task's.")] = None,
    units: Annotated[bool, typer.Option("--units", help="Other units of privacy too, in panels of their own.")] = False,
    against: Annotated[
        str | None, typer.Option(help="A board, whose methods are not run again; `board` is OUT/board.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Of the folder in OUT/compare.")] = None,
    out: Out = Path("results"),
    fresh: Annotated[bool, typer.Option("--fresh", help="First set earlier runs of that name aside.")] = False,
    workers: Workers = "auto",
    executor: Executor = "local",
    data_dir: DataDir = None,
    download: Download = False,
) -> None:
    """Methods beside the baselines of a task, on equal terms: one statement of privacy, as many settings tried.

    Example: python -m bench compare examples/ditto.py --task digits --epsilons 1,4 --seeds 3
    """
    from bench import comparing
    from bench.values import searched, value, values

    if trials is not None:
        raise InputError(f"--trials of compare is now called --settings: write --settings {trials}")
    table = comparing.compare(
        methods or [],
        task=_of_own(task, client, label, regression),
        epsilons=values(epsilons),
        seeds=seeds,
        tuned={key: searched(text) for key, text in pairs("--tune", tune)},
        fixed={key: value(text) for key, text in pairs("--set", fix)},
        num_settings=num_settings,
        rounds=rounds,
        baselines=None if baselines is None else _baselines(baselines),
        neighbors=neighbors,
        delta=delta,
        units=units,
        against=against,
        name=name,
        out=out,
        fresh=fresh,
        workers=workers,
        executor=executor,
        data_dir=data_dir,
        download=download,
    )
    folder = Path(table.attrs["folder"])
    print((folder / f"{COMPARISON}.md").read_text())
    print(folder / f"{COMPARISON}.png")


@app.command()
def board(
    tasks: Annotated[list[str] | None, typer.Argument(help="Tasks; default all of the board.")] = None,
    epsilons: Annotated[str, typer.Option(help="Separated by commas; runs without noise are added.")] = "0.5,1,2,4,8",
    seeds: Annotated[int | None, typer.Option(help="Splits of the data; default 5.")] = None,
    num_settings: Annotated[
        int, typer.Option("--settings", help="Combinations of values that each method is tuned over at most.")
    ] = NUM_SETTINGS,
    rounds: Annotated[int | None, typer.Option(help="Communication rounds; default the task's.")] = None,
    add: Annotated[str | None, typer.Option(help="FILE.py:NAME: audit it, and put it on the board of a task.")] = None,
    fix: Annotated[list[str] | None, typer.Option("--set", help="With --add: NAME=VALUE; may be repeated.")] = None,
    out: Out = Path("results"),
    fresh: Annotated[bool, typer.Option("--fresh", help="First set earlier runs of these tasks aside.")] = False,
    workers: Workers = "auto",
    executor: Executor = "local",
    data_dir: DataDir = None,
    download: Download = False,
) -> None:
    """Run the board: all methods of the suite on its tasks, by one protocol. Interrupted, it goes on where it was.

    `python -m bench compare FILE.py --task TASK --against board` puts a method of your own beside it.

    Example: python -m bench board synthetic linear_p2p
    """
    from bench import comparing
    from bench.values import value, values

    where: dict = {"out": out, "workers": workers, "executor": executor, "data_dir": data_dir, "download": download}
    fixed = {key: value(text) for key, text in pairs("--set", fix)}
    if add is not None:
        if len(tasks or []) != 1:
            raise InputError(
                "--add puts a method on the board of one task: name it, as in `bench board digits --add FILE.py`"
            )
        print(comparing.add_to_board(add, (tasks or [""])[0], fixed=fixed, **where))
        return
    if fixed:
        raise InputError("--set is for a method that --add names: the board's protocol is the same for all")
    folders = comparing.board(
        tasks or [],
        epsilons=values(epsilons),
        seeds=seeds,
        num_settings=num_settings,
        rounds=rounds,
        fresh=fresh,
        **where,
    )
    for folder in folders:
        print(folder)


def _of_own(task: str, client: str | None, label: str | None, regression: bool):
    """The task, or the problem that a table with these columns is."""
    if client is None and label is None and not regression:
        return task
    from bench.comparison.problems import PROBLEMS, own_clients

    if task in PROBLEMS:
        raise InputError(
            f"--client, --label and --regression are for a table of your own, not for {task}: leave them out"
        )
    return own_clients(task, client=client, label=label, regression=regression)


def _baselines(text: str) -> list[str]:
    return [] if text == "none" else [name.strip() for name in text.split(",") if name.strip()]


@app.command()
def perf(
    names: Annotated[list[str] | None, typer.Argument(help="Benchmarks; default all.")] = None,
    data_dir: DataDir = None,
    download: Download = False,
) -> None:
    """Speed and memory against plain NumPy loops, and the share of what this machine can do at most.

    Example: python -m bench perf fedavg_round clipping_cnn
    """
    from bench.perf import BENCHMARKS, report

    for name in names or []:
        if name not in BENCHMARKS:
            raise unknown_name("benchmark", name, BENCHMARKS)
    report(names or list(BENCHMARKS), DataFiles(data_dir, download))
