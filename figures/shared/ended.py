"""Runs after their last round."""

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
        raise InputError("no run has come to its last round: run the whole sweep, no --where")
    return runs
