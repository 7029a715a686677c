"""The command line of the conformance set.

python -m bench conformance > answers.json
python -m bench conformance answers.json
"""

from pathlib import Path
from typing import Annotated

import typer

from bench.errors import InputError


def conformance(
    file: Annotated[
        str | None, typer.Argument(metavar="FILE", help="JSON with answers; without it, one to fill in is printed.")
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
    if not file:
        raise InputError("the path is empty: give a file of answers")
    given = answers.read(Path(file))
    from bench.conformance.check import check, text_of

    checked = check(given)
    typer.echo(text_of(checked))
    if any(difference.unsafe for difference in checked.differences):
        raise typer.Exit(1)
