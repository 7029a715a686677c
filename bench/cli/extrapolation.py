"""The command line of extrapolations: methods with the noise of more users than exist."""

from pathlib import Path
from typing import Annotated

import typer

from bench.cli.options import DataDir, Out, Source, Workers


def extrapolate(
    task: Annotated[str, typer.Argument(help="A task that protects a user, such as digits_by_style.")],
    methods: Annotated[str, typer.Option(help="Methods of the task, separated by commas.")] = "DP-FedAvg,Fine-tuning",
    epsilon: Annotated[float, typer.Option(help="One finite epsilon.")] = 1.0,
    factors: Annotated[
        str, typer.Option(help="How many times as many users, separated by commas; 1 is always run.")
    ] = "1,2,5,10,20,50,100",
    num_settings: Annotated[int, typer.Option("--settings", help="Settings tried for each method and factor.")] = 12,
    seeds: Annotated[int, typer.Option(help="Number of data splits.")] = 3,
    rounds: Annotated[int | None, typer.Option(help="Number of communication rounds; default the board's.")] = None,
    out: Out = Path("results"),
    fresh: Annotated[bool, typer.Option("--fresh", help="First move earlier runs aside.")] = False,
    workers: Workers = "auto",
    executor: Annotated[str, typer.Option(help="Where the workers run, as of `run`.")] = "local",
    data_dir: DataDir = None,
    source: Source = None,
) -> None:
    """Extrapolate methods to more users than exist: from how many on do they beat learning alone?

    The noise on the mean of a round falls as if there were so many more users like those that exist, at the same rate
    of sampling and the same noise multiplier. Only the users that exist are measured. Files go to OUT/extrapolated.

    Example: python -m bench extrapolate digits_by_style --methods DP-FedAvg,Fine-tuning --epsilon 1
    """
    from bench.analysis import tables
    from bench.api import extrapolations
    from bench.comparison.report import extrapolated
    from bench.inputs.values import values

    found = extrapolations.extrapolate(
        task,
        [name.strip() for name in methods.split(",") if name.strip()],
        epsilon=epsilon,
        factors=[float(value) for value in values(factors)],
        num_settings=num_settings,
        seeds=seeds,
        rounds=rounds,
        out=out,
        fresh=fresh,
        workers=workers,
        executor=executor,
        data_dir=data_dir,
        source=source,
    )
    print(tables.plain(extrapolated.cells(found)))
    print("\n".join(["", *(f"{sentence}." for sentence in found.attrs["said"]), extrapolated.delta_words(found), ""]))
    print(Path(found.attrs["folder"]) / f"{extrapolated.NAME}.png")
