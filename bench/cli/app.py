"""The command line: python -m bench --help."""

import json
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bench import audit as audits
from bench.api import comparisons, runs
from bench.attacks import attack as attack_board
from bench.cli.command import command
from bench.cli.data import app as data_app
from bench.cli.options import Commands, Json, Version, path
from bench.cli.signals import on_stop
from bench.comparison.defaults import COMPARISON
from bench.errors import InputError, check_name
from bench.privacy import sums

if TYPE_CHECKING:
    import pandas as pd

app = typer.Typer(
    help="A benchmark suite for private federated learning. Example: python -m bench run ppsgd_synthetic",
    epilog="Data files that you have: python -m bench data --help. Figures, verdicts and the report: "
    "python -m figures --help, or private-federated-bench figures --help.",
    cls=Commands,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.add_typer(data_app, name="data")
say = partial(typer.echo, err=True)


@app.callback()
def options(version: Version = False) -> None:
    """Options that come before a command."""


@command(app, sums.epsilon)
def epsilon(result: dict[str, Any], as_json: Json = False) -> None:
    """Example: python -m bench epsilon --noise-multiplier 1 --sampling-rate 0.01 --steps 20000 --delta 1e-4"""
    if as_json:
        valid = json.loads(json.dumps(result), parse_constant=lambda infinite: None)
        typer.echo(json.dumps(valid, indent=2))
        return
    typer.echo(f"{result['epsilon']:.6g}\n{result['meaning']}")
    for steps, spent in result.get("by_step", ()):
        typer.echo(f"{steps:>12,} steps  {spent:.6g}")
    if "steps_left" in result:
        left = result["steps_left"]
        typer.echo("the target is exceeded" if left is None else f"{left:,} more steps of the last phase are within it")


@command(app, sums.noise, say=say)
def noise(result: dict[str, Any]) -> None:
    """Example: python -m bench noise --epsilon 2 --sampling-rate 0.01 --steps 20000 --delta 1e-4"""
    typer.echo(f"{result['noise_multiplier']:.6g}\n{result['meaning']}")


@app.command(name="list")
def list_everything(as_json: Json = False) -> None:
    """List sweeps, algorithms, tasks, data sets (and where each was found), and tasks for comparisons.

    Figures: python -m figures list.

    Example: python -m bench list --json
    """
    from bench.cli.catalog import catalog, tables

    entries = catalog()
    print(json.dumps(entries, indent=2) if as_json else tables(entries))


@command(app, runs.run, rows=False)
def run(rows: "pd.DataFrame") -> None:
    """Example: python -m bench run ppsgd_synthetic --scale laptop --where "noise_multiplier <= 10" """
    for folder in rows.attrs.get("folders", ()):
        print(folder)


@command(app, runs.merge)
def merge(table: "pd.DataFrame") -> None:
    """Whatever cannot be used is left out and named, and the exit status is then 1.

    Example: python -m bench merge elsewhere/results --out results
    """
    for row in table.to_dict("records"):
        totals = f"{row['runs']:,} runs in {row['parts']:,} parts"
        print(f"{row['folder']}: {row['added']:,} runs added, {row['twice']:,} duplicates dropped; now {totals}")
    for note in table.attrs["notes"]:
        say(note)
    for line in table.attrs["left_out"]:
        say(f"left out: {line}")
    if table.attrs["left_out"]:
        raise typer.Exit(1)


@command(app, runs.status)
def status(table: "pd.DataFrame", as_json: Json = False) -> None:
    """Example: python -m bench status ppsgd_synthetic --scale laptop"""
    print(json.dumps(table.attrs["json"], indent=2) if as_json else table.attrs["text"])
    for line in table.attrs["problems"]:
        say(line)


@command(app, runs.check)
def check(problems: list[str]) -> None:
    """The exit status is 1 where something is damaged, foreign or there twice.

    Example: python -m bench check ppsgd_synthetic --scale laptop
    """
    print("\n".join(problems) or "nothing is wrong")
    if problems:
        raise typer.Exit(1)


@command(app, runs.verify)
def verify(table: "pd.DataFrame") -> None:
    """The exit status is 1 where a run does not come out as it was.

    Example: python -m bench verify --points 50 --minutes 20
    """
    print(table.attrs["text"])
    if table.attrs["failed"]:
        say("some results do not come out as they were")
        raise typer.Exit(1)


@command(app, comparisons.compare)
def compare(table: "pd.DataFrame") -> None:
    """Example: python -m bench compare examples/own_models.py --task digits_by_style --epsilons 1,4 --seeds 3"""
    from bench.comparison.report.table import brief_text, in_a_line

    folder, methods = Path(table.attrs["folder"]), dict.fromkeys(table.loc[~table["is_baseline"], "algorithm"])
    print(brief_text(table, [f"{note}." for note in table.attrs["notes"] if any(label in note for label in methods)]))
    if "board" in table.attrs:
        print(f"\nthe methods of the board are those of {table.attrs['board']}")
    print(f"\ngains, costs and all notes: {folder / f'{COMPARISON}.md'}")
    print(folder / f"{COMPARISON}.png")
    for label in methods:
        print(f"\n{in_a_line(table, label)}")
    if table.attrs["replaced"]:
        say(f"\nthe table in {folder} was another; its command brings it back within a minute, and --out keeps both")


@command(app, comparisons.board)
def board(folders: list[Path]) -> None:
    """To compare your own method with the board, run `python -m bench compare FILE.py --task TASK --against board`.

    Example: python -m bench board synthetic linear_p2p
    """
    for folder in folders:
        print(folder)


@command(app, comparisons.add_to_board, name="board-add")
def board_add(folder: Path) -> None:
    """Example: python -m bench board-add my_method.py synthetic"""
    print(folder)
    say("the audit did not refute its privacy statement")


@wraps(audits.audit)
def single(**options: Any) -> Any:
    on_stop("stopped; of a single audit nothing is kept")
    return audits.audit(**options)


@command(app, single, say=say)
def audit(report: Any) -> None:
    """The first line is the verdict: FAILED, passed or inconclusive. The exit status is 1 where an epsilon that is
    declared as proven is refuted.

    Example: python -m bench audit my_method.py:my_method --set batch_size=4 --epsilon 2
    """
    typer.echo(report)
    if report.refuted:
        raise typer.Exit(1)


@command(app, audits.audit_all, name="audit-all", say=say)
def audit_all(rows: "pd.DataFrame") -> None:
    """The exit status is 1 where a proven epsilon is refuted.

    Example: python -m bench audit-all --out results
    """
    typer.echo(rows.attrs["page"])
    if (rows["refuted"].eq(True) & rows["proven"].eq(True)).any():
        raise typer.Exit(1)


@app.command(name="audit-outputs")
def audit_outputs(
    files: Annotated[
        list[Path],
        typer.Argument(
            parser=path,
            help="npy or npz, a row for each run: files of outputs with the unit of privacy, one for each round, and "
            "then as many without it.",
        ),
    ],
    epsilon: Annotated[float, typer.Option(help="Epsilon that is claimed for all rounds together.")],
    delta: Annotated[float, typer.Option(help="Delta of the claim.")],
    gaussian: Annotated[
        bool | None,
        typer.Option(help="Whether all noise is Gaussian, and nothing is sampled; without it nothing is assumed."),
    ] = None,
) -> None:
    """Audit the outputs of any program: what it made public, in runs on data with one unit of privacy and without it.

    The exit status is 1 where a lower bound refutes the claim.

    Example: python -m bench audit-outputs with.npz without.npz --epsilon 2 --delta 1e-5 --gaussian
    """
    if absent := [file for file in files if not file.exists()]:
        raise InputError(f"{absent[0]} does not exist: give files that numpy.save or numpy.savez wrote")
    if len(files) % 2:
        raise InputError(
            f"audit-outputs has {len(files)} file{'s' * (len(files) != 1)}: give one for each round with the unit, and "
            "then as many without it"
        )
    halves = files[: len(files) // 2], files[len(files) // 2 :]
    report = audits.audit_outputs(*halves, epsilon=epsilon, delta=delta, gaussian=gaussian)
    with_unit, without = (", ".join(map(str, half)) for half in halves)
    typer.echo(f"{report}\nwith the unit: {with_unit}; without it: {without}")  # a wrong order refutes what is right
    if report.refuted:
        raise typer.Exit(1)


@command(app, attack_board, say=say)
def attack(rows: "pd.DataFrame") -> None:
    """Example: python -m bench attack few_images --runs 128"""
    typer.echo(rows.attrs["page"])


@app.command()
def conformance(
    file: Annotated[
        Path | None,
        typer.Argument(parser=path, metavar="FILE", help="JSON with answers; without it, one to fill in is printed."),
    ] = None,
) -> None:
    """Check the numbers of a program in any framework against the conformance set: noise, epsilon, sums and models.

    Without FILE a file of answers is printed, with null for every number; replace those that the program computes. With
    FILE, the answers that differ are printed, by how much, and whether they are the number of another sampler, relation
    or accountant. The exit status is 1 where epsilon or noise is too small, or a number of a golden run differs, and 0
    where epsilon or noise is larger than it need be. bench/conformance has what is asked, as JSON that says what its
    fields mean.

    Example: python -m bench conformance answers.json
    """
    from bench.conformance import answers

    if file is None:
        typer.echo(answers.template())
        return
    computed = answers.read(file)
    from bench.conformance.check import check, text_of

    checked = check(computed)
    typer.echo(text_of(checked))
    if any(difference.unsafe for difference in checked.differences):
        raise typer.Exit(1)


@app.command()
def perf(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Names of benchmarks, default all; `accelerator`, of a GPU or TPU; h100 or a100, by the compiler."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            parser=path,
            metavar="PATH",
            help="JSON file for the numbers; those of other benchmarks in it are kept. Of an accelerator, default "
            "perf-DEVICE.json or compiled-for-GPU.json.",
        ),
    ] = None,
) -> None:
    """Measure speed and memory against plain NumPy loops, and the share of this machine's peak performance reached.

    `accelerator` measures, in ten minutes, client updates, examples of DP-SGD and cells of Bhaskar et al. a second on a
    GPU or TPU. h100 and a100 compile the same programs for that GPU, which need not be here, and count launches.

    Example: python -m bench perf fedavg_round clipping_cnn
    """
    from bench.perf import BENCHMARKS, compiled, report, report_accelerator

    if names and names[0] in ("accelerator", *compiled.GPUS) and not names[1:]:
        report_accelerator(names[0], out)
        return
    for name in names or []:
        check_name("benchmark", name, BENCHMARKS)
    report(names or list(BENCHMARKS), out)
