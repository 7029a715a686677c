"""Selects the last round of runs."""

import pandas as pd

from bench.errors import InputError
from figures.shared.derived import derived


@derived
def at_end(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs after their last round.

    Raises:
        InputError: where there are none.
    """
    runs = runs[runs["rounds"] == runs["num_rounds"]]
    if runs.empty:
        raise InputError("no run has reached its last round: run the whole sweep, without --where")
    return runs
