"""The command line of the audit: tests whether a method satisfies the epsilon that it declares.

python -m bench audit ppsgd
python -m bench audit my_method.py:my_method --set batch_size=4 --epsilon 2
python -m bench audit all
python -m bench audit --outputs with.npz without.npz --epsilon 2 --delta 1e-5 --gaussian
"""

from pathlib import Path
from typing import Annotated

import typer

from bench.cli.signals import on_stop
from bench.errors import InputError

SECONDS = 20.0  # of the longer game


def audit(
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="METHOD",
            help="A built-in method, FILE.py:NAME, or `all` built-in methods. With --outputs: files of outputs with "
            "the unit of privacy, one for each round, and then as many without it.",
        ),
    ] = None,
    outputs: Annotated[
        bool, typer.Option("--outputs", help="Audit the outputs of any program: npy or npz, one row for each run.")
    ] = False,
    gaussian: Annotated[
        bool | None,
        typer.Option(
            help="With --outputs: whether all noise is Gaussian, and nothing is sampled; without it nothing is assumed."
        ),
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(
            help="Epsilon that the method declares, to which its noise is calibrated (default 3), or that is claimed "
            "for --outputs."
        ),
    ] = None,
    delta: Annotated[
        float | None, typer.Option(help="Delta of (epsilon, delta)-DP; default 1e-5, and none for --outputs.")
    ] = None,
    rounds: Annotated[
        int, typer.Option(help="Rounds of a run; a power of two completes the trees of partial sums.")
    ] = 4,
    runs: Annotated[int, typer.Option(help="Number of runs with the canary, and the same number without.")] = 20_000,
    canaries: Annotated[int, typer.Option(help="Number of canaries in the one-run audit; 0 skips it.")] = 200,
    family: Annotated[
        str | None,
        typer.Option(
            help="Kind of task: users, heads, records, agents, speakers, images, convolutions, copies, layers, pair. "
            "Without it a method for users is audited on users and on layers (or pair)."
        ),
    ] = None,
    confidence: Annotated[float, typer.Option(help="Joint confidence level of all bounds.")] = 0.999,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    power: Annotated[
        bool,
        typer.Option(
            help="Also find how much too little noise the audit would have detected; without it, an audit that refutes "
            "nothing is inconclusive."
        ),
    ] = True,
    seconds: Annotated[
        float,
        typer.Option(
            help="How long the audit goes on to more runs where it would not have seen noise 1.2 times too small; "
            "0: the given runs alone."
        ),
    ] = SECONDS,
    given: Annotated[
        list[str] | None, typer.Option("--set", help="An argument of the method, as NAME=VALUE; may be repeated.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="For `all`: the results folder, whose audit/ gets the table. [default: results]")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="For `all`: run all audits again.")] = False,
) -> None:
    """Measure lower bounds on a method's epsilon and compare them with the epsilon that it declares.

    The first line is the verdict: FAILED, passed or inconclusive. The exit status is 1 where a lower bound exceeds an
    epsilon that is declared as proven. Each way of accounting has these columns: `game`, the bound from error rates at
    the declared delta; `Gaussian`, from the same game where all noise is Gaussian and nothing is sampled; `one run`,
    from many canaries at once, and `Gaussian, one run`, the same for Gaussian noise without sampling; `another delta`,
    from error rates at the delta where they are most informative; `more runs`, from a longer game. A bound at another
    delta is compared with the epsilon declared there. A pass proves nothing. It is reported with the factor by which
    the noise would have to be too small for the game to detect it, found by repeating the game with less noise
    (--no-power saves that time, and then nothing passes). Where that factor is above 1.2, the audit goes on to a longer
    game while there is time (--seconds). `audit all` writes the bounds of all built-in methods on all tasks that they
    fit to audit/audit.csv and audit/audit.md in the results folder, and goes on where it was interrupted.

    With --outputs no method is run: the files have what any program made public, in runs on data with one unit of
    privacy and on the same data without it, and the claim is --epsilon at --delta for all rounds together.

    Example: python -m bench audit my_method.py:my_method --set batch_size=4 --epsilon 2
    """
    if outputs:
        ours = {"--rounds": rounds != 4, "--runs": runs != 20_000, "--canaries": canaries != 200, "--seed": seed != 0}
        ours |= {"--family": family is not None, "--set": bool(given), "--out": out is not None, "--fresh": fresh}
        ours |= {"--no-power": not power, "--seconds": seconds != SECONDS}
        for option in [option for option, chosen in ours.items() if chosen]:
            raise InputError(f"{option} is for methods, which --outputs does not run: leave it out")
        if epsilon is None or delta is None:
            missing = "--epsilon" if epsilon is None else "--delta"
            raise InputError(f"--outputs needs {missing}: give the claim that is to be judged, epsilon and delta")
        return _outputs(targets or [], epsilon, delta, confidence, gaussian)
    if gaussian is not None:
        raise InputError(
            f"--{'no-' * (not gaussian)}gaussian is for --outputs, since a method says what its noise is: leave it out"
        )
    if not targets:
        raise InputError("audit needs a method: name one, give FILE.py:NAME, or `all`")
    if len(targets) > 1:
        raise InputError(
            f"audit takes one method, not {', '.join(targets)}: audit them one at a time, or give --outputs"
        )
    (method,) = targets
    from bench.audit.report import audit as made
    from bench.inputs.values import distinct_pairs, value

    options: dict = {"epsilon": 3.0 if epsilon is None else epsilon, "delta": 1e-5 if delta is None else delta}
    options |= {"rounds": rounds, "runs": runs, "canaries": canaries}
    options |= {"confidence": confidence, "seed": seed, "power": power, "seconds": seconds}
    if method == "all":
        return _all(out, fresh, options, family, given)
    if out is not None or fresh:
        raise InputError(f"{'--fresh' if fresh else '--out'} is for `audit all`, which writes a table: leave it out")
    args = {name: value(text) for name, text in distinct_pairs("--set", given).items()}
    on_stop("stopped; of a single audit nothing is kept")
    found = made(method, family=family, args=args, say=lambda line: typer.echo(line, err=True), **options)
    typer.echo(found)
    if found.refuted:
        raise typer.Exit(1)


def _outputs(files: list[str], epsilon: float, delta: float, confidence: float, gaussian: bool | None) -> None:
    """Audit the outputs in files, half of them with the unit; exit status 1 where the claim is refuted."""
    from bench.audit.outputs import audit_outputs

    paths = [Path(file) for file in files]
    if absent := [path for path in paths if not path.exists()]:
        raise InputError(f"{absent[0]} does not exist: give files that numpy.save or numpy.savez wrote")
    if not files or len(files) % 2:
        raise InputError(
            f"--outputs has {len(files)} file{'s' * (len(files) != 1)}: give one for each round with the unit, and "
            "then as many without it"
        )
    halves = paths[: len(paths) // 2], paths[len(paths) // 2 :]
    found = audit_outputs(*halves, epsilon=epsilon, delta=delta, confidence=confidence, gaussian=gaussian)
    with_unit, without = (", ".join(map(str, half)) for half in halves)
    typer.echo(f"{found}\nwith the unit: {with_unit}; without it: {without}")  # a wrong order refutes what is right
    if found.refuted:
        raise typer.Exit(1)


def _all(out: Path | None, fresh: bool, options: dict, family: str | None, given: list[str] | None) -> None:
    """Audit all built-in methods and write the table; exit status 1 where a proven epsilon is refuted."""
    from bench.audit.whole import audit_all

    if fresh:  # which would set aside the audits that are done, if it were given again
        on_stop("stopped; the audits that are finished are kept, run the same command without --fresh to continue")
    if family is not None or given:
        raise InputError("`audit all` takes every family and the audit's own arguments: leave out --family and --set")
    folder = (out or Path("results")) / "audit"
    rows = audit_all(folder, say=lambda line: typer.echo(line, err=True), fresh=fresh, **options)
    typer.echo(folder / "audit.md")
    if (rows["refuted"].eq(True) & rows["proven"].eq(True)).any():
        raise typer.Exit(1)
