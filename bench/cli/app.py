"""The command line: python -m bench --help."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from bench.cli.attacks import attack
from bench.cli.audit import audit
from bench.cli.conformance import conformance
from bench.cli.data import app as data_app
from bench.cli.options import Commands, DataDir, Json, Out, Source, Version, Workers, path
from bench.cli.privacy import epsilon, noise
from bench.cli.upkeep import merge, status
from bench.cli.verification import verify
from bench.comparison.defaults import COMPARISON, NUM_SETTINGS
from bench.data.files import DataFiles
from bench.errors import InputError, unknown_name
from bench.store import of_scale

app = typer.Typer(
    help="A benchmark suite for private federated learning. Example: python -m bench run ppsgd_synthetic",
    epilog="Figures, verdicts and the report: python -m figures --help, or private-federated-bench figures --help.",
    cls=Commands,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.add_typer(data_app, name="data", help="List, fetch and verify data sets.")
app.command()(epsilon)
app.command()(noise)
app.command()(audit)
app.command()(conformance)
app.command()(attack)
app.command()(merge)
app.command()(status)
app.command()(verify)


@app.callback()
def options(version: Version = False) -> None:
    """Options that come before a command."""


Executor = Annotated[str, typer.Option(help="Where the workers run: local, ray or ray://HOST:PORT.")]
Devices = Annotated[
    str | None,
    typer.Option(
        help="Divide the clients of each run over so many devices of this machine, or auto: all; in place of workers.",
        metavar="N",
    ),
]
Epsilons = Annotated[
    str, typer.Option(help="Values of epsilon, separated by commas; the noise-free case is always added.")
]
NumSettings = Annotated[int, typer.Option("--settings", help="Largest number of settings tried for each method.")]


@app.command(name="list")
def list_everything(
    as_json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """List sweeps, algorithms, tasks, data sets (and where each was found), and tasks for comparisons.

    Figures: python -m figures list.

    Example: python -m bench list --json
    """
    from bench.cli.catalog import catalog, tables

    entries = catalog(DataFiles(data_dir))
    print(json.dumps(entries, indent=2) if as_json else tables(entries))


@app.command()
def run(
    names: Annotated[list[str], typer.Argument(help="Names of sweeps, or `all`.")],
    scale: Annotated[str, typer.Option(help="smoke, laptop or paper.")] = "smoke",
    out: Out = Path("results"),
    where: Annotated[str | None, typer.Option(help='Select points, as in "noise_multiplier <= 10".')] = None,
    seeds: Annotated[int | None, typer.Option(help="Repetitions of every point.")] = None,
    task: Annotated[str | None, typer.Option(help="Task to use in place of the sweep's; see `list`.")] = None,
    grid: Annotated[
        list[str] | None, typer.Option(help="COLUMN=VALUES to replace the sweep's values: A,B,C or log:LOW:HIGH:COUNT.")
    ] = None,
    rounds: Annotated[int | None, typer.Option(help="Number of communication rounds, in place of the sweep's.")] = None,
    name: Annotated[str | None, typer.Option(help="Name of the results folder for --grid and --rounds.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="First move all existing results of the sweep aside.")] = False,
    shard: Annotated[
        str | None,
        typer.Option(help="Run the I-th of N equal shares, into an --out of its own; see `merge`.", metavar="I/N"),
    ] = None,
    chunk: Annotated[
        int | None, typer.Option(help="Largest number of points computed at once; affects results only by rounding.")
    ] = None,
    workers: Workers = "auto",
    executor: Executor = "local",
    devices: Devices = None,
    data_dir: DataDir = None,
    source: Source = None,
) -> None:
    """Run the missing points of sweeps. The command can be interrupted at any time and repeated to continue.

    Example: python -m bench run ppsgd_synthetic --scale laptop --where "noise_multiplier <= 10"
    """
    from bench.api.runs import upcoming_of
    from bench.execution.chosen import chosen
    from bench.execution.pool import Pool
    from bench.execution.run import run_all, use_compilation_cache
    from bench.inputs.values import distinct_pairs
    from bench.papers import SWEEPS
    from bench.sweeps.grids import keeping_rounds

    if chunk is not None and not 1 <= chunk <= 10**9:
        raise InputError(f"--chunk is {chunk}: it must be between 1 and {10**9:,}")
    data_files = DataFiles(data_dir, source)
    use_compilation_cache()
    if "all" in names and len(names) > 1:
        raise InputError(f"`all` is every sweep: leave out {' '.join(name for name in names if name != 'all')}")
    sweeps = list(SWEEPS) if names == ["all"] else names
    if name is not None and len(sweeps) > 1:
        raise InputError(
            f"--name {name} would be one folder for {len(sweeps)} sweeps: leave it out, or run the sweeps one at a time"
        )
    own = {"grid": distinct_pairs("--grid", grid), "rounds": rounds, "folder": name}
    # The names and conditions of all sweeps are checked before the first one runs.
    todo = [chosen(SWEEPS, sweep, scale, where=where, seeds=seeds, task=task, shard=shard, **own) for sweep in sweeps]
    with Pool(executor, workers, devices=devices) as pool:
        options = {"out": out, "fresh": fresh, "data_files": data_files, "pool": pool}
        run_all([upcoming_of(wanted, scale, **options) for wanted in todo], pool, most=chunk)
    for wanted in todo:
        if wanted.request is not None:
            print(of_scale(out, scale, wanted.part.name))
            if rounds is not None and (kept := keeping_rounds(wanted.part)):
                print(f"--rounds does not change {', '.join(kept)}, which set their own", file=sys.stderr)


@app.command()
def compare(
    methods: Annotated[list[str] | None, typer.Argument(help="FILE.py:NAME, or names of built-in methods.")] = None,
    task: Annotated[
        str,
        typer.Option(help="One of the comparisons that `list` has, or your own data: FILE.npz, or CSV or Parquet."),
    ] = "synthetic",
    client: Annotated[str | None, typer.Option(help="Column of your table with the client; default client.")] = None,
    label: Annotated[str | None, typer.Option(help="Column of your table with the label; default label.")] = None,
    regression: Annotated[bool, typer.Option("--regression", help="Predict the labels as numbers.")] = False,
    network: Annotated[
        str | None, typer.Option(help="FILE.py:NAME of a flax network for your own data; default a linear model.")
    ] = None,
    epsilons: Epsilons = "0.5,1,2,4,8",
    seeds: Annotated[int, typer.Option(help="Number of data splits, each with its own randomness.")] = 5,
    tune: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=log:LOW:HIGH to tune over an interval, log:LOW:HIGH:COUNT or A,B,C to tune over values; "
            "METHOD:NAME=... for one method."
        ),
    ] = None,
    fix: Annotated[list[str] | None, typer.Option("--set", help="Fix an argument, NAME=VALUE; repeatable.")] = None,
    num_settings: NumSettings = NUM_SETTINGS,
    rounds: Annotated[int | None, typer.Option(help="Number of communication rounds; default the task's.")] = None,
    baselines: Annotated[
        str | None, typer.Option(help="Names separated by commas, or none; default the usual ones of the task.")
    ] = None,
    reference: Annotated[str | None, typer.Option(help="Method that gains are taken over, by its legend name.")] = None,
    neighbors: Annotated[str | None, typer.Option(help='Relation: "add-or-remove one" or "replace one".')] = None,
    delta: Annotated[float | None, typer.Option(help="Delta of (epsilon, delta)-DP; default the task's.")] = None,
    units: Annotated[
        bool, typer.Option("--units", help="Include methods with other privacy units, in separate panels.")
    ] = False,
    population: Annotated[
        float, typer.Option(help="With the noise of so many times the users: extrapolated, in OUT/extrapolated.")
    ] = 1.0,
    against: Annotated[
        str | None,
        typer.Option(
            help="Board to compare with; its methods are not run again. `board` is OUT/board, or the installed copy of "
            "the committed board where OUT/board does not have the task."
        ),
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the results folder in OUT/compare.")] = None,
    out: Out = Path("results"),
    fresh: Annotated[bool, typer.Option("--fresh", help="First move earlier runs of that name aside.")] = False,
    workers: Workers = "auto",
    executor: Executor = "local",
    devices: Devices = None,
    data_dir: DataDir = None,
    source: Source = None,
) -> None:
    """Compare methods with a task's baselines on equal terms: the same privacy statement and tuning budget.

    Example: python -m bench compare examples/ditto.py --task digits_by_style --epsilons 1,4 --seeds 3
    """
    from bench.api import comparisons
    from bench.comparison.report.table import brief_text
    from bench.comparison.search import searched
    from bench.inputs.values import distinct_pairs, value, values

    table = comparisons.compare(
        methods or [],
        task=_of_own(task, client, label, regression, network),
        epsilons=values(epsilons),
        seeds=seeds,
        tuned={key: searched(text) for key, text in distinct_pairs("--tune", tune).items()},
        fixed={key: value(text) for key, text in distinct_pairs("--set", fix).items()},
        num_settings=num_settings,
        rounds=rounds,
        baselines=None if baselines is None else _names("--baselines", baselines),
        reference=reference,
        neighbors=neighbors,
        delta=delta,
        units=units,
        population=population,
        board=against,
        name=name,
        out=out,
        fresh=fresh,
        workers=workers,
        executor=executor,
        devices=devices,
        data_dir=data_dir,
        source=source,
    )
    folder, given = Path(table.attrs["folder"]), set(table.loc[~table["is_baseline"], "algorithm"])
    print(brief_text(table, [f"{note}." for note in table.attrs["notes"] if any(label in note for label in given)]))
    if "board" in table.attrs:
        print(f"\nthe methods of the board are those of {table.attrs['board']}")
    print(f"\ngains, costs and all notes: {folder / f'{COMPARISON}.md'}")
    print(folder / f"{COMPARISON}.png")


@app.command()
def board(
    tasks: Annotated[list[str] | None, typer.Argument(help="Names of tasks; default all of the board.")] = None,
    epsilons: Annotated[
        str | None,
        typer.Option(help="Values separated by commas; default 0.5,1,2,4,8, and 1,4,8 on the longest tasks."),
    ] = None,
    seeds: Annotated[int | None, typer.Option(help="Number of data splits; default 5.")] = None,
    num_settings: Annotated[
        int | None,
        typer.Option(
            "--settings",
            help="Largest number of settings tried for each method; default 64, and 24 on the longest tasks.",
        ),
    ] = None,
    rounds: Annotated[int | None, typer.Option(help="Number of communication rounds; default the task's.")] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            help="Names separated by commas: run these methods, beside those that the board has; default all of the "
            "task. Needs one task."
        ),
    ] = None,
    add: Annotated[str | None, typer.Option(help="FILE.py:NAME to audit and add to a task's board.")] = None,
    fix: Annotated[list[str] | None, typer.Option("--set", help="With --add: NAME=VALUE; repeatable.")] = None,
    out: Out = Path("results"),
    fresh: Annotated[bool, typer.Option("--fresh", help="First move earlier runs of these tasks aside.")] = False,
    workers: Workers = "auto",
    executor: Executor = "local",
    data_dir: DataDir = None,
    source: Source = None,
) -> None:
    """Run the board: all methods of the suite on its tasks, by one protocol. Repeat an interrupted run to continue.

    To compare your own method with the board, run `python -m bench compare FILE.py --task TASK --against board`.

    Example: python -m bench board synthetic linear_p2p
    """
    from bench.api import comparisons
    from bench.inputs.values import distinct_pairs, value, values

    where: dict = {"out": out, "workers": workers, "executor": executor, "data_dir": data_dir, "source": source}
    fixed = {key: value(text) for key, text in distinct_pairs("--set", fix).items()}
    if add is not None:
        if len(tasks or []) != 1:
            raise InputError(
                "--add adds a method to the board of one task: name the task, as in `bench board digits --add FILE.py`"
            )
        ours = {"--epsilons": epsilons, "--seeds": seeds, "--settings": num_settings, "--rounds": rounds}
        ours |= {"--methods": methods, "--fresh": fresh or None}
        for option in [option for option, chosen in ours.items() if chosen is not None]:
            raise InputError(f"{option} is for a board that is run, and --add follows that of the board: leave it out")
        print(comparisons.add_to_board(add, (tasks or [""])[0], fixed=fixed, **where))
        print("the audit did not refute its privacy statement", file=sys.stderr)
        return
    if fixed:
        raise InputError(
            "--set only applies to the method of --add, since the board's protocol is the same for all: leave it out"
        )
    if methods is not None and len(tasks or []) != 1:
        raise InputError("--methods is for one task: name it, as in `bench board digits --methods Ditto`")
    folders = comparisons.board(
        tasks or [],
        methods=None if methods is None else _names("--methods", methods),
        epsilons=None if epsilons is None else values(epsilons),
        seeds=seeds,
        num_settings=num_settings,
        rounds=rounds,
        fresh=fresh,
        **where,
    )
    for folder in folders:
        print(folder)


def _of_own(task: str, client: str | None, label: str | None, regression: bool, network: str | None):
    """The task as given, or the problem of a user's own data with these columns or this network."""
    if client is None and label is None and not regression and network is None:
        return task
    from bench.comparison.problems import own_clients
    from bench.data.tasks.registry import compared

    if task in compared():
        raise InputError(
            f"--client, --label, --regression and --network apply to data of your own, not to {task}: leave them out"
        )
    return own_clients(task, client=client, label=label, regression=regression, network=network)


def _names(option: str, text: str) -> list[str]:
    if not (names := [name.strip() for name in text.split(",") if name.strip()]):
        raise InputError(f"{option} is empty: give names separated by commas, or none")
    return [] if names == ["none"] else names


@app.command()
def perf(
    names: Annotated[list[str] | None, typer.Argument(help="Names of benchmarks; default all.")] = None,
    accelerator: Annotated[
        bool, typer.Option("--accelerator", help="Measure what this GPU or TPU reaches, in ten minutes, as JSON.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            parser=path,
            metavar="PATH",
            help="JSON file for the numbers; those of other benchmarks in it are kept. With --accelerator, default "
            "perf-DEVICE.json.",
        ),
    ] = None,
    data_dir: DataDir = None,
    source: Source = None,
) -> None:
    """Measure speed and memory against plain NumPy loops, and the share of this machine's peak performance reached.

    With --accelerator, measure client updates, examples of DP-SGD and cells of Bhaskar et al. a second on a GPU or TPU.

    Example: python -m bench perf fedavg_round clipping_cnn
    """
    from bench.perf import BENCHMARKS, report, report_accelerator

    if accelerator:
        if names:
            raise InputError(f"--accelerator takes no names, but got {' '.join(names)}: leave them out")
        report_accelerator(out, DataFiles(data_dir, source))
        return
    for name in names or []:
        if name not in BENCHMARKS:
            raise unknown_name("benchmark", name, BENCHMARKS)
    report(names or list(BENCHMARKS), DataFiles(data_dir, source), out)
