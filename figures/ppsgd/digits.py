"""The choice of step sizes in the digit figures of Bietti et al. 2022.

The paper chooses the step size by test accuracy, which makes every curve optimistic. The same curve is also shown with
the step size chosen on held-out training examples. A user has 0 to 9 of those whatever its size, so the users'
accuracies on them are weighted by their numbers of training examples.
"""

import pandas as pd

POOLED, HELD_OUT = "validation_accuracy", "validation_accuracy_by_size"
TUNINGS = {"test": "test_accuracy", "validation": HELD_OUT}
BY_SIZE, ALIKE = "weighs users by their training examples", "weighs all held-out examples alike"
TUNING_TITLES = {"test": "step size by test accuracy, as in the paper", "validation": "step size by held-out accuracy"}
EPSILON_NOTE = (
    "Epsilon at delta = 1e-4 as accounted in the paper (RDP, Poisson sampling of users, add-or-remove one user), of "
    "all data of one user, against all others together. The published schedule is no such sample, and what is proven "
    "for it is a larger epsilon."
)


def with_held_out(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of one sweep with the held-out accuracy that step sizes are chosen by, and what it weighs in
    "held_out".

    Runs in which users were not yet weighed by size have the accuracy of all held-out examples together in its place.
    """
    if HELD_OUT in runs and runs[HELD_OUT].notna().any():
        return runs.assign(held_out=BY_SIZE)
    return runs.assign(held_out=ALIKE, **{HELD_OUT: runs[POOLED]})


def held_out_note(table: pd.DataFrame) -> str:
    """Return a sentence on what held-out accuracy weighs, for a table with numbers of one sweep, or of several told
    apart by "sweep"."""
    if table["held_out"].nunique() == 1:
        return f"Held-out accuracy {table['held_out'].iloc[0]}."
    words = [
        f"{weighs} in {', '.join(rows['sweep'].unique())}" for weighs, rows in table.groupby("held_out", sort=False)
    ]
    return f"Held-out accuracy {' and '.join(words)}."
