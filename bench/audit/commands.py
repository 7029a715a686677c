"""The command line of the audit: tests whether a method satisfies the epsilon that it declares.

python -m bench audit ppsgd
python -m bench audit my_method.py:my_method --set batch_size=4 --epsilon 2
python -m bench audit all
python -m bench audit --outputs with.npz without.npz --epsilon 2 --delta 1e-5
"""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from bench.audit.words import number
from bench.errors import InputError


def audit(
    targets: Annotated[
        list[str],
        typer.Argument(
            metavar="METHOD",
            help="A built-in method, FILE.py:NAME, or `all` built-in methods. With --outputs: files of outputs with "
            "the unit of privacy, one for each round, and then as many without it.",
        ),
    ],
    outputs: Annotated[
        bool, typer.Option("--outputs", help="Audit the outputs of any program: npy or npz, one row for each run.")
    ] = False,
    gaussian: Annotated[
        bool, typer.Option("--gaussian", help="With --outputs: all noise is Gaussian, and nothing is sampled.")
    ] = False,
    epsilon: Annotated[
        float, typer.Option(help="Epsilon that the method declares; its noise is calibrated to it.")
    ] = 3.0,
    delta: Annotated[float, typer.Option(help="Delta of (epsilon, delta)-DP.")] = 1e-5,
    rounds: Annotated[
        int, typer.Option(help="Rounds of a run; a power of two completes the trees of partial sums.")
    ] = 4,
    runs: Annotated[int, typer.Option(help="Number of runs with the canary, and the same number without.")] = 20_000,
    canaries: Annotated[int, typer.Option(help="Number of canaries in the one-run audit; 0 skips it.")] = 200,
    family: Annotated[
        str | None,
        typer.Option(help="Kind of task: users, records, agents, speakers, images, convolutions, copies."),
    ] = None,
    confidence: Annotated[float, typer.Option(help="Joint confidence level of all bounds.")] = 0.999,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    power: Annotated[
        bool, typer.Option(help="Also report how much too little noise the audit would have detected.")
    ] = True,
    given: Annotated[
        list[str] | None, typer.Option("--set", help="An argument of the method, as NAME=VALUE; may be repeated.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="For `all`: the results folder, whose audit/ gets the table. [default: results]")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="For `all`: run all audits again.")] = False,
) -> None:
    """Measure lower bounds on a method's epsilon and compare them with the epsilon that it declares.

    The exit status is 1 where a lower bound exceeds an epsilon that is declared as proven. Each way of accounting has
    these columns: `game`, the bound from error rates at the declared delta; `Gaussian`, from the same game where all
    noise is Gaussian and nothing is sampled; `one run`, from many canaries at once, and `Gaussian, one run`, the same
    for Gaussian noise without sampling; `another delta`, from error rates at the delta where they are most informative.
    A bound at another delta is compared with the epsilon declared there. A pass proves nothing. It is reported with the
    factor by which the noise would have to be too small for the game to detect it, found by repeating the game with
    less noise (--no-power saves that time). `audit all` writes the bounds of all built-in methods on all tasks that
    they fit to audit/audit.csv and audit/audit.md in the results folder, and goes on where it was interrupted.

    With --outputs no method is run: the files have what any program made public, in runs on data with one unit of
    privacy and on the same data without it, and the claim is --epsilon at --delta for all rounds together.

    Example: python -m bench audit my_method.py:my_method --set batch_size=4 --epsilon 2
    """
    if outputs:
        ours = {"--rounds": rounds != 4, "--runs": runs != 20_000, "--canaries": canaries != 200, "--seed": seed != 0}
        ours |= {"--family": family is not None, "--set": bool(given), "--out": out is not None, "--fresh": fresh}
        ours |= {"--no-power": not power}
        for option in [option for option, chosen in ours.items() if chosen]:
            raise InputError(f"{option} is for methods, which --outputs does not run: leave it out")
        return _outputs(targets, epsilon, delta, confidence, gaussian)
    if gaussian:
        raise InputError("--gaussian is for --outputs, since a method says what its noise is: leave it out")
    if len(targets) > 1:
        raise InputError(
            f"audit takes one method, not {', '.join(targets)}: audit them one at a time, or give --outputs"
        )
    (method,) = targets
    from bench.audit.report import audit as made
    from bench.values import distinct_pairs, value

    options: dict = {"epsilon": epsilon, "delta": delta, "rounds": rounds, "runs": runs, "canaries": canaries}
    options |= {"confidence": confidence, "seed": seed, "power": power}
    if method == "all":
        return _all(out, fresh, options, family, given)
    if out is not None or fresh:
        raise InputError(f"{'--fresh' if fresh else '--out'} is for `audit all`, which writes a table: leave it out")
    args = {name: value(text) for name, text in distinct_pairs("--set", given).items()}
    found = made(method, family=family, args=args, **options)
    typer.echo(text_of(found))
    if found.refuted:
        raise typer.Exit(1)


def _outputs(files: list[str], epsilon: float, delta: float, confidence: float, gaussian: bool) -> None:
    """Audit the outputs in files, half of them with the unit; exit status 1 where the claim is refuted."""
    from bench.audit.outputs import audit_outputs
    from bench.audit.outputs import text_of as outputs_as_text

    if len(files) % 2:
        raise InputError(
            f"--outputs has {len(files)} files: give one for each round with the unit, and then as many without it"
        )
    paths = [Path(file) for file in files]
    halves = paths[: len(paths) // 2], paths[len(paths) // 2 :]
    found = audit_outputs(*halves, epsilon=epsilon, delta=delta, confidence=confidence, gaussian=gaussian)
    typer.echo(outputs_as_text(found))
    if found.refuted:
        raise typer.Exit(1)


def _all(out: Path | None, fresh: bool, options: dict, family: str | None, given: list[str] | None) -> None:
    """Audit all built-in methods and write the table; exit status 1 where a proven epsilon is refuted."""
    from bench.audit.whole import audit_all

    if family is not None or given:
        raise InputError("`audit all` takes every family and the audit's own arguments: leave out --family and --set")
    folder = (out or Path("results")) / "audit"
    rows = audit_all(folder, say=lambda line: typer.echo(line, err=True), fresh=fresh, **options)
    typer.echo(folder / "audit.md")
    if (rows["refuted"].eq(True) & rows["proven"].eq(True)).any():
        raise typer.Exit(1)


COLUMNS: dict[str, Callable] = {
    "reading": lambda f: f.reading if f.release.sound else f"{f.reading} (not proven)",
    "neighbours": lambda f: f.release.neighbors,
    "sampler": lambda f: f.release.sampler,
    "accountant": lambda f: f.release.accountant,
    "declared": lambda f: number(f.epsilon),
    "game": lambda f: _bound(f, "game"),
    "Gaussian": lambda f: _bound(f, "Gaussian"),
    "one run": lambda f: _bound(f, "one run"),
    "Gaussian, one run": lambda f: _bound(f, "one run, Gaussian"),
    "another delta": lambda f: _bound(f, "other delta"),
}


def text_of(found) -> str:
    """Return an `Audit` as text: what was run, a line for each way of accounting, and the verdict."""
    if not found.findings:
        return f"{found.method} declares no privacy: there is nothing to audit."
    first = found.findings[0].release
    units = {finding.release.privacy_unit: finding.release.protects_against for finding in found.findings}
    protected = "; ".join(f"one {unit} against {against}" for unit, against in units.items())
    values = ", ".join(
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}" for name, value in found.args.items()
    )
    one_run = f", and from one run with {found.canaries} canaries" if found.canaries else ""
    lines = [
        f"{found.method} on the task for {found.family}, {_several(found.rounds, 'round')}, {values}",
        f"what is protected: {protected}",
        f"epsilon at delta {first.delta:g} after {_several(found.released, 'release')} as declared, and lower bounds:"
        f" from {found.runs:,} runs with a canary and as many without{one_run}; all hold together with confidence"
        f" {found.confidence:g}",
    ]
    if not found.left_out:
        lines.append(
            f"removed means that the data of one {'/'.join(units)} are 0: the method does not leave it out, so "
            "whatever it sends on such data counts against it"
        )
    lines.append("")
    table = [list(COLUMNS), *([cell(finding) for cell in COLUMNS.values()] for finding in found.findings)]
    shown = [i for i in range(len(COLUMNS)) if i == 0 or any(row[i] for row in table[1:])]
    widths = [max(len(row[i]) for row in table) for i in shown]
    lines += ["  ".join(row[i].ljust(width) for i, width in zip(shown, widths, strict=True)).rstrip() for row in table]
    return "\n".join([*lines, "", *verdict(found)])


def verdict(found) -> list[str]:
    """Return the verdict in lines; one begins with FAILED, passed or inconclusive.

    Only the power of the game follows it.
    """
    lines = []
    for finding in found.findings:
        if finding.refuted and not finding.release.sound:
            lines.append(f"{finding.reading}, which is not declared as proven, is refuted: {_said(finding)}.")
    failed = [finding for finding in found.findings if finding.refuted and finding.release.sound]
    if failed:
        return [*lines, "FAILED: " + "; ".join(f"{one.reading} {_said(one)}" for one in failed) + "."]
    if found.inconclusive:
        return [
            *lines,
            "inconclusive: no lower bound exceeds an epsilon that is declared as proven, but even a quarter of the "
            "noise would not have been noticed. Give more --runs; if that does not help, look for something other than "
            "noise that hides the canary.",
        ]
    return [
        *lines,
        "passed: no lower bound exceeds an epsilon that is declared as proven. This is no proof: another attack might "
        "do better.",
        *_power(found),
    ]


def _power(found) -> list[str]:
    """Return a line on how much too little noise the game would have detected, if that was computed."""
    factors = {one.reading: one.detected for one in found.findings if one.detected is not None}
    known = [f"{factor:.3g} ({reading})" for reading, factor in factors.items() if factor < math.inf]
    none = [reading for reading, factor in factors.items() if factor == math.inf]
    return [
        *(
            [f"The game would have detected noise that is too small by a factor of {', '.join(known)}."]
            if known
            else []
        ),
        *(
            [f"For {', '.join(none)} even a quarter of the noise would not have been noticed: give more --runs."]
            if none
            else []
        ),
    ]


def _said(finding) -> str:
    """Return the declared epsilon and the lower bound that exceeds it most."""
    refuting = [bound for bound in finding.bounds if bound.refutes]
    worst = max(refuting, key=lambda bound: bound.found - bound.declared)
    return (
        f"declares epsilon {worst.declared:.3g} at delta {worst.delta:g} under {finding.release.neighbors}, but "
        f"epsilon is at least {worst.found:.3g} ({worst.how})"
    )


def _bound(finding, how: str) -> str:
    """Return the lower bound, with the epsilon and delta that it refers to where those are not the declared ones."""
    for bound in finding.bounds:
        if bound.how == how:
            of = "" if bound.declared == finding.epsilon else f" of {number(bound.declared)}"
            at = "" if bound.delta == finding.release.delta else f" at delta {bound.delta:.2g}"
            known = not math.isnan(bound.declared)
            return number(bound.found) + (of + at if known else "")
    return ""


def _several(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
