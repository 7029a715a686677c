"""What the papers claim, and whether the results here bear it out.

A claim is a function of the runs that gives a verdict and the numbers behind it. A claim that fails is shown as
failing; one that the runs at hand cannot decide is "not testable at this scale".
"""

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from bench.errors import InputError
from figures import ppsgd_claims
from figures.verdicts import UNTESTABLE, Claim, NotTestable

CLAIMS: dict[str, list[Claim]] = {"ppsgd": ppsgd_claims.CLAIMS}


def check(paper: str, runs_of: Callable, out: Path | None) -> pd.DataFrame:
    """Print the claims of a paper with their verdicts, and write them to claims_<paper>.csv.

    Args:
        paper: a key of CLAIMS.
        runs_of: sweep -> (its runs, the folder of its scale).
        out: where the CSV goes; default figures/ beside the results.
    """
    rows, folder = [], out
    for claim in CLAIMS[paper]:
        runs, scale_folder = runs_of(claim.sweep)
        folder = folder or scale_folder / "figures"
        try:
            outcome, evidence = claim.check(runs)
        except NotTestable as why:
            outcome, evidence = UNTESTABLE, str(why)
        rows.append((paper, claim.where, claim.text, outcome, evidence, ", ".join(runs["scale"].unique())))
        print(f"{outcome.upper():7} {claim.text}\n        {claim.where}. {evidence}")
    table = pd.DataFrame(rows, columns=["paper", "where", "claim", "verdict", "evidence", "scale"])
    try:
        folder.mkdir(parents=True, exist_ok=True)
        table.to_csv(folder / f"claims_{paper}.csv", index=False)
    except OSError as error:
        raise InputError(f"cannot write {folder}: {error.strerror}; choose --out") from None
    return table
