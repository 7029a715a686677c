"""The command line of the attacks: what an adversary learns about the board's own data.

python -m bench attack few_images
python -m bench attack few_images "DP-SGD + FedAvg (E = 1)" --epsilon 1 --epsilon 8
"""

import math
from pathlib import Path
from typing import Annotated

import typer

from bench.cli.options import DataDir, Out, Source
from bench.data.files import DataFiles
from bench.errors import InputError


def attack(
    task: Annotated[str, typer.Argument(help="A task of the board, such as digits or few_images.")],
    methods: Annotated[
        list[str] | None, typer.Argument(help="Names of methods on the board; default all that release anything.")
    ] = None,
    against: Annotated[str, typer.Option(help="Folder of the board; `board` is OUT/board.")] = "board",
    epsilon: Annotated[
        list[float] | None,
        typer.Option(help="An epsilon of the board, or inf for no noise; may be repeated. [default: all]"),
    ] = None,
    runs: Annotated[int, typer.Option(help="Runs of the membership attack.")] = 64,
    canaries: Annotated[int, typer.Option(help="Canary users in the run for the estimate; 0 leaves it out.")] = 100,
    split: Annotated[int, typer.Option(help="Data split, whose settings are attacked.")] = 0,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    out: Out = Path("results"),
    fresh: Annotated[bool, typer.Option("--fresh", help="Run all attacks again.")] = False,
    data_dir: DataDir = None,
    source: Source = None,
) -> None:
    """Attack the methods of a board on its own data, with the settings that it chose.

    A likelihood-ratio membership attack gives the true-positive rate at false-positive rates of 1e-2 and 1e-3, from
    runs in each of which every user is a member by a coin of its own. Canary users in one more run give an estimate of
    epsilon, which is no bound. attacks.csv and attacks.md in the folder of the board's task have one row for each
    method and epsilon, beside the declared epsilon. The command can be interrupted and repeated to continue.

    Example: python -m bench attack few_images --runs 128
    """
    from bench.attacks.whole import PAGE, attack_all
    from bench.comparison.protocol import board_folder
    from bench.execution.run import use_compilation_cache

    for value in epsilon or []:
        if math.isnan(value) or value <= 0:
            raise InputError(f"--epsilon is {value:g}: give one of the board's, or inf for no noise")
    use_compilation_cache()
    attack_all(
        task,
        methods or [],
        epsilons=epsilon or [],
        board=against,
        out=out,
        runs=runs,
        canaries=canaries,
        split=split,
        seed=seed,
        fresh=fresh,
        data_files=DataFiles(data_dir, source),
        say=lambda line: typer.echo(line, err=True),
    )
    typer.echo(board_folder(against, out) / task / PAGE)
